// Runs one command and ends with the process that started it, however that one ends: a kill -9
// leaves a parent no time to stop its children, but it closes the channel to this process.
// Started by child.js as the leader of a process group of its own.
import { spawn } from 'node:child_process'

const [command, ...args] = process.argv.slice(2)

/** Ends all that is left of the group, this process included. */
const endGroup = () => process.kill(-process.pid, 'SIGKILL')

// Signals go to the whole group. The command decides what it does on one; the guard waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.on('disconnect', endGroup)

const child = spawn(command, args, { stdio: 'inherit' })
child.on('error', (error) => process.send({ error: error.code }, endGroup))
child.on('exit', (code, signal) => process.send({ code, signal }, endGroup))
