import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Access } from './access.js'
import type { AdministrationParts } from './admin/local-administration.js'
import { deleteAudited, renameAudited, type AuditedChanges } from './audit.js'
import type { Identity } from './auth/authenticator.js'
import type { FailureBudget } from './auth/failure-budget.js'
import { GrantPolicy } from './auth/grants.js'
import { MemoryFailureBudget } from './auth/memory-failure-budget.js'
import { Tokens } from './auth/tokens.js'
import { systemClock } from './clock.js'
import type { CommitStatus } from './commit-status.js'
import { ServiceError } from './errors.js'
import { CommitFinder } from './git/commit-finder.js'
import { loadLibgit2 } from './git/nodegit.js'
import { RepositoryFolder } from './git/repository-folder.js'
import { PART_MILLISECONDS } from './guard.js'
import { guardAccessPolicy, guardAuthenticator, guardClock, guardFailureBudget, guardLogger, guardRepositories } from './host-parts.js'
import { Authentication } from './http/authentication.js'
import { clientAddresses } from './http/client-address.js'
import { createHandler, type Handler } from './http/handler.js'
import { silentLogger } from './logger.js'
import { idleMeter, type Meter } from './meter.js'
import { checkOptions, type CommitStatusOptions } from './options.js'
import { refusalFor } from './refusal.js'
import type { MetricsText } from './prometheus.js'
import { parseRepositoryName, type RepositoryName } from './repository-name.js'
import type { ReportShape } from './report.js'
import { RunningOperations } from './running-operations.js'
import { StatusService } from './service.js'
import { StartError } from './start-error.js'
import { StatusEvents, type StatusListener } from './status-events.js'
import type { StatusList } from './status-list.js'
import { guardStore } from './store/guarded-store.js'
import { openStore } from './store/open-store.js'
import type { Store } from './store/store.js'

/** A commit status service that lives in this process. */
export interface CommitStatusService {
  /**
   * Answers what is under `/api/v1/` and calls `next` for the rest; without `next`, answers everything, `/healthz`
   * included. Fits `node:http`, polka, express and connect, at the root or under a path they strip. Mount it before
   * anything that reads request bodies. Never throws, never rejects.
   */
  readonly handler: Handler

  /**
   * Reports a status, by the rules of the API. On disk once it has resolved; a list begun after that shows it.
   * @param repository `owner/repo`
   * @param sha full commit id, 40 or 64 hex digits
   * @param report as the body of a report over HTTP
   * @param user whose rights count; absent: the host's own, which are not asked for
   * @throws ServiceError, its `code` and `status` as over HTTP; `store_unavailable` while the store is down: then the
   *   report may or may not be saved, and reporting again is harmless
   */
  report(repository: string, sha: string, report: ReportShape, user?: string): Promise<CommitStatus>

  /**
   * The statuses of a commit and their combined state.
   * @param repository `owner/repo`
   * @throws ServiceError, as over HTTP
   */
  list(repository: string, sha: string): Promise<StatusList>

  /**
   * Calls `listener` for every saved report, over HTTP or not, after it is on disk; for one commit in the order in
   * which the reports were saved. What a listener throws goes to the log and nowhere else.
   * @returns takes the listener off again
   */
  on(event: 'status', listener: StatusListener): () => void

  /** The budget of failed log-ins, for the host's git log-ins to share. */
  readonly authFailures: FailureBudget

  /**
   * Who a token speaks for, `undefined` when it is unknown, expired or revoked. Counts nothing: see `authFailures`.
   * @throws ServiceError when it cannot be told; then log nobody in
   */
  authenticate(token: string | undefined): Promise<Identity | undefined>

  /**
   * What a user (`undefined`: everybody) may do with a repository; `none` when it does not exist or cannot be told.
   * @param repository `owner/repo`
   */
  access(user: string | undefined, repository: string): Promise<Access>

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
  trouble(): string | undefined

  /** What was measured so far, in the text format of Prometheus; absent unless the option `metrics` is true. */
  readonly metrics?: () => Promise<MetricsText>

  /** Refuses everything new with `shutting_down` (503), finishes what was accepted, then closes the store. */
  close(): Promise<void>

  /** For a server of ours: where it measures. */
  readonly meter: Meter

  /** For commands: the parts that an admin works on. */
  readonly administered: AdministrationParts
}

/**
 * Starts a commit status service in this process.
 * @param inner.partMilliseconds how long a part of the host may take for one answer
 * @throws TypeError that names an option which is unknown or of the wrong shape; StartError for a repositories folder that
 *   does not exist, or a libgit2 that is not built; StoreLocked or StoreUnavailable for a store that cannot be opened
 */
