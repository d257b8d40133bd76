import { delimiter, dirname, join } from 'node:path'
import { run } from './child.js'
import { SetUpFailure } from './failure.js'
import { registryProgram } from './registry-program.js'

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
  return await registryProgram('node', `node-${process.platform}-${process.arch}`, version)
}
