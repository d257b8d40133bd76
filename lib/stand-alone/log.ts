import { pino } from 'pino'
import type { Logger } from '../contracts/logger.js'

/** Standard output, or what stands for it. */
interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/**
 * Makes a logger: lines of JSON, for programs, and for people on a terminal readable ones. Without process id and host
 * name, which whoever collects the lines knows.
 */
export async function createLogger(level: string, output: Output): Promise<Logger> {
  const options = { level, base: null }
  if (!output.isTTY) {
    const logger: Logger = pino(options)
    return logger
  }
  // Only here: who collects the lines need not load it.
  const { isColorSupported, prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ colorize: isColorSupported, translateTime: 'SYS:HH:MM:ss', singleLine: true })
  const logger: Logger = pino(options, { write: (line: string) => void output.write(pretty(visible(line))) })
  return logger
}

/** A line of JSON in which what would move the cursor, or turn the words round, is shown by its number. */
function visible(line: string): string {
  return line
    .replaceAll(/[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => {
      return `\\\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
    .replaceAll(/\\./g, (escape) => (/[ubfr]/.test(escape) ? `\\${escape}` : escape))
}
