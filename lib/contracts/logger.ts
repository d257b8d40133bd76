/**
 * Where log lines go; a pino logger fits as it is. Every call is one line: facts first, then what happened.
 * Tokens, request bodies and query strings are never handed over.
 */
export interface Logger {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** For hosts that want none. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function nothing(): void {
  // Silence is what was asked for.
}
