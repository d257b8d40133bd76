import { constants } from 'node:os'

/** The exit code by which a shell reports that a signal ended a process. */
export const exitCodeOf = (/** @type {NodeJS.Signals} */ signal) => 128 + constants.signals[signal]
