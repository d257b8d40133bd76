import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { root } from './checkout.js'
import { exitCodeOf } from './exit-code.js'

const guard = fileURLToPath(new URL('guard.js', import.meta.url))

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {number} [grace] how many milliseconds the command has to end after a signal; 0 for
 *   one that leaves nothing worth tidying: it is killed at once
 */

/**
 * Runs a command to its end and resolves to its exit code, as a shell would give it (127: there is
 * no such command; 128 + n: ended by signal n).
 *
 * Neither the command nor anything it started outlives this process. A signal that arrives
 * meanwhile is passed on, and when the command has ended, this process ends too.
 *
 * @param {string[]} command
 * @param {RunOptions & { output?: 'inherit' | number }} [options]
 *   output: a file descriptor for all that the command prints
 * @returns {Promise<number>}
 */
export function run(command, { cwd = root, env = process.env, grace = 5000, output = 'inherit' } = {}) {
  const child = spawn(process.execPath, [guard, ...command], {
    cwd,
    env,
    detached: true, // the leader of a process group, so that the whole group can be ended
    stdio: ['ignore', output, output, 'ipc'],
  })
  const end = (/** @type {NodeJS.Signals} */ signal) => {
    if (child.pid === undefined) return // it could not be started
    try {
      process.kill(-child.pid, signal)
    } catch {
      // It has just ended by itself.
    }
  }

  /** @type {NodeJS.Signals | undefined} */
  let received
  const passOn = (/** @type {NodeJS.Signals} */ signal) => {
    const impatient = received !== undefined || grace === 0
    end(impatient ? 'SIGKILL' : signal)
    received = signal
    setTimeout(end, grace, 'SIGKILL').unref()
  }
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  for (const signal of signals) process.on(signal, passOn)

  let code = exitCodeOf('SIGKILL') // what holds when the guard itself was killed
  child.on('message', (message) => {
    code = Number(message)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', () => {
      for (const signal of signals) process.off(signal, passOn)
      if (received !== undefined) process.exit(exitCodeOf(received))
      resolve(code)
    })
  })
}
