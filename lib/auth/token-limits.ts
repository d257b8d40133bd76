import { atLeast, type Access } from '../contracts/access-policy.js'
import type { TokenLimits } from '../contracts/token-limits.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { patternMatcher } from '../domain/verdict/pattern.js'

/** What is left of a user's right where a token speaks for the user. */
export function limitAccess(access: Access, limits: TokenLimits, { full }: RepositoryName): Access {
  if (limits.repositories?.includes(full) === false) return 'none'
  return limits.access !== undefined && atLeast(access, limits.access) ? limits.access : access
}

/** Whether a token may report a context. */
export function coversContext({ contexts }: TokenLimits, context: string): boolean {
  return contexts === undefined || contexts.some((pattern) => patternMatcher(pattern)(context))
}
