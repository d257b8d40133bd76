import { ServiceError } from '../../errors.js'
import { milliseconds } from './duration.js'
import { isPattern, PATTERN_RULE } from './pattern.js'

/** What a commit is judged by; every rule of its members has been kept. */
export interface VerdictRule {
  /** Patterns of contexts. Each must match one at least, and all that it matches count; none: every context counts. */
  readonly require: readonly string[]
  /** Only what these users reported last counts, and what others did is pending; absent: whoever did. */
  readonly by?: readonly string[]
  /** What is pending, and was last reported on longer ago, counts as failed. */
  readonly staleMilliseconds?: number
}

/** A rule as it is asked for: the parameters of the address, and the argument of the library. */
export interface VerdictQuery {
  readonly require?: readonly string[]
  readonly by?: readonly string[]
  /** Like `30s`, `15m`, `6h`, `90d` or `2w`. */
  readonly stale?: string
}

/** "Limits" in http/api/api.md. */
export const MAX_REQUIRED = 50
export const MAX_USERS = 10

/** `*` in all `require` together: what a verdict costs grows with them. */
export const MAX_WILDCARDS = 100

/**
 * @throws ServiceError `parameter_invalid`, its message begins with the name of the parameter; TypeError for what no
 *   address can say
 */
export function verdictRule({ require = [], by, stale, ...others }: VerdictQuery): VerdictRule {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw invalid(`there is no parameter ${JSON.stringify(unknown).slice(0, 100)}`)
  checkTexts('require', require, MAX_REQUIRED)
  const wildcards = require.reduce((sum, pattern) => sum + pattern.split('*').length - 1, 0)
  if (wildcards > MAX_WILDCARDS) throw invalid(`require must have at most ${MAX_WILDCARDS} * altogether`)
  if (by) checkTexts('by', by, MAX_USERS)
  if (stale !== undefined && typeof stale !== 'string') throw new TypeError('stale must be a text')
  const staleMilliseconds = stale === undefined ? undefined : milliseconds(stale)
  if (stale !== undefined && !staleMilliseconds) throw invalid('stale must be like 30s, 15m, 6h, 90d or 2w')
  return {
    require,
    ...(by && by.length > 0 && { by }),
    ...(staleMilliseconds !== undefined && { staleMilliseconds }),
  }
}

/**
 * Reads the parameters of an address.
 * @param query what stands behind the question mark
 * @throws ServiceError `parameter_invalid`
 */
export function parseVerdictQuery(query: string): VerdictRule {
  const require: string[] = []
  const by: string[] = []
  const stale: string[] = []
  const lists = new Map([
    ['require', require],
    ['by', by],
    ['stale', stale],
  ])
  for (const part of query.split('&')) {
    if (part === '') continue
    const [name = '', ...rest] = part.split('=')
    const list = lists.get(decoded(name))
    if (!list) throw invalid(`there is no parameter ${JSON.stringify(decoded(name)).slice(0, 100)}`)
    list.push(decoded(rest.join('=')))
  }
  const [first, ...more] = stale
  if (more.length > 0) throw invalid('stale must be given once')
  return verdictRule({ require, ...(by.length > 0 && { by }), ...(first !== undefined && { stale: first }) })
}

function checkTexts(name: string, texts: readonly string[], max: number): void {
  // As a program in JavaScript may have it.
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw new TypeError(`${name} must be a list of texts`)
  if (texts.length > max) throw invalid(`${name} must be given at most ${max} times`)
  if (!texts.every(isPattern)) throw invalid(`${name} must have ${PATTERN_RULE}`)
}

/** Strictly: a text that somebody wrote otherwise is none that anybody required. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw invalid('malformed percent-encoding in the query', cause)
  }
}

function invalid(text: string, cause?: unknown): ServiceError {
  return new ServiceError('parameter_invalid', { text, cause })
}
