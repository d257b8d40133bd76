import { addAbortSignal, type Readable } from 'node:stream'
import split from 'split2'

/** A longer line would fill the memory; none of ours is. */
const MAX_CHARACTERS = 1024 * 1024

/** A text has a line of more characters than may be. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'
}

/**
 * The lines of a text, read no faster than they are taken. Not with readline, for which U+2028 ends a line too, as JSON
 * may hold it.
 * @param options.most characters of a line
 * @param options.signal ends the waiting for more, even where reading the text itself cannot be ended
 * @throws LineTooLong, and what reading the text throws, from this call on
 */
export function linesOf(
  text: Readable,
  { maxLength = MAX_CHARACTERS, signal }: { maxLength?: number; signal?: AbortSignal } = {},
): AsyncGenerator<string> {
  const lines = split('\n', { maxLength })
  // Whoever iterates meets it.
  lines.on('error', () => undefined)
  text.on('error', (error) => lines.destroy(error))
  if (signal) addAbortSignal(signal, lines)
  return taken(text.pipe(lines), maxLength)
}

async function* taken(lines: Readable, maxLength: number): AsyncGenerator<string> {
  try {
    for await (const line of lines) yield String(line)
  } catch (error) {
    // split2 has no code for it.
    throw error instanceof Error && error.message === 'maximum buffer reached'
      ? new LineTooLong(`a line has more than ${maxLength} characters`, { cause: error })
      : error
  }
}

/** Texts come from whoever reports: none of them may steer a terminal, in JSON neither. */
export const TERMINAL_CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** One line of JSON, which a terminal can show. */
export function jsonLine(record: object): string {
  return JSON.stringify(record).replaceAll(TERMINAL_CONTROLS, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}
