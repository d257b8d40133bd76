import { ArgumentError } from '../errors.js'
import type { TokenLimits } from '../contracts/token-limits.js'
import { EXPIRIES } from './tokens-page.js'

const DAY = 24 * 60 * 60 * 1000

const MAX_NAME = 100

/** What a token is to be, by the form that was sent. */
export interface TokenRequest extends TokenLimits {
  readonly user: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly expiresAt: string | null
}

/** @throws ArgumentError, in words for who sent the form */
export function tokenRequest(user: string, form: URLSearchParams, now: number): TokenRequest {
  const name = (form.get('name') ?? '').trim()
  if (name === '' || Array.from(name).length > MAX_NAME || /[\p{Cc}\p{Cs}]/u.test(name))
    throw new ArgumentError(`A name has 1 to ${MAX_NAME} characters, on one line.`)
  const expires = form.get('expires') ?? ''
  if (expires !== 'never' && !isExpiry(expires)) throw new ArgumentError('Choose when it expires.')
  return {
    user,
    name,
    ...limitsIn(form),
    scopes: [...new Set(form.getAll('scope').filter((scope) => scope !== ''))],
    expiresAt: expires === 'never' ? null : new Date(now + EXPIRIES[expires] * DAY).toISOString(),
  }
}

/** What is left empty is no limit. Whether a repository or a pattern may be so, administration checks. */
function limitsIn(form: URLSearchParams): TokenLimits {
  // A comma may be in a name, and people put one behind each.
  const repositories = (form.get('repositories') ?? '').split(/,?\s+|,$/).filter((name) => name !== '')
  const contexts = (form.get('contexts') ?? '')
    .split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '')
  const access = form.get('access') ?? 'write'
  // Of anything else nobody knows what was meant: a token for more must not come of it.
  if (access !== 'read' && access !== 'write') throw new ArgumentError('Choose what it may.')
  return {
    ...(repositories.length > 0 && { repositories }),
    ...(contexts.length > 0 && { contexts }),
    ...(access === 'read' && { access }),
  }
}

function isExpiry(text: string): text is keyof typeof EXPIRIES {
  return Object.hasOwn(EXPIRIES, text)
}
