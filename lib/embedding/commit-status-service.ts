import type { Administration } from '../admin/administration.js'
import type { CommitStates, CommitStatus } from '../domain/commit-status.js'
import type { Handler } from '../http/dispatcher.js'
import type { MetricsText } from '../http/prometheus.js'
import type { Access } from '../contracts/access-policy.js'
import type { Identity } from '../contracts/authenticator.js'
import type { FailureBudget } from '../contracts/failure-budget.js'
import type { ReportShape } from '../domain/report.js'
import type { StatusListener } from '../service/status-events.js'
import type { VerdictQuery } from '../domain/verdict/rule.js'
import type { Verdict } from '../domain/verdict/verdict.js'
import type { StatusList } from '../domain/status-list.js'

/** A commit status service that lives in this process. */
export interface CommitStatusService {
  /**
   * Answers what is under `/api/v1/`, and under the paths of the option `compatibleApis`, and calls `next` for the
   * rest; without `next`, answers everything, `/healthz` included. Fits `node:http`, polka, express and connect, at
   * the root or under a path they strip. Mount it before anything that reads request bodies. Never throws, never
   * rejects.
   */
  readonly handler: Handler

  /**
   * Reports a status, by the rules of the API. On disk once it has resolved; a list begun after that shows it.
   * @param repository `owner/repo`
   * @param sha full commit id, 40 or 64 hex digits
   * @param report as the body of a report over HTTP
   * @param user whose rights count, or what `authenticate` returned: then the limits of the token too; absent: the
   *   host's own, which are not asked for
   * @throws ServiceError, its `code` and `status` as over HTTP; `store_unavailable` while the store is down: then the
   *   report may or may not be saved, and reporting again is harmless
   */
  report(repository: string, sha: string, report: ReportShape, user?: string | Identity): Promise<CommitStatus>

  /**
   * The statuses of a commit and their combined state.
   * @param repository `owner/repo`
   * @throws ServiceError, as over HTTP
   */
  list(repository: string, sha: string): Promise<StatusList>

  /**
   * The combined states of commits; one that is not there is left out.
   * @param repository `owner/repo`
   * @param shas 1 to 100 full commit ids
   * @throws ServiceError, as over HTTP
   */
  states(repository: string, shas: readonly string[]): Promise<CommitStates>

  /**
   * Whether what is required of a commit is there, by the rules of the API: for the host's own gate.
   * @param repository `owner/repo`
   * @param query what is required; without it every context counts, and there must be one
   * @throws ServiceError, as over HTTP; TypeError for what an address cannot say
   */
  verdict(repository: string, sha: string, query?: VerdictQuery): Promise<Verdict>

  /**
   * Calls `listener` for every saved report, over HTTP or not, after it is on disk; for one commit in the order in
   * which the reports were saved. What a listener throws goes to the log and nowhere else.
   * @returns takes the listener off again
   */
  on(event: 'status', listener: StatusListener): () => void

  /** The budget of failed log-ins, for the host's git log-ins to share. */
  readonly authFailures: FailureBudget

  /**
   * Who a token speaks for, and what narrows it: heed that, or hand all of it to `access` and `report`. `undefined`
   * when it is unknown, expired or revoked. Counts nothing: see `authFailures`.
   * @throws ServiceError when it cannot be determined; then log nobody in
   */
  authenticate(token: string | undefined): Promise<Identity | undefined>

  /**
   * What a user, or a token by what `authenticate` returned for it (`undefined`: everybody), may do with a repository;
   * `none` when it does not exist or cannot be determined.
   * @param repository `owner/repo`
   */
  access(user: string | Identity | undefined, repository: string): Promise<Access>

  /**
   * Moves all statuses and grants of a repository to its new name: all or none, on disk once resolved. Call it when
   * the repository has been moved. Reports under way to the old name are moved too, or refused.
   * @throws TypeError for what is no repository name, ServiceError `store_unavailable`
   */
  renameRepository(from: string, to: string): Promise<void>

  /**
   * Removes all statuses and grants of a repository: all or none, on disk once resolved. Call it when the repository
   * is gone. Reports under way to it are removed too, or refused; one created later under its name starts empty.
   * @throws TypeError for what is no repository name, ServiceError `store_unavailable`
   */
  deleteRepository(repository: string): Promise<void>

  /** `undefined` while reports are accepted, else the reason, in words. */
  unavailableReason(): string | undefined

  /** What was measured so far, in the text format of Prometheus; absent unless the option `metrics` is true. */
  readonly metrics?: () => Promise<MetricsText>

  /**
   * What an admin does with the service: makes and revokes tokens, grants rights, lists, counts, prunes, exports, backs
   * up. For a host's own settings page and scripts; nobody's rights are asked for. Commands use the same, through a
   * socket. A change without `by` is logged as the host's.
   */
  readonly administration: Administration

  /** Refuses everything new with `shutting_down` (503), finishes what was accepted, then closes the store. */
  close(): Promise<void>
}
