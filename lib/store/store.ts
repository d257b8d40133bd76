import type { Access } from '../access.js'
import type { FailureBudget } from '../auth/failure-budget.js'
import type { CommitStatus, Report } from '../commit-status.js'
import type { ObjectId } from '../object-id.js'
import type { RepositoryName } from '../repository-name.js'
import type { SerialisedList } from '../status-list.js'
import type { Work } from '../work.js'

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
   * Moves every status of a repository, and every grant on it, to another name: all or none, whatever runs at the
   * same time, also at 100,000 statuses. Where the other name has a status of the same commit and context, the one
   * that was updated later stays; grants on the other name go.
   */
  renameRepository(from: RepositoryName, to: RepositoryName): Promise<void>

  /** Removes every status of a repository, and every grant on it: all or none, whatever runs at the same time. */
  deleteRepository(name: RepositoryName): Promise<void>

  /** A budget of failed log-ins for all instances that share the store, where several may; absent: each counts for itself. */
  failureBudget?(limits: { readonly limit: number; readonly windowSeconds: number }): FailureBudget

  /** What an admin does with all of it, where the store offers that. */
  readonly maintenance?: StoreMaintenance

  /** What counting, moving and pruning of everything is made of, where the store offers it. */
  readonly contents?: StoreContents

  /** `undefined` when writes are accepted, else the reason, in words for an admin. */
  trouble(): string | undefined

  /**
   * Finishes the changes that were begun, then lets go of everything. Later calls reject with `StoreUnavailable`;
   * closing again is harmless.
   */
  close(): Promise<void>
}

/** What an admin does with a whole store, while it is in use. */
export interface StoreMaintenance {
  /** Reads everything, and checks every checksum there is. */
  verify(): Work<StoreFindings>

  /**
   * Copies everything, as it was at one moment, to a folder that is new or empty, and is a store then. On disk once
   * it has come to its end; when it does not, nothing is left there.
   * @throws BackupRefused
   */
  backUp(folder: string): Work<StoreCounts>
}

/** A status, and the repository it is of. */
export interface RepositoryStatus {
  readonly repository: RepositoryName
  readonly status: CommitStatus
}

export interface StatusPage {
  readonly statuses: readonly RepositoryStatus[]
  /** About how much has been read with it, 0 to 1; `undefined` where the store cannot tell. */
  readonly share: number | undefined
}

/** All that a store has, some at a time, while it is in use. */
export interface StoreContents {
  /**
   * Every status, or those of one repository, as they were when the reading began: in the order of the bytes of
   * `owner/repo/`, and those of a repository in the order of `scan`. A page has a few hundred at the most.
   * @throws StoreCorrupt at what is not what was written: nothing is passed over
   */
  pages(repository?: RepositoryName): AsyncIterable<StatusPage>

  /**
   * Begins to put statuses and grants into a repository.
   * @throws StoreUnavailable while another merge into it is under way
   */
  merge(repository: RepositoryName): RepositoryMerge

  /**
   * Removes those of these statuses that are, in their turn to be removed, still exactly as they are here.
   * @returns how many
   */
  remove(repository: RepositoryName, statuses: readonly CommitStatus[]): Promise<number>

  /** What it takes on disk. */
  bytes(): Promise<number>
}

/** Statuses and grants on their way into one repository: `commit` makes all of them visible, or none. */
export interface RepositoryMerge {
  /**
   * Adds statuses, whole, each in place of the one of the same commit and context unless that was updated later or at
   * the same time; and grants on the repository, each in place of what the user had there.
   * @returns how many statuses it will put there
   */
  add(statuses: readonly CommitStatus[], grants: readonly Grant[]): Promise<number>

  /**
   * On disk once it has resolved. What was reported or removed since the merge began stays so.
   * @throws StoreUnavailable, also when the repository was renamed or deleted since the merge began
   */
  commit(): Promise<void>

  /** Lets go of what was not committed; harmless after `commit`. */
  discard(): Promise<void>
}

export interface StoreCounts {
  readonly statuses: number
  readonly tokens: number
  readonly grants: number
}