export async function createCommitStatusService(
  options: CommitStatusOptions,
  { partMilliseconds = PART_MILLISECONDS }: { partMilliseconds?: number } = {},
): Promise<CommitStatusService> {
  checkOptions(options)
  // Whatever may throw comes before the store, which would be left open.
  const clientAddress = clientAddresses(options.trustedProxies ?? [])
  const guard = (part: string) => ({ part, milliseconds: partMilliseconds })
  const logger = guardLogger(options.logger ?? silentLogger)
  const clock = options.clock ? guardClock(options.clock, logger) : systemClock

  // Only here: whoever measures nothing need not load it.
  const prometheus = options.metrics === true ? new (await import('./prometheus.js')).Prometheus() : undefined
  const meter = prometheus ?? idleMeter
  const { lacks } = await loadLibgit2()
  /* c8 ignore next -- the specs run with the libgit2 that the set-up builds, which lacks nothing */
  if (lacks !== undefined) logger.warn({}, lacks)

  const { repositories: given } = options
  const repositories = typeof given === 'string' ? await repositoryFolder(given) : guardRepositories(given, guard('repositories'))
  const store = typeof options.store === 'string' ? await openStore(options.store, logger, meter) : guardStore(options.store, guard('store'))
  const failures = isBudget(options.authFailures) ? guardFailureBudget(options.authFailures, guard('authFailures')) : budget(store, options.authFailures)

  const tokens = new Tokens({ store: store.tokens, prefix: options.tokenPrefix ?? 'cst', clock, logger })
  const authenticator = options.authenticator ? guardAuthenticator(options.authenticator, guard('authenticator')) : tokens
  const policy = options.accessPolicy ? guardAccessPolicy(options.accessPolicy, guard('accessPolicy')) : new GrantPolicy(store.grants)

  const commits = new CommitFinder()
  meter.gauge('openRepositories', () => commits.open)
  const events = new StatusEvents(logger)
  const service = new StatusService({ repositories, commits, store, policy, events, clock, logger, meter })
  const authentication = new Authentication({ authenticator, failures, clientAddress, logger, meter })
  const running = new RunningOperations(options.limits?.requests ?? 1000, logger)
  let closing: Promise<void> | undefined
  const changes: AdministrationParts['changes'] = {
    renameRepository: async (from, to) => await running.run(async () => await service.rename(from, to)),
    deleteRepository: async (name) => await running.run(async () => await service.delete(name)),
  }
  // Within what is running already.
  const audited: AuditedChanges = {
    changes: { renameRepository: async (from, to) => await service.rename(from, to), deleteRepository: async (name) => await service.delete(name) },
    grants: store.grants,
    logger,
  }
  const trouble = () => (closing ? 'shutting down' : store.trouble())
  const refuseWhenClosed = () => {
    if (closing) throw new ServiceError('shutting_down')
  }

  return {
    handler: createHandler({ service, authentication, running, trouble, refuseWhenClosed, logger, meter }),
    report: async (repository, sha, report, user) => {
      const caller = user === undefined ? { host: true as const } : { user: checkUser(user) }
      return await running.run(async () => await service.report(caller, parseRepositoryName(repository), sha, () => Promise.resolve(report)))
    },
    list: async (repository, sha) => {
      const { bytes } = await running.run(async () => await service.list({ host: true }, parseRepositoryName(repository), sha))
      return JSON.parse(bytes.toString()) as StatusList // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
    },
    on(event: string, listener) {
      if (event !== 'status' || typeof listener !== 'function') throw new TypeError("on takes the event 'status' and a function")
      return events.on(listener)
    },
    authFailures: failures,
    authenticate: async (token) => {
      refuseWhenClosed()
      if (typeof token !== 'string') return undefined
      try {
        return await authenticator.authenticate(token)
      } catch (error) {
        throw refusalFor(error)
      }
    },
    access: async (user, repository) => {
      const name = parseRepositoryName(repository)
      return name && !closing ? await service.access(user === undefined ? undefined : checkUser(user), name) : 'none'
    },
    renameRepository: async (from, to) => {
      const [name, newName] = [checkName(from), checkName(to)]
      await running.run(async () => await renameAudited(audited, 'host', name, newName))
    },
    deleteRepository: async (repository) => {
      const name = checkName(repository)
      await running.run(async () => await deleteAudited(audited, 'host', name))
    },
    trouble,
    meter,
    ...(prometheus && { metrics: async () => await prometheus.read() }),
    close: () =>
      (closing ??= (async () => {
        await running.close()
        try {
          await tokens.close()
          await store.close()
        } finally {
          commits.close()
        }
      })()),
    administered: { store, tokens, changes, logger, commits, ...(repositories instanceof RepositoryFolder && { repositories }) },
  }
}

async function repositoryFolder(path: string): Promise<RepositoryFolder> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isDirectory()) {
    throw new StartError(`the repositories folder ${resolve(path)} does not exist; make it, or name another one with the setting repositories (COMMIT_STATUS_REPOSITORIES)`)
  }
  return new RepositoryFolder(path)
}

function budget(store: Store, { limit = 20, windowSeconds = 600 }: { limit?: number; windowSeconds?: number } = {}): FailureBudget {
  return store.failureBudget?.({ limit, windowSeconds }) ?? new MemoryFailureBudget({ limit, windowSeconds })
}

function isBudget(option: CommitStatusOptions['authFailures']): option is FailureBudget {
  return option !== undefined && 'retryAfter' in option
}

/** Of a value that is no name, nobody knows whom the host meant. */
function checkUser(user: unknown): string {
  if (typeof user !== 'string' || user === '') throw new TypeError('the user must be a text that is not empty, or undefined')
  return user
}

function checkName(repository: unknown): RepositoryName {
  const name = parseRepositoryName(repository)
  if (!name) throw new TypeError(`${String(repository)} is no repository name: owner/repo`)
  return name
}
