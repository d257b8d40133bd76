import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.js'

/** Read by lib/embedding/build-info.ts, beside which it stands once that is compiled. */
const file = join(root, 'build/lib/commit')

/**
 * Whether the compiled program knows its commit. A new commit that changes no source is no reason to end where this
 * user may not write: the program is that of the commit before.
 */
export function isCurrent() {
  const commit = describe()
  if (commit === undefined) return true
  return existsSync(file) && (readFileSync(file, 'utf8') === `${commit}\n` || !isWritable(file))
}

/** Writes down which commit was compiled. */
export function make() {
  const commit = describe()
  writeFileSync(file, `${commit}\n`)
  return `recorded the commit ${commit}`
}

/** What git says of this checkout, whoever owns it; without git, and of a folder that is none, nothing. */
function describe() {
  const folder = join(root, '.git')
  if (!existsSync(folder)) return undefined
  const args = [`--git-dir=${folder}`, `--work-tree=${root}`, 'describe', '--always', '--dirty', '--exclude=*']
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

function isWritable(/** @type {string} */ path) {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
