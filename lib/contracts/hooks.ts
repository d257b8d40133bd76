import type { State, StoredStatus } from '../domain/commit-status.js'
import type { Push } from '../domain/push.js'
import type { RepositoryName } from '../domain/repository-name.js'

/** How the body of a delivery is written. */
export const HOOK_FORMATS = ['github', 'chat', 'text'] as const

/** `broken` and `fixed`: what a branch's tip comes to, every context together. */
export const HOOK_EVENTS = ['status', 'broken', 'fixed', 'push'] as const

/** `stopped`: by the service, since its receiver failed for too long, is gone for good, or too much waited for it. */
export const HOOK_STATES = ['active', 'paused', 'stopped'] as const

/** How hooks do: `failing` is one that is active, and the latest deliveries to it have failed. */
export const HOOK_CONDITIONS = ['active', 'failing', 'paused', 'stopped'] as const

export type HookFormat = (typeof HOOK_FORMATS)[number]
export type HookEvent = (typeof HOOK_EVENTS)[number]
export type HookState = (typeof HOOK_STATES)[number]
export type HookCondition = (typeof HOOK_CONDITIONS)[number]

/** Where the secret of a hook comes from. */
export interface HookSecretSource {
  /** One higher with each rotation; absent: 1. Without one that an admin gave, it is made of that and a key. */
  readonly generation?: number
  /** The one that an admin gave. */
  readonly given?: string
  /** When it was rotated last: for a day the one before is good, too. */
  readonly rotated_at?: string
  /** The one before, where an admin gave it. */
  readonly given_before?: string
}

/** Who is sent what. */
export interface HookRecord {
  readonly id: string
  /** `*`, `owner/*` or `owner/repo`. */
  readonly on: string
  /** http or https, without a user, or mailto; for who may read it, a secret of its own. */
  readonly url: string
  readonly format: HookFormat
  /** One at least. */
  readonly events: readonly HookEvent[]
  /** Patterns, of which one must fit; absent: every context. */
  readonly contexts?: readonly string[]
  /** Absent: every state. */
  readonly states?: readonly State[]
  /** Patterns of the names of branches whose tip the commit must be; absent: any commit, for `broken` any branch. */
  readonly branches?: readonly string[]
  readonly secret: HookSecretSource
  readonly created_at: string
  /** Who made it. */
  readonly by: string
  readonly state: HookState
  /** Since when no delivery has succeeded, of those that were tried. */
  readonly failing_since?: string
  /** How many were tried since then, and when the next one may be. */
  readonly attempts?: number
  readonly next_attempt_at?: string
  /** Since when what would have been delivered was not kept. */
  readonly behind_since?: string
  /** Why the service stopped it, in words. */
  readonly stopped_because?: string
  /** The latest delivery that was tried. */
  readonly last?: HookAttempt
}

/** How a delivery went; without what it said, and where to. */
export interface HookAttempt {
  readonly at: string
  readonly delivery: string
  readonly event: HookEvent | 'ping'
  readonly result: DeliveryResult['kind']
  /** Of the answer, where there was one. */
  readonly status?: number
  readonly milliseconds: number
  /** In words, without a path, a query or a secret. */
  readonly reason: string
}

/** What a commit says, as git/commit-content.ts reads it. */
export interface DeliveredCommit {
  readonly tree: string
  readonly parents: readonly string[]
  readonly author: DeliveredSignature
  readonly committer: DeliveredSignature
  readonly message: string
}

export interface DeliveredSignature {
  readonly name: string
  readonly email: string
  /** Since 1970 UTC. */
  readonly seconds: number
}

/** Paths of files that a commit changed; absent where nobody has looked. */
export interface PushedFiles {
  readonly added?: readonly string[]
  readonly modified?: readonly string[]
  readonly removed?: readonly string[]
}

export interface PushedCommit extends DeliveredCommit, PushedFiles {
  readonly id: string
}

/** What is read of a push when it is told. */
export interface PushContents {
  /** What came with it, the oldest first: of many, the latest. */
  readonly commits: readonly PushedCommit[]
  /** How many there are. */
  readonly total: number
  /** Whether commits that a branch had are gone from it, or a tag was moved. */
  readonly forced: boolean
  /** What the ref names then, or the annotated tag; absent where it is no commit, or not there any more. */
  readonly head?: PushedCommit
}

interface AnyDelivery {
  /** A UUID: the same when it is tried again. */
  readonly id: string
  readonly hook: HookRecord
}

/** A status, as it is when it is sent. */
export interface StatusDelivery extends AnyDelivery {
  readonly event: 'status'
  readonly repository: RepositoryName
  readonly status: StoredStatus
  /** What was sent of the context before; `null`: nothing, or nobody knows. */
  readonly previous_state: State | null
  /** Absent where it cannot be read, or is not there. */
  readonly commit?: DeliveredCommit
  /** Short names of branches whose tip the commit is: the first ten. */
  readonly branches: readonly string[]
}

/** A branch whose tip has failed, after one that had not; or the other way round. */
export interface BranchDelivery extends AnyDelivery {
  readonly event: 'broken' | 'fixed'
  readonly repository: RepositoryName
  /** Its short name. */
  readonly branch: string
  /** Its tip. */
  readonly sha: string
  /** Of the tip, in the order of their contexts: those that failed, or where it is fixed, all. */
  readonly statuses: readonly StoredStatus[]
  readonly commit?: DeliveredCommit
}

