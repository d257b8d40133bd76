import { recordSchema, tokenExtras, tokenMembers, type TokenRecord } from '../contracts/records.js'
import { isLimited, limitsOf, type TokenLimits } from '../contracts/token-limits.js'

/** What a limited token may be used for. */
export interface Limited extends TokenLimits {
  readonly scopes: readonly string[]
}

/**
 * A token as it is kept. The scopes of a limited one stand with its limits: a program from before there were limits
 * sees a token without a scope, and refuses it.
 */
export type StoredToken = Omit<TokenRecord, keyof TokenLimits> & { readonly limited?: Limited }

export const limitedSchema = recordSchema({ scopes: tokenMembers.scopes }, tokenExtras)

export function toStored(record: TokenRecord): StoredToken {
  const { repositories: _repositories, contexts: _contexts, access: _access, ...token } = record
  return isLimited(record) ? { ...token, scopes: [], limited: { scopes: record.scopes, ...limitsOf(record) } } : token
}

export function fromStored({ limited, ...token }: StoredToken): TokenRecord {
  return { ...token, ...limited }
}
