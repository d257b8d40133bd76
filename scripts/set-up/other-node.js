import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { run } from './child.js'
import { root } from './checkout.js'
import { SetUpFailure } from './failure.js'
import { withLock } from './lock.js'
import { reasonLines, runWithLog } from './log.js'
import { npm } from './packages.js'
import { secondsSince, withProgress } from './progress.js'

/**
 * Runs one of our scripts on a Node of the named version. One Node at a time: nodegit has one place for its binary.
 * @param {string} version as for `nodeOf`
 * @param {string[]} script
 * @returns the exit code
 */
export async function runOnNode(version, script) {
  const executable = join(await nodeOf(version), 'bin/node')
  // What says `node` in a script means this one too, npm above all.
  const path = [dirname(executable), process.env['PATH']].join(delimiter)
  return await run([executable, ...script], { env: { ...process.env, PATH: path } })
}

/**
 * The folder of a Node, with its header files. It is installed below build/node/ if it is not there: npm's registry has
 * packages of Node itself.
 * @param {string} version such as 24, the newest of which is installed at the first time, or 24.1.0
 */
export async function nodeOf(version) {
  if (!/^\d+(\.\d+){0,2}$/.test(version)) {
    throw new SetUpFailure(`this is no version of Node: ${version}`, { mend: 'name one such as 24 or 24.1.0' })
  }
  const folder = join(root, 'build/node', version)
  const name = `node-${process.platform}-${process.arch}`
  // npm writes its record when all else is there.
  const isInstalled = () => existsSync(join(folder, 'node_modules/.package-lock.json'))
  if (!isInstalled()) {
    await withLock(async () => {
      if (!isInstalled()) await install(folder, `${name}@${version}`)
    })
  }
  return join(folder, 'node_modules', name)
}

async function install(/** @type {string} */ folder, /** @type {string} */ specifier) {
  const start = performance.now()
  const log = join(root, 'build/npm-node.log')
  const options = ['--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=warn']
  const code = await withProgress(
    () => `${specifier}: npm install, ${secondsSince(start)} s`,
    () => runWithLog(log, [...npm(), 'install', ...options, specifier], { grace: 0 }),
  )
  if (code === 0) return
  throw new SetUpFailure(`npm could not install ${specifier}`, {
    lines: reasonLines(log, /^npm (error|ERR!) ./),
    mend: `act on what npm says above; npm view ${specifier} version lists the versions there are`,
  })
}
