import { atLeast, higher, type Access, type AccessPolicy } from './access.js'
import type { Clock } from './clock.js'
import type { CommitStatus, Report } from './commit-status.js'
import { ServiceError } from './errors.js'
import type { Commits } from './git/commits.js'
import { ConfirmedCommits } from './git/confirmed-commits.js'
import type { Repositories, Repository } from './git/repositories.js'
import type { Logger } from './logger.js'
import type { Meter } from './meter.js'
import { parseObjectId, type ObjectId } from './object-id.js'
import { allowedState, keptFieldRules, reportShape } from './report.js'
import { refusalFor } from './refusal.js'
import { RepositoryLeases, type Lease } from './repository-leases.js'
import type { RepositoryName } from './repository-name.js'
import type { StatusEvents } from './status-events.js'
import { serialisedList, toText, type SerialisedList } from './status-list.js'
import { StoreUnavailable, type Store } from './store/store.js'

/** Who asks: a user, nobody in particular, or the program that the service lives in. */
export interface Caller {
  /** Absent for an anonymous caller. */
  readonly user?: string
  /** The host itself, whose rights nobody asks for. */
  readonly host?: true
}

export interface StatusServiceParts {
  readonly repositories: Repositories
  readonly commits: Commits
  readonly store: Pick<Store, 'statuses' | 'renameRepository' | 'deleteRepository'>
  readonly policy: AccessPolicy
  readonly events: StatusEvents
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
}

/**
 * The two operations and their rules. Each reads as the list of its checks in the order of the specification
 * ("Endpoints"); the first that fails decides.
 */
export class StatusService {
  readonly #parts: StatusServiceParts
  readonly #leases = new RepositoryLeases()
  readonly #confirmed: ConfirmedCommits

  constructor(parts: StatusServiceParts) {
    this.#parts = parts
    this.#confirmed = new ConfirmedCommits(parts.commits, parts.meter)
  }

  /**
   * Saves the report of a check. It is on disk once this has resolved.
   * @param name `undefined` for a name that breaks the name rules
   * @param readBody reads the report; called when the checks before it have passed, and not before
   * @throws ServiceError
   */
  async report(caller: Caller, name: RepositoryName | undefined, sha: string, readBody: () => Promise<unknown>): Promise<CommitStatus> {
    const lease = name && this.#leases.take(name)
    try {
      const [found, repository] = await this.#repository(caller, name, 'write')
      const commit = fullCommitId(sha)
      const shape = reportShape(await readBody())
      const state = allowedState(shape.state)
      await this.#confirm(repository, commit)
      const report = keptFieldRules(state, shape)
      return await this.#save(found, lease, commit, report)
    } catch (error) {
      // Whatever went wrong with a repository that has gone meanwhile.
      throw lease?.revoked ? new ServiceError('repository_not_found', { cause: error }) : error
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      if (lease) this.#leases.release(lease)
    }
  }

  /**
   * Lists the statuses of a commit; a report that has been acknowledged is in every later list.
   * @throws ServiceError
   */
  async list(caller: Caller, name: RepositoryName | undefined, sha: string): Promise<SerialisedList> {
    const [found, repository] = await this.#repository(caller, name, 'read')
    const commit = fullCommitId(sha)
    await this.#confirm(repository, commit)
    const list = this.#read(found, commit)
    return list instanceof Promise ? await stored(list) : list
  }

