import { coversContext } from '../auth/token-limits.js'
import type { Clock } from '../contracts/clock.js'
import type { Meter } from '../contracts/meter.js'
import type { WholeStore } from '../contracts/store.js'
import { toApiStatus, type Report, type Reporter, type StoredStatus } from '../domain/commit-status.js'
import type { ObjectId } from '../domain/object-id.js'
import { parseFields, parseShape, parseState } from '../domain/report.js'
import { HOST_USER, type RepositoryName } from '../domain/repository-name.js'
import { ServiceError } from '../errors.js'
import type { ConfirmedCommits } from '../git/confirmed-commits.js'
import type { Refs } from '../git/refs.js'
import {
  RepositoryAccess,
  type Caller,
  type RepositoryAccessDependencies,
  type VisibleRepository,
} from './repository-access.js'
import { RepositoryLeases, type Lease } from './repository-leases.js'
import type { StatusEvents } from './status-events.js'
import { confirm, fullCommitId, stored } from './status-lists.js'
import type { Watchers } from './watchers.js'

/** A report, and who sent it. */
type SentReport = Report & { readonly reporter: Reporter }

/** What a status remembers of who reported it. */
export function reporterOf({ user = HOST_USER, tokenId }: Caller): Reporter {
  return { user, token: tokenId ?? null }
}

/** The body of a report. */
export interface ReportBody {
  readonly body: unknown
  /** Whether it arrived so late that what was found before may have changed: it is looked at again. */
  readonly isLate: boolean
  /** Who sends it, by a second look at the credentials of one that is late. */
  readonly caller?: Caller
}

export interface StatusReportsDependencies extends RepositoryAccessDependencies {
  readonly commits: ConfirmedCommits
  readonly refs: Pick<Refs, 'forget'>
  readonly store: Pick<WholeStore, 'statuses' | 'renameRepository' | 'deleteRepository'>
  /** Those who wait for a report hear of it before whoever sent it is answered. */
  readonly watchers: Pick<Watchers, 'changed'>
  readonly events: StatusEvents
  readonly clock: Clock
  readonly meter: Meter
  /** How many contexts of a commit reports may make. */
  readonly maxContexts: number
}

/**
 * Reports of statuses, and what is moved or removed with a repository. A report reads as the list of its checks in the
 * order of the specification ("Endpoints"); the first that fails decides.
 */
export class StatusReports {
  readonly #dependencies: StatusReportsDependencies
  readonly #access: RepositoryAccess
  readonly #leases = new RepositoryLeases()

  constructor(dependencies: StatusReportsDependencies) {
    this.#dependencies = dependencies
    this.#access = new RepositoryAccess(dependencies)
  }

  /**
   * Saves the report of a check. It is on disk once this has resolved.
   * @param name `undefined` for a name that breaks the name rules
   * @param readBody reads the report; called when the checks before it have passed, and not before. What it throws
   *   decides, so it is also where a caller whose body is late is authenticated again
   * @throws ServiceError
   */
  async report(
    caller: Caller,
    name: RepositoryName | undefined,
    sha: string,
    readBody: () => Promise<ReportBody>,
  ): Promise<{ found: VisibleRepository; status: StoredStatus }> {
    const lease = name && this.#leases.take(name)
    try {
      let found = await this.#access.find(caller, name, 'write')
      const commit = fullCommitId(sha)
      const { body, isLate, caller: latest = caller } = await readBody()
      if (isLate) found = await this.#access.find(latest, name, 'write')
      const shape = parseShape(body)
      const state = parseState(shape.state)
      await confirm(this.#dependencies.commits, found.repository, commit)
      const report = parseFields(state, shape)
      if (latest.limits && !coversContext(latest.limits, report.context)) throw new ServiceError('context_denied')
      const sent = { ...report, reporter: reporterOf(latest) }
      return { found, status: await this.#save(found.name, lease, commit, sent) }
    } catch (error) {
      // A failed check (4xx) is the answer. Any other error, once the lease was revoked, is `repository_not_found`.
      const isRefusal = error instanceof ServiceError && error.status < 500
      throw lease?.revoked && !isRefusal ? new ServiceError('repository_not_found', { cause: error }) : error
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      if (lease) this.#leases.release(lease)
    }
  }

  /**
   * Moves all statuses and grants of a repository to another name, not its own, all or none. Reports that are under
   * way to the old name are moved too, or refused as for a repository that does not exist.
   * @throws ServiceError
   */
  async rename(from: RepositoryName, to: RepositoryName): Promise<void> {
    this.#leases.revoke(from)
    this.#forgetWhatWasRead()
    await stored(this.#dependencies.store.renameRepository(from, to))
  }

  /**
   * Removes all statuses and grants of a repository, all or none. Reports that are under way to it are removed too, or
   * refused as for a repository that does not exist.
   * @throws ServiceError
   */
  async delete(name: RepositoryName): Promise<void> {
    this.#leases.revoke(name)
    this.#forgetWhatWasRead()
    await stored(this.#dependencies.store.deleteRepository(name))
  }

  /** Whether the lease still holds and the place in the store's queue are decided in one go, with no await between. */
  async #save(
    name: RepositoryName,
    lease: Lease | undefined,
    commit: ObjectId,
    report: SentReport,
  ): Promise<StoredStatus> {
    if (lease?.revoked) throw new ServiceError('repository_not_found')
    const { store, clock, watchers, events, meter, maxContexts } = this.#dependencies
    const { status, previous } = await stored(store.statuses.save(name, commit, report, clock.now(), maxContexts))
    meter.statusReported(status.state)
    watchers.changed(name, commit)
    events.emit(() => ({
      repository: name.full,
      status: toApiStatus(status),
      previous: previous && toApiStatus(previous),
      reporter: report.reporter,
      ...(status.pending_since !== undefined && { pending_since: status.pending_since }),
    }))
    return status
  }

  #forgetWhatWasRead(): void {
    this.#dependencies.commits.forget()
    this.#dependencies.refs.forget()
  }
}
