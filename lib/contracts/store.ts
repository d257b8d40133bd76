import type { CommitState, Report, State, StoredStatus } from '../domain/commit-status.js'
import type { ObjectId } from '../domain/object-id.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { SentList } from '../domain/status-list.js'
import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
import type { FailureBudget, StoredFailureBudget } from './failure-budget.js'
import type { HookStore } from './hooks.js'
import type { Grant, GrantKey, SavedStatus, TokenRecord, TokenUse } from './records.js'
import type { SignInStore } from './sign-in-store.js'
import type { StoreContents, StoreMaintenance } from './store-administration.js'

/**
 * Where statuses, tokens and grants are kept. Every store passes spec/suites/store.ts.
 *
 * A store gets values whose rules have been checked, and promises:
 * - what a method that changes something has resolved for is durable and in every later answer;
 * - a change that rejects has changed nothing that a later answer could show, or rejects as `StoreUnavailable`:
 *   then it may have happened, and must not be called acknowledged.
 */
export interface Store {
  readonly statuses: StatusStore
  readonly tokens: TokenStore
  readonly grants: GrantStore

  /**
   * Moves every status of a repository, and every grant and hook on it, to another name: all or none, whatever runs
   * at the same time, also at 100,000 statuses. Where the other name has a status of the same commit and context, the
   * one that was updated later stays; grants and hooks on the other name go.
   */
  renameRepository(from: RepositoryName, to: RepositoryName): Promise<void>

  /** Removes every status of a repository, every grant and hook on it: all or none, whatever runs at the same time. */
  deleteRepository(name: RepositoryName): Promise<void>

  /**
   * A budget of failed log-ins for all instances that share the store, where several may; absent: each counts for
   * itself.
   */
  failureBudget?(
    limits: { readonly limit: number; readonly windowSeconds: number },
    memory: MaybeSync<FailureBudget>,
  ): StoredFailureBudget

  /**
   * Links that sign people in and their sessions, for all instances that share the store, where several may; absent:
   * they are in the memory of the one process.
   */
  readonly signIns?: SignInStore

  /** Hooks and what waits to be told them, where the store can keep them with the statuses. */
  readonly hooks?: HookStore

  /** What an admin does with all of it, where the store offers that. */
  readonly maintenance?: StoreMaintenance

  /** What counting, moving and pruning of everything is made of, where the store offers it. */
  readonly contents?: StoreContents

  /**
   * Claims the day of UTC that a time is in, for what is done once in a day: for one of all who ask, of every instance
   * that shares the store and over restarts. Absent: it cannot be done.
   * @param now milliseconds since 1970 UTC
   * @returns whether the caller has it
   */
  claimDay?(now: number): Promise<boolean>

  /** `undefined` when writes are accepted, else the reason, in words for an admin. */
  unavailableReason(): string | undefined

  /**
   * Finishes the changes that were begun, then lets go of everything. Later calls reject with `StoreUnavailable`;
   * closing again is harmless.
   */
  close(): Promise<void>
}

export interface StatusStore {
  /**
   * Saves a report: the latest one wins, whole. Reports of one context are saved one after the other, in the order
   * of the calls, however many run at once; `id` and `created_at` stay those of the first, `updated_at` never goes
   * back, and `reporter` is that of the latest, none where the latest has none. `pending_since` is as `pendingSince`
   * says, or no status of the store has one. Resolves once the status is on disk.
   * @param at time of the report, milliseconds since 1970 UTC
   * @param maxContexts how many contexts a commit may have for a report to add one; to replace one is always possible.
   *   Absent: any number
   * @throws ContextLimitReached when there are as many. Never do reports together make more, however many run at once
   */
  save(
    repository: RepositoryName,
    commit: ObjectId,
    report: Report,
    at: number,
    maxContexts?: number,
  ): Promise<SavedStatus>

  /** The statuses of a commit, ordered by the UTF-8 bytes of their contexts. */
  list(repository: RepositoryName, commit: ObjectId): Promise<StoredStatus[]>

  /**
   * The same as it is sent, and who reported beside it, where the store has a faster way to it than over `list`. A
   * value, not a promise, when it is at hand.
   */
  serialised?(repository: RepositoryName, commit: ObjectId): MaybePromise<SentList>

