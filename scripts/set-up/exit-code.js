import { constants } from 'node:os'

/** How a shell tells that a signal ended a process. */
export const exitCodeOf = (/** @type {NodeJS.Signals} */ signal) => 128 + constants.signals[signal]
