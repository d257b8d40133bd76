import type { Access } from '../contracts/access-policy.js'
import type { StoredStatus } from '../domain/commit-status.js'
import type { TokenRecord, TokenUse } from '../contracts/records.js'
import type { StoreCounts, StoreFindings } from '../contracts/store-administration.js'
import type { TokenLimits } from '../contracts/token-limits.js'
import type { HookAttempt, HookRecord } from '../contracts/hooks.js'
import type { Task } from '../concurrency/task.js'
import type { SentPush } from '../service/pushes.js'
import type { Actor } from './audit-log.js'
import type { HookRequest } from './hook-arguments.js'
import type { ReportedItem } from './reported-commits.js'
import type { ImportCounts } from './store-import.js'
import type { PruneCounts, PruneFinding, PruneRequest } from './store-prune.js'
import type { StoreStatistics } from './store-statistics.js'

/** A token as it is listed: nothing in it opens anything. */
export type ListedToken = Omit<TokenRecord & TokenUse, 'digest'>

/** A hook as it is listed: without its secret, and of its address no more than the host: the rest may be one, too. */
export interface ListedHook extends Omit<HookRecord, 'url' | 'secret'> {
  /** `https://host/…` */
  readonly receiver: string
  /** How many deliveries wait, and since when. */
  readonly waiting: number
  readonly waiting_since?: string
}

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
  /** What lies in the folder as if it were a repository and is not served, and why: the first 20. */
  readonly skipped: readonly SkippedFolder[]
  /** How many of these there are. */
  readonly skippedCount: number
}

export interface SkippedFolder {
  /** Below the folder of the repositories. */
  readonly path: string
  /** For people. */
  readonly reason: string
}

export type AccessSource = 'grants' | 'command' | 'host'

/** What a user may do with a repository, and why. */
export interface CheckedAccess {
  readonly access: Access
  /** Each gives a right, the highest first; `grant`: on what. */
  readonly rights: readonly {
    readonly access: Access
    readonly by: 'owner' | 'public' | 'command' | { readonly grant: string }
  }[]
  /** Where a program of the git server tells rights: what it said of reading and writing; `null`: it is not asked. */
  readonly said?: Readonly<Record<'R' | 'W', string>> | null
  /** Whether there is such a repository. */
  readonly exists: boolean
}

/** What the store has of a repository. */
export interface RepositoryCounts {
  readonly statuses: number
  readonly grants: number
}

/** The most commits that a result names. */
export const MAX_COMMITS = 1000

/**
 * What an admin does with a service, whether it is running or not; every change is on disk, and seen by the running
 * service, once its promise has resolved. Arguments and results are plain JSON, since they may cross a socket.
 * Every change is one line of the log, with `by`: who asks for it.
 * All reject with `AdministrationError` when an argument is wrong or what it names does not exist.
 */
