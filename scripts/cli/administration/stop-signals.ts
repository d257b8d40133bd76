import { constants } from 'node:os'
import type { Io } from '../terminal/io.js'

/**
 * How long the same signal counts as the first one: a terminal and `kill` to a process group signal npm and this
 * process alike, and npm passes its own on.
 */
const REPEAT_MILLISECONDS = 1000

/**
 * Calls `stop` at the first of these signals. Another one, or the same more than a second later, ends the process at
 * once, also where the system does not do so by itself, as with the first process of a container.
 * @returns lets go of the signals
 */
export function onStopSignal(
  io: Io,
  names: readonly NodeJS.Signals[],
  stop: (name: NodeJS.Signals) => void,
): () => void {
  let first: { readonly name: NodeJS.Signals; readonly at: number } | undefined
  const listener = (name: NodeJS.Signals): void => {
    if (!first) {
      first = { name, at: performance.now() }
      stop(name)
    } else if (name !== first.name || performance.now() - first.at > REPEAT_MILLISECONDS) {
      io.exit(128 + constants.signals[name])
    }
  }
  for (const name of names) io.on(name, listener)
  return () => {
    for (const name of names) io.off(name, listener)
  }
}
