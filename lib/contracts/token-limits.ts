import type { Access } from './access-policy.js'

/** What narrows a token: it can do that much of what its user may. A member that is absent narrows nothing. */
export interface TokenLimits {
  /** `owner/repo` of each repository that it is for. Any other is to it what it is to a user without rights. */
  readonly repositories?: readonly string[]
  /** Patterns of the contexts that it may report: see domain/verdict/pattern.ts. */
  readonly contexts?: readonly string[]
  /** The most that it can do there; `write` narrows nothing. */
  readonly access?: Exclude<Access, 'none'>
}

const texts = { type: 'array', items: { type: 'string' } } as const

/** JSON schemas of the members. */
export const tokenLimitMembers: Readonly<Record<keyof TokenLimits, object>> = {
  repositories: texts,
  contexts: texts,
  access: { enum: ['read', 'write'] },
}

/** The limits of what has them among other members, those that narrow something. */
export function limitsOf({ repositories, contexts, access }: TokenLimits): TokenLimits {
  return { ...(repositories && { repositories }), ...(contexts && { contexts }), ...(access === 'read' && { access }) }
}

export function isLimited(limits: TokenLimits): boolean {
  return Object.keys(limitsOf(limits)).length > 0
}