/** A push of one ref. */
export interface PushDelivery extends AnyDelivery, PushContents {
  readonly event: 'push'
  readonly repository: RepositoryName
  readonly push: Push
}

/** What an admin sends to see whether it arrives. */
export interface PingDelivery extends AnyDelivery {
  readonly event: 'ping'
}

export type Delivery = StatusDelivery | BranchDelivery | PushDelivery | PingDelivery

/**
 * How it went. `ok`: 2xx. `gone`: 410, the receiver wants no more. `refused`: the address is none that may be called,
 * nothing was sent. `later`: nothing was sent and nothing has failed; it is to be tried again after
 * `retryAfterSeconds`, as it is then. `failed`: anything else.
 */
export interface DeliveryResult {
  readonly kind: 'ok' | 'failed' | 'gone' | 'refused' | 'later'
  /** Of the answer, where there was one. */
  readonly status?: number
  /** From its `Retry-After`, or of what is to be tried later. */
  readonly retryAfterSeconds?: number
  readonly milliseconds: number
  /** In words, for the log and for admins: never the path or the query of the address, or a secret. */
  readonly reason: string
}

/** What becomes of tries; `dropped`: given up, since the receiver takes others, and this one never. */
export const DELIVERY_OUTCOMES = ['ok', 'failed', 'gone', 'refused', 'later', 'dropped'] as const

export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number]

/** Sends deliveries. */
export interface Sender {
  /** Tries once, within ten seconds. Never rejects. */
  send(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult>
}

/** The secrets of hooks. */
export interface HookSecrets {
  /**
   * As it is printed for the admin; `previous` is the one before, for a day after it was rotated.
   * @param now milliseconds since 1970 UTC
   */
  of(hook: Pick<HookRecord, 'id' | 'secret'>, now: number): { readonly current: string; readonly previous?: string }
}

/** What a hook is to be told: not the status itself, but which. */
export interface OutboxEntry {
  /** The id of the hook. */
  readonly hook: string
  readonly repository: RepositoryName
  /** `sha/context`: a status; `sha/`: what a commit comes to; `refs/…`: a push, as domain/push.ts writes it. */
  readonly subject: string
  /** The UUID of its delivery: another one when there is something new to tell after it was tried. */
  readonly delivery: string
  /** Since when it waits; of what was made anew, when its status was updated. */
  readonly since: string
  /** What was told of it last; `null`: nothing, or nobody knows. */
  readonly from: State | null
}

/** Hooks, and what waits to be told them. */
export interface HookStore {
  /** Every one, by the time when it was made. */
  list(): Promise<HookRecord[]>
  get(id: string): Promise<HookRecord | undefined>
  /** Adds a hook; its id is new. */
  add(hook: HookRecord): Promise<void>
  /**
   * Changes a hook, as it is in its turn. It may be asked more than once.
   * @returns what it is then; `undefined` when there is none
   */
  update(id: string, change: (hook: HookRecord) => HookRecord): Promise<HookRecord | undefined>
  /** Removes it, and what waits for it. @returns whether there was one */
  remove(id: string): Promise<boolean>
  readonly outbox: Outbox
}

/** What waits to be told. One entry for each hook and subject, however much was reported. */
export interface Outbox {
  /**
   * From now on every status that is saved is noted for each hook that it is for, so that it is there if and only if
   * the status is.
   * @param noted is called with ids of hooks for which there is something new
   * @param changed is called with ids of hooks that another instance may have changed, or for which it noted much
   */
  open(noted: (hooks: Iterable<string>) => void, changed?: (hooks: Iterable<string>) => void): Promise<void>
  /**
   * Takes what is to be told next, the oldest first, for as long as it takes to send it: nothing that somebody has
   * taken, and nothing of a commit of which somebody has.
   */
  claim(hook: string, max: number): Promise<OutboxEntry[]>
  /**
   * Removes it, if there is nothing new to tell of it.
   * @param told the state that it had
   * @param broken marks of branches of the repository from now on; absent: as before
   */
  settle(entry: OutboxEntry, told: State | null, broken?: readonly string[]): Promise<void>
  /** Notes marks of branches while an entry is being told: on disk once this has resolved. */
  mark(entry: OutboxEntry, broken: readonly string[]): Promise<void>
  /** Marks of branches of a repository of which the hook was told that they are broken, or may have been. */
  broken(hook: string, repository: RepositoryName): Promise<readonly string[]>
  /** Gives it back: it was not told. */
  release(entry: OutboxEntry): Promise<void>
  /**
   * Notes what is to be told, again perhaps; what waits already stays as it is. Pushes of a ref are claimed in the
   * order in which they were added, whatever the clocks said: where it must, their `since` is later than it was.
   */
  add(entries: readonly OutboxEntry[]): Promise<void>
  /** Removes all that waits for a hook. */
  drop(hook: string): Promise<void>
  /** What waits for each hook for which something does: how much, and since when the oldest does. */
  waiting(): Promise<ReadonlyMap<string, { readonly count: number; readonly since: string }>>
}
