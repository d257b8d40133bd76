import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.js'
import { SetUpFailure } from './failure.js'
import { fingerprint } from './fingerprint.js'
import { members, readJson } from './json.js'
import { reasonLines, runWithLog } from './log.js'
import { secondsSince, withProgress } from './progress.js'

const lockFile = join(root, 'package-lock.json')
// Inside node_modules: `npm ci` empties that folder first, so a stamp shows a finished install.
const stamp = join(root, 'node_modules/.set-up')
// npm's own list of what is there: a change by hand (`npm install x`, `npm prune`) is noticed.
const npmsRecord = join(root, 'node_modules/.package-lock.json')
const log = join(root, 'build/npm-ci.log')

const options = [
  '--ignore-scripts',
  '--include=dev', // the compiler is among them, whatever NODE_ENV or npm's config leave out
  '--no-audit',
  '--no-fund',
  '--loglevel=warn', // the reason of a failure, under `npm --silent start` too
]

/** Whether node_modules holds what package-lock.json names. */
export function isCurrent() {
  if (!existsSync(lockFile)) return true // the npm package: whoever installed it has installed these
  return existsSync(stamp) && existsSync(npmsRecord) && readFileSync(stamp, 'utf8') === state()
}

/** Installs exactly the locked packages, unless they are there, without running any script of theirs. */
export async function make() {
  rmSync(stamp, { force: true })
  const done = isInstalled() ? 'found' : 'installed'
  if (done === 'installed') await install()
  writeFileSync(stamp, state())
  const packages = Object.keys(readJson(npmsRecord, 'packages')).length
  return `${done} ${packages} packages`
}

/** Whether somebody has run `npm ci` or `npm install`, and npm has come to its end with all that is locked. */
function isInstalled() {
  if (!existsSync(npmsRecord)) return false
  const installed = readJson(npmsRecord, 'packages')
  return Object.entries(readJson(lockFile, 'packages')).every(([path, value]) => {
    if (path === '') return true // this package itself
    const locked = members(value)
    if (installed[path] === undefined) return locked['optional'] === true
    const { version, integrity } = members(installed[path])
    return version === locked['version'] && integrity === locked['integrity']
  })
}

async function install() {
  const start = performance.now()
  const code = await withProgress(
    () => `packages: npm ci, ${secondsSince(start)} s`,
    () => runWithLog(log, [...npm(), 'ci', ...options], { grace: 0 }),
  )
  if (code !== 0) throw failure(code)
}

function state() {
  const { dependencies, devDependencies, overrides } = readJson(join(root, 'package.json'))
  // Some packages have one variant per platform; npm installs the one that fits.
  const platform = `${process.platform} ${process.arch}`
  const files = [lockFile, npmsRecord].map((file) => readFileSync(file, 'utf8'))
  return fingerprint([dependencies, devDependencies, overrides, platform, ...files])
}

/** The npm that started this, as far as one did, so that `npx npm@10 start` stays with npm 10. */
export function npm() {
  const started = process.env['npm_execpath'] ?? ''
  return started.endsWith('npm-cli.js') ? [process.execPath, started] : ['npm']
}

function failure(/** @type {number} */ code) {
  if (code === 127) {
    return new SetUpFailure('there is no command npm', {
      mend: 'install npm (it comes with Node.js; Debian, Ubuntu: apt-get install npm)',
    })
  }
  const lines = reasonLines(log, /^npm (error|ERR!) ./)
  const outOfStep = lines.some((line) => line.includes('in sync'))
  return new SetUpFailure('npm ci could not install the locked packages', {
    lines,
    mend: outOfStep
      ? 'npm install --ignore-scripts (brings package-lock.json in step with package.json)'
      : 'act on what npm says above (npm ping shows whether it reaches its registry), then run the same ' +
        `command again; npm's whole output: ${log}`,
  })
}
