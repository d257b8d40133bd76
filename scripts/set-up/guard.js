// Runs one command and ends with the process that started it, however that one ends: a kill -9
// leaves a parent no time to stop its children, but it closes the channel to this process.
// Started by child.js as the leader of a process group of its own; reports the exit code to it.
import { spawn } from 'node:child_process'
import { exitCodeOf } from './exit-code.js'

const [command = '', ...args] = process.argv.slice(2)

/** Ends all that is left of the group, this process included. */
const endGroup = () => process.kill(-process.pid, 'SIGKILL')
const report = (/** @type {number} */ code) => process.send?.(code, endGroup)

// Signals go to the whole group. The command decides what it does on one; the guard waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
process.on('disconnect', endGroup)

const child = spawn(command, args, { stdio: 'inherit' })
child.on('error', (error) => report('code' in error && error.code === 'ENOENT' ? 127 : 126))
child.on('exit', (code, signal) => report(code ?? (signal === null ? 1 : exitCodeOf(signal))))
