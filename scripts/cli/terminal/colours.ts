import { styleText } from 'node:util'
import ms from 'ms'
import { isState, type State } from '../../../lib/domain/commit-status.js'
import { visible } from './visible.js'

const COLOURS = { success: 'green', pending: 'yellow', failure: 'red', error: 'red' } as const satisfies Record<
  State,
  string
>

/** A state in its colour. */
export function paintedState(state: State, isColoured: boolean): string {
  return painted(COLOURS[state], state, isColoured)
}

/** A verdict, or a text of the service that may be a state, in its colour. */
export function paintedText(text: string, isColoured: boolean): string {
  return isState(text) ? paintedState(text, isColoured) : visible(text)
}

const SIGNS = { success: '✓', pending: '●', failure: '✗' } as const

/** The sign of a combined state, in its colour; a dot where nothing is known. */
export function sign(state: keyof typeof SIGNS | null | undefined, isColoured: boolean): string {
  const [colour, text] = state ? ([COLOURS[state], SIGNS[state]] as const) : (['dim', '·'] as const)
  return painted(colour, text, isColoured)
}

/** What a line has room for. */
const SHOWN_CONTEXTS = 10

/** The contexts that failed, the first of them. */
export function failedList(contexts: readonly string[], isColoured: boolean): string {
  const shown = contexts.slice(0, SHOWN_CONTEXTS).map(visible)
  const more = contexts.length > shown.length ? ['…'] : []
  return painted('red', `[${[...shown, ...more].join(', ')}]`, isColoured)
}

export function emphasised(text: string, isColoured: boolean): string {
  return painted('bold', text, isColoured)
}

/** A time as a person wants it, on a terminal; elsewhere as it is. */
export function shownTime(iso: string, isTerminal: boolean): string {
  if (!isTerminal) return iso
  const passed = Date.now() - Date.parse(iso)
  return passed < 1000 ? 'now' : `${ms(passed, { long: true })} ago`
}

function painted(format: Parameters<typeof styleText>[0], text: string, isColoured: boolean): string {
  return isColoured ? styleText(format, text, { validateStream: false }) : text
}