  /** The status of one context, where the store has a faster way to it than over `list`. */
  status?(repository: RepositoryName, commit: ObjectId, context: string): Promise<StoredStatus | undefined>

  /**
   * The combined state of each of these commits, in their order, where the store has a faster way than over `list`.
   * @param failed how many contexts that failed are named for each; absent: none are
   */
  states?(
    repository: RepositoryName,
    commits: readonly ObjectId[],
    failed: number | undefined,
  ): Promise<readonly CommitState[]>

  /**
   * The statuses of a commit as `list` has them, some at a time: where the store need not hold all of them. To be read
   * to the end, or left.
   */
  pages?(repository: RepositoryName, commit: ObjectId): AsyncIterable<readonly StoredStatus[]>

  /**
   * Of each commit a text that is another one when its list is, `undefined` where that cannot be read at the moment;
   * where other processes may change the lists.
   */
  digests?(
    commits: readonly { repository: RepositoryName; commit: ObjectId }[],
  ): Promise<readonly (string | undefined)[]>

  /**
   * The statuses of a repository that were updated last, the latest first; where other processes may report, too.
   * @param since milliseconds since 1970 UTC: those with an `updated_at` of then or later
   * @param max how many at the most
   */
  recent?(repository: RepositoryName, since: number, max: number): Promise<RecentStatuses>

  /**
   * Removes the status of a context, or of every context of a commit: all or none. Reads none of them, so that it gets
   * rid of a damaged one too.
   * @param context `undefined`: every one
   * @returns how many there were
   */
  remove?(repository: RepositoryName, commit: ObjectId, context: string | undefined): Promise<number>

  /** How many statuses a repository has, damaged ones included, where the store has a better way to it than to scan. */
  count?(repository: RepositoryName): Promise<number>

  /**
   * All statuses of a repository, ordered by commit and then by context; as they were when the scan began, and without
   * holding all of them in memory.
   * @param commit only the statuses of this one
   */
  scan(repository: RepositoryName, commit?: ObjectId): AsyncIterable<StoredStatus>
}

export interface RecentStatuses {
  /** Another one whenever all that the repository has was renamed, deleted or merged with. */
  readonly version: string | null
  readonly statuses: readonly RecentStatus[]
}

export interface RecentStatus {
  readonly status: StoredStatus
  /** The state before the latest report; absent: that was the first. */
  readonly previousState: State | undefined
}

/** What a store may leave out: whoever opens one adds it. */
type Addable = 'serialised' | 'status' | 'states' | 'pages' | 'remove' | 'count'

/** Statuses as everybody inside sees them. Without `digests` nobody else changes them. */
export type WholeStatusStore = StatusStore & Required<Pick<StatusStore, Addable>>

/** A store as everybody inside sees it (embedding/complete-store.ts). */
export interface WholeStore extends Store {
  readonly statuses: WholeStatusStore
}

export interface TokenStore {
  get(id: string): MaybePromise<TokenRecord | undefined>
  /** Adds a token; its id is new. */
  add(record: TokenRecord): Promise<void>
  /** @returns whether there was such a token; from then on `get` does not find it */
  remove(id: string): Promise<boolean>
  /** Every token, or those of one user, ordered by user and time of creation. */
  list(user?: string): Promise<(TokenRecord & TokenUse)[]>
  /**
   * Notes when tokens were used last, by id. Tokens that are gone are passed over; nothing is promised after a crash.
   */
  noteUse(uses: ReadonlyMap<string, string>): Promise<void>
}

export interface GrantStore {
  /** The grants that give `user` something on `repository`: the owner's and the repository's, in any order. */
  of(user: string, repository: RepositoryName): MaybePromise<readonly Grant[]>
  set(grant: Grant): Promise<void>
  /** @returns whether there was such a grant */
  remove(key: GrantKey): Promise<boolean>
  /**
   * Every grant, or those of an owner (with its repositories) or of one repository; ordered by owner, by repository
   * (those on all of the owner's first) and by user.
   */
  list(owner?: string, repository?: RepositoryName): Promise<Grant[]>
}
