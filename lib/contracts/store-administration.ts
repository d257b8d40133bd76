import type { StoredStatus } from '../domain/commit-status.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { Grant } from './records.js'
import type { Task } from '../concurrency/task.js'

/** What an admin does with a whole store, while it is in use. */
export interface StoreMaintenance {
  /** Reads everything, and checks every checksum there is. */
  verify(): Task<StoreFindings>

  /**
   * Copies everything, as it was at one moment, to a folder that is new or empty, and is a store then. On disk once
   * it has come to its end; when it does not, nothing is left there.
   * @throws BackupRefused
   */
  backUp(folder: string): Task<StoreCounts>
}

/** A status, and the repository it is of. */
export interface RepositoryStatus {
  readonly repository: RepositoryName
  readonly status: StoredStatus
}

export interface StatusPage {
  readonly statuses: readonly RepositoryStatus[]
  /** About how much has been read with it, 0 to 1; `undefined` where the store does not know. */
  readonly share: number | undefined
}

/** All that a store has, some at a time, while it is in use. */
export interface StoreContents {
  /**
   * Every status, as it was when the reading began, in the order of the bytes of `owner/repo/`, and those of a
   * repository in the order of `scan`. A page has a few hundred at the most.
   * @throws StoreCorrupt at what is not what was written: nothing is passed over
   */
  pages(): AsyncIterable<StatusPage>

  /**
   * Begins to put statuses and grants into a repository.
   * @throws StoreUnavailable while another merge into it is under way
   */
  merge(repository: RepositoryName): RepositoryMerge

  /**
   * Removes those of these statuses that are, in their turn to be removed, still exactly as they are here.
   * @returns how many
   */
  remove(repository: RepositoryName, statuses: readonly StoredStatus[]): Promise<number>

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
  add(statuses: readonly StoredStatus[], grants: readonly Grant[]): Promise<number>

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
