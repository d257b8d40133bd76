import { defaultOf } from '../../config/settings.js'
import { MemorySignIns } from '../auth/memory-sign-ins.js'
import { Sessions } from '../auth/sessions.js'
import { CommitFinder } from '../git/commit-finder.js'
import { GitProcesses } from '../git/git-process.js'
import { loadLibgit2 } from '../git/nodegit.js'
import { ConfirmedCommits } from '../git/confirmed-commits.js'
import { warnOfSkipped } from './warn-of-skipped.js'
import { CoalescedRepositories } from '../git/coalesced-repositories.js'
import { RefLists } from '../git/ref-lists.js'
import { Refs } from '../git/refs.js'
import { strictApi } from '../http/api/routes.js'
import { Authentication } from '../http/authentication.js'
import { clientAddresses, trustedPeers } from '../http/client-address.js'
import { createDispatcher, type Handler } from '../http/dispatcher.js'
import { metricsSurface } from '../http/metrics.js'
import { PublicAddress } from '../http/public-address.js'
import { EventStreams } from '../http/event-stream.js'
import { LongPolling } from '../http/long-polling.js'
import { cacheShares } from '../contracts/cache-shares.js'
import { silentLogger } from '../contracts/logger.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import { InFlight } from '../service/in-flight.js'
import { Watchers } from '../service/watchers.js'
import { PushReports } from '../service/push-reports.js'
import { StatusEvents } from '../service/status-events.js'
import { StatusFeeds } from '../service/status-feeds.js'
import { StatusLists } from '../service/status-lists.js'
import { StatusReports } from '../service/status-reports.js'
import { buildInfo } from './build-info.js'
import type { CommitStatusService } from './commit-status-service.js'
import { PART_MILLISECONDS } from './guarded-call.js'
import { guardLogger } from './guarded-parts.js'
import { hostCalls } from './host-calls.js'
import { openCompatibleApis } from './open-compatible-apis.js'
import { openDeliverer, openSender } from './open-hooks.js'
import { openPages, type StandAlonePages } from './open-pages.js'
import { openDependencies } from './open-dependencies.js'
import type { RightsSetting } from './open-rights.js'
import { openServiceAdministration } from './open-service-administration.js'
import { checkOptions, type CommitStatusOptions } from './options.js'

/** What only a server of ours, or a spec, brings. */
interface Overrides {
  /** How long a part of the host may take for one answer. */
  readonly partMilliseconds?: number
  /** What tells rights in place of owners and grants. */
  readonly rights?: RightsSetting
  /** Pages with a way of ours to sign in. */
  readonly pages?: StandAlonePages
  /** What links begin with: those to sign in, and those of webhooks. */
  readonly signInAddress?: () => string
  /** Whether the handler answers for measurements, too. */
  readonly servesMetrics?: boolean
}

/** A service, and what only a server of ours needs of it. */
export interface Assembled {
  readonly service: CommitStatusService
  readonly meter: Meter
  /** Answers for measurements and nothing else; absent where nothing is measured. */
  readonly metricsHandler?: Handler
  /** Ends the commands under way, and closes their socket: a first step of `service.close()`. */
  readonly stopCommands: () => Promise<void>
  /** Answers everybody who waits with what is there; from then on nobody waits. */
  readonly endWaits: () => Promise<void>
}

/**
 * Puts a service together from its options: as `createCommitStatusService`.
 */
