import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.js'
import { SetUpFailure } from './failure.js'
import { withLock } from './lock.js'
import { reasonLines, runWithLog } from './log.js'
import { npm } from './packages.js'
import { secondsSince, withProgress } from './progress.js'

/**
 * Installs a program that npm's registry has, without running any script of its package, unless it is there.
 * @param {string} kind of program, a folder below build/
 * @param {string} name of the package
 * @param {string} version the newest one of it is installed at the first time
 * @returns the folder of the package
 */
export async function registryProgram(kind, name, version) {
  const folder = join(root, 'build', kind, version)
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
  const log = join(root, 'build/npm-program.log')
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
