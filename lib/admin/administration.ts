import type { UnixUser } from '../audit.js'
import type { CommitStatus } from '../commit-status.js'
import type { StoreCounts, StoreFindings, TokenRecord, TokenUse } from '../store/store.js'
import type { Work } from '../work.js'
import type { ReportedCommit } from './latest-commits.js'
import type { ImportCounts } from './store-import.js'
import type { PruneCounts, PruneFinding, PruneRequest } from './store-prune.js'
import type { StoreStatistics } from './store-statistics.js'

/** A token as it is listed: nothing in it opens anything. */
export type ListedToken = Omit<TokenRecord & TokenUse, 'digest'>

/** A grant as it is listed. */
export interface ListedGrant {
  /** `owner` or `owner/repo`. */
  readonly on: string
  readonly user: string
  readonly access: 'read' | 'write'
}

export interface ListedRepository {
  readonly repository: string
  readonly visibility: 'public' | 'private'
}

export interface ListedRepositories {
  readonly repositories: readonly ListedRepository[]
  /** What of the folder could not be read, in words; what is below it is not listed. */
  readonly problems: readonly string[]
}

/** What the store has of a repository. */
export interface RepositoryCounts {
  readonly statuses: number
  readonly grants: number
}

/** As many commits as an admin is told of at once. */
export const MOST_COMMITS = 1000

/**
 * What an admin does with a service, whether it is running or not; every change is on disk, and seen by the running
 * service, once its promise has resolved. Arguments and results are plain JSON, since they may cross a socket.
 * Every change is one line of the log, with `by`: who asks for it.
 * All reject with `AdministrationError` when an argument is wrong or what it names does not exist.
 */
export interface Administration {
  /** @param request.expiresAt ISO 8601, `null`: never */
  createToken(request: { user: string; name: string; scopes: readonly string[]; expiresAt: string | null }, by?: UnixUser): Promise<{ token: string } & ListedToken>
  listTokens(user: string | null): Promise<ListedToken[]>
  revokeToken(id: string, by?: UnixUser): Promise<void>
  grantAccess(on: string, user: string, access: string, by?: UnixUser): Promise<void>
  revokeAccess(on: string, user: string, by?: UnixUser): Promise<void>
  /** @param on `null`: every grant; `owner`: its repositories' grants too */
  listAccess(on: string | null): Promise<ListedGrant[]>
  listRepositories(): Promise<ListedRepositories>
  setVisibility(repository: string, visibility: 'public' | 'private', by?: UnixUser): Promise<void>
  countRepository(repository: string): Promise<RepositoryCounts>
  /**
   * Moves the statuses and grants of a repository to another name, as `Store.renameRepository` does.
   * @returns what there was to move, a moment before
   */
  renameRepository(from: string, to: string, by?: UnixUser): Promise<RepositoryCounts>
  /** Removes the statuses and grants of a repository. @returns what there was, a moment before */
  deleteRepository(repository: string, by?: UnixUser): Promise<RepositoryCounts>
  /** @param sha `null`: of every commit that has any */
  listStatuses(repository: string, sha: string | null): Work<null, CommitStatus>
  /**
   * The commits of a repository that were reported on last, the latest first, with their statuses.
   * @param limit 1 to `MOST_COMMITS`
   */
  latestCommits(repository: string, limit: number): Work<ReportedCommit[]>
  /**
   * Removes statuses of a commit, damaged ones too.
   * @param context `null`: of every context
   * @returns how many there were
   */
  deleteStatuses(repository: string, sha: string, context: string | null, by?: UnixUser): Promise<number>
  /** Counts what is in the store. @param top how many repositories are told, those with the most statuses */
  storeStatistics(top: number): Work<StoreStatistics>
  /**
   * The lines of an export, in the form of export-format.ts. It fails at the first value that is damaged.
   * @param repository `null`: everything
   */
  exportStore(repository: string | null): Work<null, string>
  /** Puts what an export has into the store, once all of its lines have been checked; see store-import.ts. */
  importStore(lines: AsyncIterable<string>, by?: UnixUser): Work<ImportCounts>
  /** Removes statuses of what is gone, or counts them; see store-prune.ts. */
  pruneStore(request: PruneRequest, by?: UnixUser): Work<PruneCounts, PruneFinding>
  /** Reads everything, and checks every checksum there is. */
  verifyStore(): Work<StoreFindings>
  /**
   * Copies everything, as it was at one moment, to a folder that is new or empty; nothing is left there on failure.
   * @param folder absolute path, as the service sees it
   */
  backUpStore(folder: string): Work<StoreCounts>
}