export async function assemble(
  options: CommitStatusOptions,
  {
    partMilliseconds = PART_MILLISECONDS,
    rights,
    pages: standAlonePages,
    signInAddress = () => (options.publicUrl ?? '').replace(/\/+$/, '') || 'http://localhost',
    servesMetrics = false,
  }: Overrides = {},
): Promise<Assembled> {
  checkOptions(options)
  // Whatever may throw comes before the store, which would be left open.
  const { trustedProxies = [], publicUrl = '', limits = {} } = options
  const clientAddress = clientAddresses(trustedProxies)
  const isTrustedPeer = trustedPeers(trustedProxies)
  const address = new PublicAddress({ publicUrl, isTrustedPeer })
  const logger = guardLogger(options.logger ?? silentLogger)
  // Only here: whoever measures nothing need not load it.
  const prometheus =
    options.metrics === true ? new (await import('../http/prometheus.js')).Prometheus(buildInfo()) : undefined
  const meter = prometheus ?? noopMeter
  const { lacks } = await loadLibgit2()
  /* c8 ignore next -- the specs run with the libgit2 that the set-up builds, which lacks nothing */
  if (lacks !== undefined) logger.warn({}, lacks)

  const shares = cacheShares(options.cache?.megabytes)
  const dependencies = await openDependencies(options, rights, logger, meter, partMilliseconds, shares)
  const { store, folder, tokens, authenticator, failures, logIns } = dependencies
  const commits = new CommitFinder({ comparesIdentities: folder !== undefined, pace: folder?.pace })
  const git = new GitProcesses({ logger })
  const refs = new Refs(git, meter, shares.refs)
  const refLists = new RefLists(git, meter, shares.refLists)
  meter.gauge('openRepositories', () => commits.open)
  const events = new StatusEvents(logger)
  const maxContexts = limits.contexts ?? defaultOf('limits.contexts')
  const repositories = folder ? new CoalescedRepositories(folder) : dependencies.repositories
  const confirmed = new ConfirmedCommits(commits, meter, shares.commits)
  const found = { repositories, commits: confirmed, refs }
  const watchers = new Watchers(limits.waits ?? defaultOf('limits.waits'), store.statuses)
  meter.gauge('waits', () => watchers.size)
  const { statuses } = store
  const feeds = new StatusFeeds({ events, watchers, statuses, clock: dependencies.clock })
  const lists = new StatusLists({ ...dependencies, ...found, logger, maxContexts })
  const reports = new StatusReports({ ...dependencies, ...found, watchers, events, logger, meter, maxContexts })
  const tokenId = options.authenticator ? undefined : (token: string) => tokens.digestOf(token)?.id
  const authentication = new Authentication({ authenticator, failures, logIns, clientAddress, tokenId, meter })
  const inFlight = new InFlight(limits.requests ?? defaultOf('limits.requests'), logger)
  const maxSeconds = limits.waitSeconds ?? defaultOf('limits.waitSeconds')
  const longPolling = new LongPolling({ watchers, inFlight, maxSeconds })
  const eventStreams = new EventStreams({ feeds, watchers, inFlight })
  const unavailableReason = () => (inFlight.isClosing ? 'shutting down' : store.unavailableReason())

  if (folder) void warnOfSkipped(folder, logger)
  const sessions = new Sessions(store.signIns ?? new MemorySignIns(), dependencies.clock)
  const hasLinks = standAlonePages !== undefined && 'linkCommand' in standAlonePages
  const sending = openSender(options, {
    ...{ ...dependencies, refs, logger, pagesBase: options.pages?.base ?? '' },
    address: signInAddress,
  })
  const hooks = sending && {
    ...sending,
    deliverer: await openDeliverer(sending, { ...dependencies, refLists, git, logger, meter, shares }),
  }
  /** Hears of all that a repository has. */
  const changedWhole = (repository: string) => {
    watchers.anyChanged(repository)
    feeds.forget(repository)
  }
  const { administration, audited, stopCommands, retention } = await openServiceAdministration(options, {
    ...dependencies,
    hooks,
    changes: {
      renameRepository: async (from, to) => {
        await reports.rename(from, to)
        for (const { full } of [from, to]) changedWhole(full)
      },
      deleteRepository: async (name) => {
        await reports.delete(name)
        changedWhole(name.full)
      },
    },
    changed: () => {
      watchers.anyChanged()
    },
    run: async (change) => await inFlight.run(change),
    signIns: hasLinks ? { sessions, address: signInAddress } : undefined,
    commits,
    logger,
    meter,
  })
  let closing: Promise<void> | undefined
  const pages = options.pages ?? standAlonePages
  const guard = { part: 'pages', milliseconds: partMilliseconds }
  const ours = options.authenticator ? undefined : administration
  const pagesSurface =
    pages &&
    openPages(pages, {
      ...dependencies,
      sessions,
      lists,
      refs,
      refLists,
      git,
      tokens: ours,
      hooks: hooks && administration,
      clientAddress,
      address,
      isTrustedPeer,
      logger,
      meter,
      shares,
      guard,
    })
  const pushes = hooks && new PushReports({ ...dependencies, repositories, logger, pushes: hooks.pushes })
  const api = strictApi({ lists, reports, pushes, authentication, inFlight, eventStreams, unavailableReason })
  const compatible = openCompatibleApis(options, {
    lists,
    reports,
    authentication,
    inFlight,
    refs,
    refLists,
    git,
    address,
    meter,
    shares,
    folder,
    pagesBase: options.pages?.base ?? '',
  })
  const measurements = prometheus && metricsSurface(async () => await prometheus.read())
  const edge = { inFlight, longPolling, logger, meter }

  const service: CommitStatusService = {
    handler: createDispatcher({
      ...edge,
      surfaces: [
        ...compatible.ofHosts,
        api,
        ...compatible.mounted,
        ...(pagesSurface ? [pagesSurface] : []),
        ...(measurements && servesMetrics ? [measurements] : []),
      ],
      // A service of its own shows people a page for what nobody knows.
      rest: (standAlonePages && pagesSurface) ?? api,
    }),
    ...hostCalls({ lists, reports, inFlight, events, failures, authenticator, audited }),
    administration,
    unavailableReason,
    ...(prometheus && { metrics: async () => await prometheus.read() }),
    close: () =>
      (closing ??= (async () => {
        await watchers.close()
        feeds.close()
        await Promise.all([inFlight.close(), stopCommands(), retention?.close(), hooks?.deliverer.close()])
        try {
          await tokens.close()
          await store.close()
        } finally {
          commits.close()
          git.close()
          dependencies.rights?.close()
        }
      })()),
  }
  const metricsHandler = measurements && createDispatcher({ ...edge, surfaces: [measurements], rest: measurements })
  return {
    service,
    meter,
    ...(metricsHandler && { metricsHandler }),
    stopCommands,
    endWaits: async () => await watchers.close(),
  }
}