export interface Administration {
  /**
   * @param request.expiresAt ISO 8601, within 100 years, `null`: never; its limits, if any, stay those of the token:
   *   another one has other limits
   */
  createToken(
    request: { user: string; name: string; scopes: readonly string[]; expiresAt: string | null } & TokenLimits,
    by?: Actor,
  ): Promise<{ token: string } & ListedToken>
  listTokens(user: string | null): Promise<ListedToken[]>
  revokeToken(id: string, by?: Actor): Promise<void>
  /**
   * Makes a link that signs a user in to the pages: once, within ten minutes.
   * @returns its address, and when it is over
   */
  createSignIn(user: string, by?: Actor): Promise<{ url: string; expires_at: string }>
  /** Ends the sessions and links of a user. @returns how many there were */
  endSignIns(user: string, by?: Actor): Promise<number>
  /** Makes a hook. @returns with its secret, this once; `null`: the one that was given */
  createHook(request: HookRequest, by?: Actor): Promise<{ secret: string | null } & ListedHook>
  /** @param on `null`: every hook; else those on exactly that */
  listHooks(on: string | null): Promise<ListedHook[]>
  /** Removes a hook, and what waits for it. */
  deleteHook(id: string, by?: Actor): Promise<void>
  /** From now on what is for it is kept, and sent once it is resumed. */
  pauseHook(id: string, by?: Actor): Promise<ListedHook>
  /** Begins anew with one that was paused, stopped, or fails. */
  resumeHook(id: string, by?: Actor): Promise<ListedHook>
  /** Sends it a ping. */
  testHook(id: string): Promise<HookAttempt>
  /** The latest deliveries, the latest first: of the running service, else the last one that was written down. */
  listDeliveries(id: string): Promise<HookAttempt[]>
  /**
   * Makes deliveries anew of statuses that were updated since then, the oldest first, as many as may wait.
   * @param since ISO 8601
   * @returns `since`: where it is to be gone on once these are told; absent: that was all
   */
  resendDeliveries(
    id: string,
    since: string,
    by?: Actor,
  ): Task<{ readonly deliveries: number; readonly since?: string }>
  /** Gives it another secret. @param secret `null`: one is made, and returned this once */
  rotateSecret(id: string, secret: string | null, by?: Actor): Promise<{ secret: string | null }>
  /**
   * Notes what a push made of branches and tags, for the hooks that are told of pushes; again it is harmless.
   * @param push.refs 1 to 50
   * @returns how many deliveries it makes
   */
  notePush(repository: string, push: SentPush, by?: Actor): Promise<{ readonly deliveries: number }>
  grantAccess(on: string, user: string, access: string, by?: Actor): Promise<void>
  revokeAccess(on: string, user: string, by?: Actor): Promise<void>
  /** @param on `null`: every grant; `owner`: its repositories' grants too */
  listAccess(on: string | null): Promise<ListedGrant[]>
  /** What tells rights: owners and grants, the program of the setting `rights.command`, or the host. */
  accessSource(): Promise<AccessSource>
  checkAccess(user: string, repository: string): Promise<CheckedAccess>
  /** @param on `owner` or `owner/repo`: no others; absent or `null`: every one */
  listRepositories(on?: string | null): Promise<ListedRepositories>
  setVisibility(repository: string, visibility: 'public' | 'private', by?: Actor): Promise<void>
  countRepository(repository: string): Promise<RepositoryCounts>
  /**
   * Moves the statuses, grants and hooks of a repository to another name, as `Store.renameRepository` does.
   * @returns what there was to move, a moment before
   */
  renameRepository(from: string, to: string, by?: Actor): Promise<RepositoryCounts>
  /** Removes the statuses, grants and hooks of a repository. @returns what there was, a moment before */
  deleteRepository(repository: string, by?: Actor): Promise<RepositoryCounts>
  /** @param sha `null`: of every commit that has any */
  listStatuses(repository: string, sha: string | null): Task<null, StoredStatus>
  /**
   * The commits of a repository that were reported on last, the latest first, each before its statuses.
   * @param sha only this commit; `null`: every one
   * @param limit 1 to `MAX_COMMITS`
   */
  listCommits(repository: string, sha: string | null, limit: number): Task<null, ReportedItem>
  /**
   * Removes statuses of a commit, damaged ones too.
   * @param context `null`: of every context
   * @returns how many there were
   */
  deleteStatuses(repository: string, sha: string, context: string | null, by?: Actor): Promise<number>
  /** Counts what is in the store. @param top how many repositories are named, those with the most statuses */
  storeStatistics(top: number): Task<StoreStatistics>
  /**
   * The lines of an export, in the form of export-lines.ts. It fails at the first value that is damaged.
   * @param repository `null`: everything
   */
  exportStore(repository: string | null): Task<null, string>
  /**
   * Puts what an export has into the store, once all of its lines have been checked; see store-import.ts.
   * @param withoutTokens leaves its tokens out: those that were revoked stay so
   */
  importStore(lines: AsyncIterable<string>, by?: Actor, withoutTokens?: boolean): Task<ImportCounts>
  /** Removes statuses of what is gone, or counts them; see store-prune.ts. */
  pruneStore(request: PruneRequest, by?: Actor): Task<PruneCounts, PruneFinding>
  /** Reads everything, and checks every checksum there is. */
  verifyStore(): Task<StoreFindings>
  /**
   * Copies everything, as it was at one moment, to a folder that is new or empty; nothing is left there on failure.
   * @param folder absolute path, as the service sees it
   */
  backUpStore(folder: string): Task<StoreCounts>
}
