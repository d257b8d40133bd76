import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { run } from './child.js'

/**
 * Runs a command with all that it prints in a file, which is emptied first.
 * @param {string} file
 * @param {string[]} command
 * @param {import('./child.js').RunOptions} [options]
 * @returns {Promise<number>} the exit code
 */
export async function runWithLog(file, command, options) {
  mkdirSync(dirname(file), { recursive: true })
  const output = openSync(file, 'w')
  try {
    return await run(command, { ...options, output })
  } finally {
    closeSync(output)
  }
}

/**
 * Finds the reason of a failure: the first lines that look like it (those that follow mostly
 * follow from them), or just the last lines.
 * @param {string} file
 * @param {RegExp} reason
 */
export function reasonLines(file, reason) {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const reasons = lines.filter((line) => reason.test(line))
  return reasons.length > 0 ? reasons.slice(0, 8) : lines.slice(-8)
}
