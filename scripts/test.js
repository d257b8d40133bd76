import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './set-up/child.js'
import { root } from './set-up/checkout.js'
import { orEnd } from './set-up/failure.js'
import { runOnNode } from './set-up/other-node.js'
import { setUp } from './set-up.js'
import { withSpecsOf } from './set-up/specs.js'
import { offerTestPackages } from './set-up/system-packages.js'

const option = '--node='
const version = process.argv.find((argument) => argument.startsWith(option))?.slice(option.length)
const forTap = process.argv.slice(2).filter((argument) => !argument.startsWith(option))

// --node=24: all that follows, on a Node of that version.
if (version !== undefined) process.exit(await orEnd(() => runOnNode(version, ['scripts/test.js', ...forTap])))

await setUp()
await offerTestPackages()
await check('types', 'tsc', '--noEmit', '-p', 'tsconfig.json')
await check('format', 'prettier', '--check', '--log-level', 'warn', '**/*.{ts,js,json}')
await check('lint', 'eslint', '.', '--max-warnings', '0')
await buildTap()
await check('spec', 'tap', ...withSpecsOf(forTap))

/** Gives tap the plugins of .taprc. By itself it does so too late: its first run would have those it comes with. */
async function buildTap() {
  const mark = join(root, 'node_modules/.tap-built')
  const wanted = readFileSync(join(root, '.taprc'), 'utf8')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return
  await check('plugins', 'tap', 'build')
  writeFileSync(mark, wanted)
}

/**
 * Runs a tool that npm has installed; a failure is the end.
 * @param {string} heading
 * @param {string} tool
 * @param {string[]} args
 */
async function check(heading, tool, ...args) {
  console.log(`\n== ${heading}: ${[tool, ...args].join(' ')}`)
  const code = await run([process.execPath, join(root, 'node_modules/.bin', tool), ...args])
  if (code !== 0) process.exit(code)
}
