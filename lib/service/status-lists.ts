import {
  combinedState,
  type CommitState,
  type CommitStates,
  MAX_STATES,
  type StoredStatus,
} from '../domain/commit-status.js'
import { ServiceError, toServiceError } from '../errors.js'
import type { ConfirmedCommits } from '../git/confirmed-commits.js'
import { parseObjectId, type ObjectId } from '../domain/object-id.js'
import type { Access } from '../contracts/access-policy.js'
import type { Clock } from '../contracts/clock.js'
import { chain, type MaybePromise } from '../concurrency/maybe-promise.js'
import type { Repository } from '../contracts/repositories.js'
import type { WholeStore } from '../contracts/store.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { SentList, StoredList } from '../domain/status-list.js'
import { VerdictBuilder, type Verdict } from '../domain/verdict/verdict.js'
import type { VerdictRule } from '../domain/verdict/rule.js'
import { Evaluations } from './evaluations.js'
import {
  RepositoryAccess,
  type Caller,
  type VisibleRepository,
  type RepositoryAccessDependencies,
} from './repository-access.js'

/** What a commit was found to be. */
export interface JudgedCommit {
  readonly verdict: Verdict
  /** Milliseconds after which it may be another one although nobody reports; `Infinity`: never. */
  readonly expiresIn: number
}

/** Which commit of a repository is meant. */
export type FindCommit = (repository: Repository) => MaybePromise<ObjectId>

/** A commit that a caller may read, and what the caller may know of where it is. */
export interface LocatedCommit {
  readonly found: VisibleRepository
  readonly commit: ObjectId
}

/** The statuses of a commit. */
export interface LocatedList extends LocatedCommit {
  /** The list as it is sent; to be closed. */
  readonly list: SentList
}

export interface StatusListsDependencies extends RepositoryAccessDependencies {
  readonly commits: ConfirmedCommits
  readonly store: Pick<WholeStore, 'statuses'>
  readonly clock: Clock
  /** How many contexts of a commit reports may make. */
  readonly maxContexts: number
}

/**
 * Lists of statuses, and what follows from them: states and verdicts. Each operation reads as the list of its checks in
 * the order of the specification ("Endpoints"); the first that fails decides.
 */
export class StatusLists {
  readonly #dependencies: StatusListsDependencies
  readonly #access: RepositoryAccess
  readonly #evaluations: Evaluations

  constructor(dependencies: StatusListsDependencies) {
    this.#dependencies = dependencies
    const { statuses } = dependencies.store
    this.#evaluations = new Evaluations((name, commit) => statuses.pages(name, commit))
    this.#access = new RepositoryAccess(dependencies)
  }

  /**
   * Finds a repository that the caller may read.
   * @param wanted how much of the right is shown, or made use of
   * @throws ServiceError
   */
  find(caller: Caller, name: RepositoryName | undefined, wanted: Access = 'read'): MaybePromise<VisibleRepository> {
    return this.#access.find(caller, name, 'read', wanted)
  }

