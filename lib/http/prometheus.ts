import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { STATES, type State } from '../domain/commit-status.js'
import { DELIVERY_OUTCOMES, HOOK_CONDITIONS, type DeliveryOutcome, type HookCondition } from '../contracts/hooks.js'
import type { CacheName, GaugeName, Meter, RouteName } from '../contracts/meter.js'

/** Measurements in the text format of Prometheus. */
export interface MetricsText {
  readonly contentType: string
  readonly text: string
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const CHANGES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

const GAUGES: Readonly<Record<GaugeName, readonly [name: string, help: string]>> = {
  queuedChanges: ['commit_status_store_queued_changes', 'Changes that wait for their turn to be written.'],
  storeBytes: ['commit_status_store_size_bytes', 'What the store takes on disk.'],
  waits: ['commit_status_waits', 'Requests that wait for a change or follow a repository.'],
  waitingDeliveries: ['commit_status_webhook_queue', 'Deliveries to hooks that wait.'],
  oldestDeliverySeconds: ['commit_status_webhook_oldest_seconds', 'For how long the oldest of them has waited.'],
  openRepositories: ['commit_status_open_repositories', 'Repositories held open by libgit2.'],
}

/**
 * A meter that Prometheus reads; what the process itself does, the lag of the event loop above all, is measured too.
 */
export class Prometheus implements Meter {
  readonly #registry = new Registry()
  readonly #registers = [this.#registry]
  readonly #requests = new Counter({
    name: 'commit_status_http_requests_total',
    help: 'Requests that were answered.',
    labelNames: ['route', 'status'],
    registers: this.#registers,
  })
  readonly #requestSeconds = new Histogram({
    name: 'commit_status_http_request_duration_seconds',
    help: 'Time from the headers of a request to its answer.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: this.#registers,
  })
  readonly #reports = new Counter({
    name: 'commit_status_reports_total',
    help: 'Reports that were saved.',
    labelNames: ['state'],
    registers: this.#registers,
  })
  readonly #failedLogIns = new Counter({
    name: 'commit_status_failed_logins_total',
    help: 'Requests with credentials that were wrong.',
    registers: this.#registers,
  })
  readonly #ignoredSignIns = new Counter({
    name: 'commit_status_ignored_sign_ins_total',
    help: 'Requests that named a user in the header of a reverse proxy, and did not come from one that is trusted.',
    registers: this.#registers,
  })
  readonly #batchChanges = new Histogram({
    name: 'commit_status_store_batch_changes',
    help: 'Changes that shared one fsync, or one statement of a database.',
    buckets: CHANGES,
    registers: this.#registers,
  })
  readonly #batchSeconds = new Histogram({
    name: 'commit_status_store_batch_duration_seconds',
    help: 'Time to make a batch durable.',
    buckets: SECONDS,
    registers: this.#registers,
  })
  readonly #fences = new Counter({
    name: 'commit_status_store_fences_total',
    help: 'Times that nothing could be written: reports were refused until it could again.',
    registers: this.#registers,
  })
  readonly #retentionRuns = new Counter({
    name: 'commit_status_retention_runs_total',
    help: 'Times that the retention pruned the store, or was kept from it.',
    labelNames: ['result'],
    registers: this.#registers,
  })
  readonly #retentionStatuses = new Counter({
    name: 'commit_status_retention_statuses_total',
    help: 'Statuses that the retention removed, or kept since nobody knows whether they may go.',
    labelNames: ['result'],
    registers: this.#registers,
  })
  readonly #refusedRepositories = new Counter({
    name: 'commit_status_store_refused_repositories_total',
    help: 'Repositories that were refused, each once while a part of the database was away.',
    registers: this.#registers,
  })
  readonly #deliveries = new Counter({
    name: 'commit_status_webhook_deliveries_total',
    help: 'Deliveries to hooks that were tried, or given up.',
    labelNames: ['result'],
    registers: this.#registers,
  })
  readonly #deliverySeconds = new Histogram({
    name: 'commit_status_webhook_delivery_duration_seconds',
    help: 'Time to send a delivery and take its answer.',
    buckets: SECONDS,
    registers: this.#registers,
  })
  readonly #lookUps = new Counter({
    name: 'commit_status_cache_lookups_total',
    help: 'What was looked for in memory.',
    labelNames: ['cache', 'result'],
    registers: this.#registers,
  })

  readonly #cacheSizes = new Map<CacheName, () => number>()

  /** @param build what runs: its version, and the commit where it is known */
  constructor(build: { readonly version: string; readonly commit?: string }) {
    new Gauge({
      name: 'commit_status_build_info',
      help: 'Which program runs; always 1.',
      labelNames: ['version', 'commit'],
      registers: this.#registers,
    }).set({ commit: '', ...build }, 1)
    const sizes = this.#cacheSizes
    new Gauge({
      name: 'commit_status_cache_size_bytes',
      help: 'What the caches take in memory, about.',
      labelNames: ['cache'],
      registers: this.#registers,
      collect() {
        for (const [cache, read] of sizes) this.set({ cache }, read())
      },
    })
    for (const state of STATES) this.#reports.inc({ state }, 0)
    for (const result of DELIVERY_OUTCOMES) this.#deliveries.inc({ result }, 0)
    for (const result of ['done', 'failed']) this.#retentionRuns.inc({ result }, 0)
    for (const result of ['removed', 'kept']) this.#retentionStatuses.inc({ result }, 0)
    collectDefaultMetrics({ register: this.#registry })
  }

  requestAnswered(route: RouteName, status: number, seconds: number): void {
    this.#requests.inc({ route, status })
    this.#requestSeconds.observe({ route }, seconds)
  }

  statusReported(state: State): void {
    this.#reports.inc({ state })
  }

  signInIgnored(): void {
    this.#ignoredSignIns.inc()
  }

  logInFailed(): void {
    this.#failedLogIns.inc()
  }

  batchWritten(changes: number, seconds: number): void {
    this.#batchChanges.observe(changes)
    this.#batchSeconds.observe(seconds)
  }

  storeFenced(): void {
    this.#fences.inc()
  }

  retentionRan(isWhole: boolean, removed: number, kept: number): void {
    this.#retentionRuns.inc({ result: isWhole ? 'done' : 'failed' })
    this.#retentionStatuses.inc({ result: 'removed' }, removed)
    this.#retentionStatuses.inc({ result: 'kept' }, kept)
  }

  repositoryRefused(): void {
    this.#refusedRepositories.inc()
  }

  deliveryTried(result: DeliveryOutcome, seconds: number): void {
    this.#deliveries.inc({ result })
    if (result !== 'dropped') this.#deliverySeconds.observe(seconds)
  }

  hookStates(read: () => Promise<Readonly<Record<HookCondition, number>>>): void {
    new Gauge({
      name: 'commit_status_webhook_hooks',
      help: 'Hooks there are.',
      labelNames: ['state'],
      registers: this.#registers,
      async collect() {
        const hooks = await read()
        for (const state of HOOK_CONDITIONS) this.set({ state }, hooks[state])
      },
    })
  }

  cacheLookup(cache: CacheName, hit: boolean): void {
    this.#lookUps.inc({ cache, result: hit ? 'hit' : 'miss' })
  }

  cacheSize(cache: CacheName, read: () => number): void {
    this.#cacheSizes.set(cache, read)
  }

  gauge(gauge: GaugeName, read: () => number | Promise<number>): void {
    const [name, help] = GAUGES[gauge]
    new Gauge({
      name,
      help,
      registers: this.#registers,
      async collect() {
        this.set(await read())
      },
    })
  }

  async read(): Promise<MetricsText> {
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}
