import type { State } from '../../domain/commit-status.js'
import { html, type Html } from './html.js'

/** Of every state the sign and the word, since not everybody sees its colour. */
const SIGNS = {
  success: { sign: '✓', word: 'success' },
  pending: { sign: '●', word: 'pending' },
  failure: { sign: '✗', word: 'failure' },
  error: { sign: '!', word: 'error' },
  none: { sign: '–', word: 'no status' },
} as const satisfies Record<State | 'none', { sign: string; word: string }>

/** A state as people see it; `null`: there is no status. */
export function stateSign(state: State | null): Html {
  const { sign, word } = SIGNS[state ?? 'none']
  return html`<span class="state ${state ?? 'none'}"><span aria-hidden="true">${sign}</span> ${word}</span>`
}

/** What stands in the title of a window, where there is no colour. */
export function stateTitle(state: State | null): string {
  const { sign, word } = SIGNS[state ?? 'none']
  return `${sign} ${word}`
}
