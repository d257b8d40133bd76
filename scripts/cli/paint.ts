import { styleText } from 'node:util'
import ms from 'ms'
import type { State } from '../../lib/commit-status.js'

const COLOURS = { success: 'green', pending: 'yellow', failure: 'red', error: 'red' } as const satisfies Record<State, string>

/** A state in its colour, where standard output is a terminal; NO_COLOR and FORCE_COLOR are heeded. */
export function paintedState(state: State): string {
  return styleText(COLOURS[state], state, { stream: process.stdout })
}

export function emphasised(text: string): string {
  return styleText('bold', text, { stream: process.stdout })
}

/** A time as a person wants it, on a terminal; elsewhere as it is. */
export function shownTime(iso: string): string {
  if (!process.stdout.isTTY) return iso
  const passed = Date.now() - Date.parse(iso)
  return passed < 1000 ? 'now' : `${ms(passed, { long: true })} ago`
}
