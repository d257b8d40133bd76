import type { Io } from '../terminal/io.js'
import { printLine } from '../terminal/io.js'
import { visible } from '../terminal/visible.js'

/** What a check has found: all is well, it may be meant so, or it is wrong. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'fail'
  /** What was looked at, in a word or two. */
  readonly about: string
  readonly words: string
}

export const ok = (about: string, words: string): Finding => ({ level: 'ok', about, words })
export const doubtful = (about: string, words: string): Finding => ({ level: 'warn', about, words })
export const wrong = (about: string, words: string): Finding => ({ level: 'fail', about, words })

/** Prints a finding on a line of its own. */
export function printFinding(io: Io, { level, about, words }: Finding): void {
  printLine(io, `${level.padEnd(4)}  ${about.padEnd(12)}  ${visible(words)}`)
}
