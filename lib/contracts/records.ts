import { STATES, type CommitStatus, type StoredStatus } from '../domain/commit-status.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { Access } from './access-policy.js'
import { HOOK_EVENTS, HOOK_FORMATS, HOOK_STATES, type HookRecord, type OutboxEntry } from './hooks.js'
import { tokenLimitMembers, type TokenLimits } from './token-limits.js'

/*
 * What a store keeps, and what every member of it must be, as JSON schemas: one place for the stores, for what a
 * host's store answers, and for exports.
 */

const text = { type: 'string' } as const
const optionalText = { type: ['string', 'null'] } as const

/** Schemas of the members of a record. */
type Members<T> = Readonly<Record<keyof T & string, object>>

/** The schema of an object with all of these members; the others may be absent. */
export function recordSchema(
  members: Readonly<Record<string, object>>,
  others: Readonly<Record<string, object>> = {},
): object {
  return { type: 'object', required: Object.keys(members), properties: { ...members, ...others } }
}

export const statusMembers: Members<CommitStatus> = {
  id: text,
  sha: text,
  context: text,
  state: { enum: STATES },
  description: optionalText,
  target_url: optionalText,
  created_at: text,
  updated_at: text,
}

/** What a status may have besides. */
export const statusExtras: Members<Pick<StoredStatus, 'reporter' | 'pending_since'>> = {
  reporter: recordSchema({ user: { type: 'string', minLength: 1 }, token: optionalText }),
  pending_since: text,
}

export interface SavedStatus {
  readonly status: StoredStatus
  /** The status it replaced. */
  readonly previous: StoredStatus | undefined
}

/** What is kept of a token: never the token itself. */
export interface TokenRecord extends TokenLimits {
  /** Names the token in lists and for revoking it. */
  readonly id: string
  /** SHA-256 of the token, hex. */
  readonly digest: string
  readonly user: string
  /** What the user calls it; may be empty. */
  readonly name: string
  readonly scopes: readonly string[]
  readonly created_at: string
  /** `null`: never. */
  readonly expires_at: string | null
}

export const tokenMembers: Members<Omit<TokenRecord, keyof TokenLimits>> = {
  id: text,
  digest: text,
  user: text,
  name: text,
  scopes: { type: 'array', items: text },
  created_at: text,
  expires_at: optionalText,
}

/** What a token may have besides. */
export const tokenExtras: Members<TokenLimits> = tokenLimitMembers

export interface TokenUse {
  /** Accurate to an hour, `null` before the first use. */
  readonly last_used_at: string | null
}

export const tokenUseMembers: Members<TokenUse> = { last_used_at: optionalText }

/** Whom a grant concerns, and what: all repositories of an owner, or one. */
export interface GrantKey {
  readonly owner: string
  /** Absent: all repositories of the owner. */
  readonly repository?: RepositoryName
  readonly user: string
}

export interface Grant extends GrantKey {
  readonly access: Exclude<Access, 'none'>
}

/** The members common to every stored form of a grant; owner, repository and user are encoded differently in each. */
export const grantMembers: Members<Pick<Grant, 'access'>> = { access: { enum: ['read', 'write'] } }

type HookExtra =
  | 'contexts'
  | 'states'
  | 'branches'
  | 'failing_since'
  | 'attempts'
  | 'next_attempt_at'
  | 'behind_since'
  | 'stopped_because'
  | 'last'

const texts = { type: 'array', items: text }

export const hookMembers: Members<Omit<HookRecord, HookExtra>> = {
  id: text,
  on: text,
  url: text,
  format: { enum: HOOK_FORMATS },
  events: { type: 'array', items: { enum: HOOK_EVENTS } },
  secret: recordSchema({}, { generation: { type: 'integer' }, given: text, rotated_at: text, given_before: text }),
  created_at: text,
  by: text,
  state: { enum: HOOK_STATES },
}

/** What a hook may have besides. */
export const hookExtras: Members<Pick<HookRecord, HookExtra>> = {
  contexts: texts,
  states: { type: 'array', items: { enum: STATES } },
  branches: texts,
  failing_since: text,
  attempts: { type: 'integer' },
  next_attempt_at: text,
  behind_since: text,
  stopped_because: text,
  last: recordSchema({ at: text, delivery: text, event: text, result: text, milliseconds: { type: 'number' } }),
}

/** What waits to be told, without its key. */
export type WaitingDelivery = Pick<OutboxEntry, 'delivery' | 'since' | 'from'>

export const waitingMembers: Members<WaitingDelivery> = {
  delivery: text,
  since: text,
  from: { enum: [...STATES, null] },
}