export interface StoreFindings extends StoreCounts {
  /** How many values are not what was written. */
  readonly damaged: number
  /** The keys of the first of them. */
  readonly keys: readonly string[]
  /** What else is wrong, in words. */
  readonly problems: readonly string[]
}

/** There can be no backup, or not in this folder; the message says why. */
export class BackupRefused extends Error {
  override readonly name = 'BackupRefused'
}

/** The store cannot be used at the moment; trying again later may help. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable'
}

/** A write failed, as the log says: nothing is accepted until the store is open again. */
export class StoreFenced extends StoreUnavailable {
  override readonly name = 'StoreFenced'
}

/** More waits for the disk than the store is ready to hold: a moment later it will be less. */
export class StoreOverloaded extends StoreUnavailable {
  override readonly name = 'StoreOverloaded'
}

/** Another process has the store open. */
export class StoreLocked extends StoreUnavailable {
  override readonly name = 'StoreLocked'

  /** @param folder of the store */
  constructor(folder: string, cause: Error) {
    super(`the store ${folder} is in use by another process`, { cause })
  }
}

/** A stored value is not what was written. */
export class StoreCorrupt extends Error {
  override readonly name = 'StoreCorrupt'
}

export interface SavedStatus {
  readonly status: CommitStatus
  /** The status it replaced. */
  readonly previous: CommitStatus | undefined
}

export interface StatusStore {
  /**
   * Saves a report: the latest one wins, whole. Reports of one context are saved one after the other, in the order
   * of the calls, however many run at once; `id` and `created_at` stay those of the first, `updated_at` never goes
   * back. Resolves once the status is on disk.
   * @param at time of the report, milliseconds since 1970 UTC
   */
  save(repository: RepositoryName, commit: ObjectId, report: Report, at: number): Promise<SavedStatus>

  /** The statuses of a commit, ordered by the UTF-8 bytes of their contexts. */
  list(repository: RepositoryName, commit: ObjectId): Promise<CommitStatus[]>

  /**
   * The same as it is sent, where the store has a faster way to it than over `list`. A value, not a promise, when it is
   * at hand.
   */
  serialised?(repository: RepositoryName, commit: ObjectId): SerialisedList | Promise<SerialisedList>

  /**
   * Removes the status of a context, or of every context of a commit: all or none. Reads none of them, so that it gets
   * rid of a damaged one too.
   * @param context `undefined`: every one
   * @returns how many there were
   */
  remove?(repository: RepositoryName, commit: ObjectId, context: string | undefined): Promise<number>

  /** How many statuses a repository has, damaged ones included, where the store has a better way to it than to scan. */
  count?(repository: RepositoryName): Promise<number>

  /** All statuses of a repository, ordered by commit and then by context; as they were when the scan began. */
  scan(repository: RepositoryName): AsyncIterable<CommitStatus>
}

/** What is kept of a token: never the token itself. */
export interface TokenRecord {
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

export interface TokenUse {
  /** Accurate to an hour, `null` before the first use. */
  readonly last_used_at: string | null
}

export interface TokenStore {
  get(id: string): Promise<TokenRecord | undefined>
  /** Adds a token; its id is new. */
  add(record: TokenRecord): Promise<void>
  /** @returns whether there was such a token; from then on `get` does not find it */
  remove(id: string): Promise<boolean>
  /** Every token, or those of one user, ordered by user and time of creation. */
  list(user?: string): Promise<(TokenRecord & TokenUse)[]>
  /** Notes when tokens were used last, by id. Tokens that are gone are passed over; nothing is promised after a crash. */
  noteUse(uses: ReadonlyMap<string, string>): Promise<void>
}

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

export interface GrantStore {
  /** The grants that give `user` something on `repository`: the owner's and the repository's. */
  of(user: string, repository: RepositoryName): Promise<readonly Grant[]>
  set(grant: Grant): Promise<void>
  /** @returns whether there was such a grant */
  remove(key: GrantKey): Promise<boolean>
  /**
   * Every grant, or those of an owner (with its repositories) or of one repository; ordered by owner, by repository
   * (those on all of the owner's first) and by user.
   */
  list(owner?: string, repository?: RepositoryName): Promise<Grant[]>
}
