import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './child.js'
import { root } from './checkout.js'

/**
 * A tool that npm has installed, as a command.
 * @param {string} name
 * @param {readonly string[]} args
 */
export function tool(name, ...args) {
  return [process.execPath, join(root, 'node_modules/.bin', name), ...args]
}

/**
 * Gives tap the plugins of .taprc. By itself it does so too late: its first run would have those it comes with.
 * @returns {Promise<number>} its exit code
 */
export async function buildTap() {
  const mark = join(root, 'node_modules/.tap-built')
  const wanted = readFileSync(join(root, '.taprc'), 'utf8')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return 0
  const code = await run(tool('tap', 'build'))
  if (code === 0) writeFileSync(mark, wanted)
  return code
}
