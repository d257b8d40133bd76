import { html, type Html } from './html.js'

/**
 * What steers how the text around it is shown, and what no font has a sign for: controls, those of the writing
 * direction, and separators of lines. White space is left as it is.
 */
const CONTROLS = /(?![\t\n\r])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu

/** A text of somebody else's, for where there is no markup: a sign stands for each control in it. */
export function visible(text: string): string {
  return text.replaceAll(CONTROLS, '\ufffd')
}

/**
 * A text of somebody else's among others: whatever is in it, words from right to left too, those before and behind it
 * stay where they are.
 */
export function isolated(text: string): Html {
  return html`<bdi>${visible(text)}</bdi>`
}