  /**
   * Finds a commit of a repository that the caller may read. At once, without a promise, where all that it takes is
   * known, as `list`.
   * @param commitOf called when the caller may; what it throws decides
   * @throws ServiceError
   */
  findCommit(
    caller: Caller,
    name: RepositoryName | undefined,
    commitOf: FindCommit,
    wanted: Access = 'read',
  ): MaybePromise<LocatedCommit> {
    return chain(this.find(caller, name, wanted), (found) =>
      chain(commitOf(found.repository), (commit) => {
        const at = { found, commit }
        const confirmed = confirm(this.#dependencies.commits, found.repository, commit)
        return confirmed ? confirmed.then(() => at) : at
      }),
    )
  }

  /**
   * Lists the statuses of a commit; a report that has been acknowledged is in every later list. At once, without a
   * promise, where all that it takes is known.
   * @throws ServiceError
   */
  list(
    caller: Caller,
    name: RepositoryName | undefined,
    commitOf: FindCommit,
    wanted: Access = 'read',
  ): MaybePromise<LocatedList> {
    return chain(this.findCommit(caller, name, commitOf, wanted), (at) =>
      chain(this.#read(at.found.name, at.commit), (list) => ({ found: at.found, commit: at.commit, list })),
    )
  }

  /** The same as `list`, for a program: all of it, however large, and who reported. */
  async statusList(caller: Caller, name: RepositoryName | undefined, sha: string): Promise<StoredList> {
    return await this.storedList(await this.findCommit(caller, name, () => fullCommitId(sha)))
  }

  /** The statuses of a commit that has been found: all of them, however many, and who reported. */
  async storedList({ found, commit }: LocatedCommit): Promise<StoredList> {
    const statuses = await stored(this.#dependencies.store.statuses.list(found.name, commit))
    return { state: combinedState(statuses.map(({ state }) => state)), statuses }
  }

  /**
   * The status of one context.
   * @returns `undefined` where nothing was reported
   * @throws ServiceError
   */
  async status({ found, commit }: LocatedCommit, context: string): Promise<StoredStatus | undefined> {
    return await stored(this.#dependencies.store.statuses.status(found.name, commit, context))
  }

  /**
   * The combined states of commits. Checked as `list`, but that a commit which is not there is left out.
   * @param shas 1 to `MAX_STATES` full commit ids
   * @param readFailed how many contexts that failed are named for each, `undefined`: none; called once the commit ids
   *   have been found to be some
   * @throws ServiceError, and what `readFailed` throws
   */
  async states(
    caller: Caller,
    name: RepositoryName | undefined,
    shas: readonly string[],
    readFailed: () => number | undefined = () => undefined,
  ): Promise<CommitStates> {
    return await this.statesOf(await this.find(caller, name), shas, readFailed)
  }

  /** The same in a repository that has been found. */
  async statesOf(
    { name, repository }: VisibleRepository,
    shas: readonly string[],
    readFailed: () => number | undefined = () => undefined,
  ): Promise<CommitStates> {
    if (shas.length === 0 || shas.length > MAX_STATES) throw new ServiceError('shas_invalid')
    const asked = new Map(shas.map(fullCommitId).map((commit) => [commit.hex, commit]))
    const failed = readFailed()
    const there = await Promise.all(
      [...asked.values()].map(async (commit) => ((await this.#isThere(repository, commit)) ? [commit] : [])),
    )
    const commits = there.flat()
    const states =
      commits.length === 0 ? [] : await stored(this.#dependencies.store.statuses.states(name, commits, failed))
    const ids = commits.map(({ hex }) => hex)
    const entries = states.map((state, index): [string, CommitState] => {
      const { [index]: id = '' } = ids
      return [id, state]
    })
    return { states: Object.fromEntries(entries) }
  }

  /**
   * Judges a commit. The checks are those of a list.
   * @param readRule the rule; called once `sha` has been found to be a commit id
   * @throws ServiceError, and what `readRule` throws
   */
  async verdict(
    caller: Caller,
    name: RepositoryName | undefined,
    sha: string,
    readRule: () => VerdictRule,
  ): Promise<JudgedCommit> {
    const { name: found, repository } = await this.find(caller, name)
    const commit = fullCommitId(sha)
    const rule = readRule()
    await confirm(this.#dependencies.commits, repository, commit)
    const { clock, maxContexts } = this.#dependencies
    const judged = await stored(
      this.#evaluations.run(
        found,
        commit,
        JSON.stringify(rule),
        () => new VerdictBuilder(rule, clock.now(), maxContexts),
      ),
    )
    return { verdict: judged.verdict(), expiresIn: judged.expiresAt - clock.now() }
  }

  /**
   * The right of a caller (without a user: of everybody) on a repository. What cannot be determined is `none`, and so
   * is the right on a repository that does not exist.
   */
  async access(caller: Caller, name: RepositoryName): Promise<Access> {
    return await this.#access.rightOf(caller, name)
  }

  /** Which repositories a user may read: see `RepositoryAccess`. */
  async readable(user: string, names: readonly RepositoryName[]): Promise<readonly boolean[]> {
    return await this.#access.readable(user, names)
  }

  #read(name: RepositoryName, commit: ObjectId): MaybePromise<SentList> {
    const list = this.#dependencies.store.statuses.serialised(name, commit)
    return list instanceof Promise ? stored(list) : list
  }

  /**
   * Whether a repository has a commit.
   * @throws ServiceError when it cannot be determined
   */
  async hasCommit(repository: Repository, commit: ObjectId): Promise<boolean> {
    return await this.#isThere(repository, commit)
  }

  async #isThere(repository: Repository, commit: ObjectId): Promise<boolean> {
    try {
      return await this.#dependencies.commits.has(repository, commit)
    } catch (cause) {
      throw new ServiceError('repository_unreadable', { cause })
    }
  }
}

/**
 * Confirms that a repository has a commit. A promise, which is dear where there are many requests, only of a commit
 * that is not remembered.
 * @throws ServiceError
 */
export function confirm(
  commits: ConfirmedCommits,
  repository: Repository,
  commit: ObjectId,
): Promise<void> | undefined {
  const known = commits.has(repository, commit)
  return known === true ? undefined : isThere(known)
}

async function isThere(commit: boolean | Promise<boolean>): Promise<void> {
  let exists: boolean
  try {
    exists = await commit
  } catch (cause) {
    throw new ServiceError('repository_unreadable', { cause })
  }
  if (!exists) throw new ServiceError('commit_not_found')
}

/** @throws ServiceError `sha_invalid` */
export function fullCommitId(sha: string): ObjectId {
  const commit = parseObjectId(sha)
  if (!commit) throw new ServiceError('sha_invalid')
  return commit
}

/** What a store answers; its errors become those of the catalogue. */
export async function stored<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw toServiceError(error)
  }
}