  /**
   * Moves all statuses and grants of a repository to another name, not its own, all or none. Reports that are under way to the old
   * name are moved too, or refused as for a repository that does not exist.
   * @throws ServiceError
   */
  async rename(from: RepositoryName, to: RepositoryName): Promise<void> {
    this.#leases.revoke(from)
    this.#forgetCommits()
    await stored(this.#parts.store.renameRepository(from, to))
  }

  /**
   * Removes all statuses and grants of a repository, all or none. Reports that are under way to it are removed too, or
   * refused as for a repository that does not exist.
   * @throws ServiceError
   */
  async delete(name: RepositoryName): Promise<void> {
    this.#leases.revoke(name)
    this.#forgetCommits()
    await stored(this.#parts.store.deleteRepository(name))
  }

  /**
   * The right of a user (absent: of everybody) on a repository. What cannot be determined is `none`, and so is the
   * right on a repository that does not exist.
   */
  async access(user: string | undefined, name: RepositoryName): Promise<Access> {
    try {
      const [repository, access] = await this.#look(user === undefined ? {} : { user }, name)
      return repository ? access : 'none'
    } catch (error) {
      this.#parts.logger.error({ err: error, repository: name.full, user }, 'access cannot be determined')
      return 'none'
    }
  }

  /** Repository look-up and right: for whoever may not read it, a private repository is the same as a missing one. */
  async #repository(caller: Caller, name: RepositoryName | undefined, needed: Access): Promise<[RepositoryName, Repository]> {
    const [repository, access] = name ? await this.#look(caller, name) : nothing
    if (caller.user === undefined && !caller.host && (needed === 'write' || !repository?.public)) throw new ServiceError('credentials_missing')
    if (!name || !repository || access === 'none') throw new ServiceError('repository_not_found')
    if (!atLeast(access, needed)) throw new ServiceError('write_denied')
    return [name, repository]
  }

  /** Asks for the repository and the right at once, whether or not the other is there: both cases take the same time. */
  async #look({ user, host }: Caller, name: RepositoryName): Promise<readonly [Repository | undefined, Access]> {
    const { repositories, policy } = this.#parts
    const asked = user === undefined ? undefined : outcome(policy.access(user, name))
    const found = await outcome(repositories.find(name))
    const access = asked ? this.#granted(await asked, name, user) : host ? 'write' : 'none'
    if ('value' in found) return [found.value, higher(access, found.value?.public ? 'read' : 'none')]
    // Only who may see the repository learns that there is something wrong with it.
    if (access !== 'none') throw new ServiceError('repository_unreadable', { cause: found.error })
    this.#parts.logger.error({ err: found.error, repository: name.full }, 'the repository cannot be looked up')
    return nothing
  }

  #granted(right: Outcome<Access>, { full: repository }: RepositoryName, user: string | undefined): Access {
    if ('value' in right) return right.value
    // A store that cannot be used says nothing of the right: the caller is told to come again, and nothing more.
    if (right.error instanceof StoreUnavailable) throw refusalFor(right.error)
    this.#parts.logger.error({ err: right.error, repository, user }, 'access cannot be determined')
    return 'none'
  }

  /** Whether the lease still holds and the place in the store's queue are decided in one go, with no await between. */
  async #save(name: RepositoryName, lease: Lease | undefined, commit: ObjectId, report: Report): Promise<CommitStatus> {
    if (lease?.revoked) throw new ServiceError('repository_not_found')
    const { store, clock, events, meter } = this.#parts
    const { status, previous } = await stored(store.statuses.save(name, commit, report, clock.now()))
    meter.statusReported(status.state)
    events.emit({ repository: name.full, status, previous })
    return status
  }

  #forgetCommits(): void {
    this.#parts.commits.forget()
    this.#confirmed.forget()
  }

  #read(name: RepositoryName, commit: ObjectId): SerialisedList | Promise<SerialisedList> {
    const { statuses } = this.#parts.store
    return statuses.serialised?.(name, commit) ?? statuses.list(name, commit).then((found) => serialisedList(found.map(toText)))
  }

  /** A promise, which is dear where there are many requests, only of a commit that is not remembered. */
  #confirm(repository: Repository, commit: ObjectId): Promise<void> | undefined {
    const known = this.#confirmed.has(repository, commit)
    return known === true ? undefined : isThere(known)
  }
}

const nothing: readonly [undefined, Access] = [undefined, 'none']

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

async function outcome<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await promise }
  } catch (error) {
    return { error }
  }
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

function fullCommitId(sha: string): ObjectId {
  const commit = parseObjectId(sha)
  if (!commit) throw new ServiceError('sha_invalid')
  return commit
}

async function stored<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw refusalFor(error)
  }
}
