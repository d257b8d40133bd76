import { TERMINAL_CONTROLS } from '../../../lib/admin/ndjson.js'

/** A text of somebody else's, as it may be shown. */
export function visible(text: string): string {
  return text.replaceAll(TERMINAL_CONTROLS, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`)
}
