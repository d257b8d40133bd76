import type { State } from '../domain/commit-status.js'
import { visible } from './html/foreign-text.js'

/** A badge says no more than fits on one. */
const MAX_LABEL = 60

const WORDS = {
  success: ['passing', '#116329'],
  failure: ['failing', '#a40e26'],
  error: ['failing', '#a40e26'],
  pending: ['pending', '#7d4e00'],
  none: ['no status', '#59636e'],
  gone: ['branch not found', '#59636e'],
} as const

/**
 * A state as an image for other pages.
 * @param label what it is the state of
 * @param state `gone`: of what is no longer there
 */
export async function badgeImage(label: string, state: State | 'gone' | null): Promise<Buffer> {
  // Only here: it holds the widths of many letters.
  const { makeBadge } = await import('badge-maker')
  const [message, color] = WORDS[state ?? 'none']
  // XML has no place for these.
  const shown = Array.from(visible(label).replaceAll(/[\t\n\r\ufffd\ud800-\udfff\ufffe\uffff]/g, ' '))
    .slice(0, MAX_LABEL)
    .join('')
  return Buffer.from(makeBadge({ label: shown, message, color, labelColor: '#424a53', style: 'flat' }))
}
