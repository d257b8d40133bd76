import type { State } from '../domain/commit-status.js'
import type { DeliveryOutcome, HookCondition } from './hooks.js'

/** What a request was about, as far as a metric may show it: no name, user or token. */
export type RouteName =
  'list' | 'states' | 'report' | 'verdict' | 'events' | 'push' | 'page' | 'healthz' | 'metrics' | 'other'

export type CacheName =
  | 'lists'
  | 'tokens'
  | 'grants'
  | 'commits'
  | 'counts'
  | 'answers'
  | 'pages'
  | 'contents'
  | 'lines'
  | 'logs'
  | 'refs'
  | 'refLists'

export type GaugeName =
  'queuedChanges' | 'storeBytes' | 'openRepositories' | 'waits' | 'waitingDeliveries' | 'oldestDeliverySeconds'

/** Where measurements go. No method throws. */
export interface Meter {
  requestAnswered(route: RouteName, status: number, seconds: number): void
  statusReported(state: State): void
  logInFailed(): void
  /** Somebody who is no trusted proxy named a user in the header of one. */
  signInIgnored(): void
  /** Changes that shared one fsync, and how long it took to make them durable. */
  batchWritten(changes: number, seconds: number): void
  /** A write failed: nothing is acknowledged until the store is open again. */
  storeFenced(): void
  /** The retention has pruned the store, or was kept from it. @param kept what nobody knows of whether it may go */
  retentionRan(isWhole: boolean, removed: number, kept: number): void
  /** A repository was refused for the first time since a part of the store is away. */
  repositoryRefused(): void
  /** A delivery to a hook was tried, or given up: `dropped`. */
  deliveryTried(result: DeliveryOutcome, seconds: number): void
  /** @param read returns how many hooks do how; asked as that of a gauge is */
  hookStates(read: () => Promise<Readonly<Record<HookCondition, number>>>): void
  cacheLookup(cache: CacheName, hit: boolean): void
  /** @param read returns about how many bytes a cache takes; asked as that of a gauge is */
  cacheSize(cache: CacheName, read: () => number): void
  /** @param read is asked whenever the measurements are read */
  gauge(name: GaugeName, read: () => number | Promise<number>): void
}

/** Measures nothing. */
export const noopMeter: Meter = {
  requestAnswered: nothing,
  statusReported: nothing,
  logInFailed: nothing,
  signInIgnored: nothing,
  batchWritten: nothing,
  storeFenced: nothing,
  retentionRan: nothing,
  repositoryRefused: nothing,
  deliveryTried: nothing,
  hookStates: nothing,
  cacheLookup: nothing,
  cacheSize: nothing,
  gauge: nothing,
}

function nothing(): void {
  // Nobody reads it.
}
