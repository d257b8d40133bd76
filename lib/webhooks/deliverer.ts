import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../contracts/clock.js'
import type { HookAttempt, HookRecord, HookStore, OutboxEntry, Sender } from '../contracts/hooks.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import type { Content } from './told-content.js'
import { DeliveryLog, measureHooks } from './delivery-log.js'
import { HookConditions } from './hook-conditions.js'
import { LONGEST_PAUSE_MILLISECONDS } from './hook-health.js'
import { newLane, roomIn, type Lane } from './lane.js'

export interface DelivererDependencies {
  readonly hooks: HookStore
  readonly sender: Sender
  /** Reads what is to be told, as it is now. It may reject: then it is asked again later. */
  readonly contentOf: (hook: HookRecord, entry: OutboxEntry) => Promise<Content>
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  /** Does something later, in a process that may end before. @returns takes it back */
  readonly later?: (milliseconds: number, work: () => void) => () => void
  /** 0 to 1. */
  readonly random?: () => number
}

/** Deliveries on their way altogether. */
const MAX_IN_FLIGHT = 32

/** Of what is noted while nothing can be sent, after how much it is looked whether too much waits. */
const NOTES_AT_REST = 1000

/** After that long, what could not be read or written is tried again. */
const RETRY_MILLISECONDS = 5_000

/** The longest time for which what cannot be read is kept back; at first it is 5 s, and then four times as long. */
const MAX_POSTPONED_SECONDS = 600

/** Entries of which it is known how often they could not be read. */
const MAX_UNREADABLE = 10_000

/** How long deliveries on their way may take at the end. */
const CLOSE_MILLISECONDS = 5_000

/**
 * Delivers what waits for hooks. A receiver that fails is tried with one delivery at a time, after longer and longer
 * pauses, until it answers again or is stopped; what waits for it costs the others nothing.
 */
export class Deliverer {
  readonly #dependencies: DelivererDependencies
  readonly #later: (milliseconds: number, work: () => void) => () => void
  readonly #log: DeliveryLog
  readonly #conditions: HookConditions
  readonly #lanes = new Map<string, Lane>()
  /** Those that may send, and may not since too much is on its way. */
  readonly #starved = new Set<string>()
  readonly #stop = new AbortController()
  readonly #postponed = new Set<() => void>()
  /** How often an entry could not be read, by its delivery. */
  readonly #unreadable = new LRUCache<string, number>({ max: MAX_UNREADABLE })
  readonly #underWay = new Set<Promise<void>>()
  #inFlight = 0
  #isClosing = false

  constructor(dependencies: DelivererDependencies) {
    const { hooks, meter, clock, later = laterUnref, random = Math.random } = dependencies
    this.#dependencies = dependencies
    this.#later = later
    this.#log = new DeliveryLog(clock, meter)
    this.#conditions = new HookConditions({ ...dependencies, random })
    measureHooks(hooks, clock, meter)
  }

  /**
   * Begins: what is reported once this has resolved is delivered. Never rejects; where the hooks cannot be read, it is
   * tried again later.
   */
  async start(): Promise<void> {
    const { hooks, logger } = this.#dependencies
    try {
      const each = (wake: (id: string) => void) => (ids: Iterable<string>) => {
        for (const id of ids) wake(id)
      }
      await hooks.outbox.open(each(this.#noted.bind(this)), each(this.wake.bind(this)))
      for (const { id } of await hooks.list()) this.wake(id)
    } catch (error) {
      logger.error({ err: error }, 'hooks cannot be read: nothing is delivered yet')
      this.#later(RETRY_MILLISECONDS, () => {
        if (!this.#isClosing) this.#track(this.start())
      })
    }
  }

  /** Begins again with a hook that an admin has made or changed. */
  wake(hook: string): void {
    if (this.#isClosing) return
    const lane = this.#laneOf(hook)
    lane.isWanted = true
    if (!lane.isRunning) this.#track(this.#run(lane))
  }

  /** Begins with what is new. Where nothing can be begun, that costs a report no look at the hook. */
  #noted(hook: string): void {
    const lane = this.#laneOf(hook)
    if (!lane.isResting || ++lane.notes >= NOTES_AT_REST) this.wake(hook)
  }

  /** The latest deliveries to a hook that this process has tried, the latest first. */
  log(hook: string): readonly HookAttempt[] {
    return this.#log.of(hook)
  }

  /** Sends something to see whether it arrives, whatever state the hook is in. */
  async ping(hook: HookRecord): Promise<HookAttempt> {
    const delivery = { id: randomUUID(), event: 'ping', hook } as const
    return this.#log.note(delivery, await this.#dependencies.sender.send(delivery, this.#stop.signal))
  }

  /** Takes nothing more; what is on its way may come to its end for some seconds. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const { cancel } of this.#lanes.values()) cancel?.()
    for (const cancel of this.#postponed) cancel()
    const cancel = this.#later(CLOSE_MILLISECONDS, () => this.#stop.abort())
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
    cancel()
  }

  /** Begins as many deliveries to a hook as may be begun now, and sees to it that it is called again. */
  async #run(lane: Lane): Promise<void> {
    lane.isRunning = true
    try {
      while (lane.isWanted && !this.#isClosing) {
        lane.isWanted = false
        lane.isResting = false
        lane.notes = 0
        lane.cancel?.()
        lane.cancel = undefined
        await this.#begin(lane)
      }
    } catch (error) {
      this.#dependencies.logger.error({ hook: lane.id, err: error }, 'what waits for a hook cannot be read')
      this.#wakeLater(lane, RETRY_MILLISECONDS)
    }
    lane.isRunning = false
  }

  async #begin(lane: Lane): Promise<void> {
    const { hooks, clock } = this.#dependencies
    const hook = await hooks.get(lane.id)
    if (!hook) {
      this.#lanes.delete(lane.id)
      this.#log.forget(lane.id)
      return
    }
    if (hook.state === 'stopped') return
    const waiting = await this.#conditions.waitingUnlessTooMuch(hook)
    if (waiting === undefined || hook.state === 'paused') return
    const now = clock.now()
    const pause = hook.next_attempt_at === undefined ? 0 : Date.parse(hook.next_attempt_at) - now
    const wait = Math.max(atMost(LONGEST_PAUSE_MILLISECONDS, pause), atMost(RETRY_MILLISECONDS, lane.retryAt - now))
    if (wait > 0) {
      this.#wakeLater(lane, wait)
      lane.isResting = true
      return
    }
    const max = this.#room(lane, hook, waiting, now)
    lane.isResting = max === 0
    if (max === 0) return
    // Kept free while it is looked what there is.
    this.#leave(lane, -max)
    const entries = await hooks.outbox.claim(lane.id, max).catch((error: unknown) => {
      this.#leave(lane, max)
      throw error
    })
    this.#leave(lane, max - entries.length)
    lane.window.sent += entries.length
    for (const entry of entries) this.#track(this.#deliver(lane, hook, entry))
  }

  /** How many deliveries may be begun now. Where there is no room, the lane is woken when there is. */
  #room(lane: Lane, hook: HookRecord, waiting: number, now: number): number {
    const { room, wait } = roomIn(lane, hook, waiting, now)
    const altogether = MAX_IN_FLIGHT - this.#inFlight
    if (wait !== undefined) this.#wakeLater(lane, wait)
    if (altogether <= 0) this.#starved.add(lane.id)
    return Math.max(0, Math.min(room, altogether))
  }

  async #deliver(lane: Lane, hook: HookRecord, entry: OutboxEntry): Promise<void> {
    try {
      await this.#tell(hook, entry)
    } catch (error) {
      const { clock, logger } = this.#dependencies
      logger.error({ hook: hook.id, repository: entry.repository.full, err: error }, 'a delivery could not be made')
      lane.retryAt = clock.now() + RETRY_MILLISECONDS
      const times = this.#unreadable.get(entry.delivery) ?? 0
      this.#unreadable.set(entry.delivery, times + 1)
      // Others go on meanwhile.
      this.#postpone(entry, Math.min((RETRY_MILLISECONDS / 1000) * 4 ** times, MAX_POSTPONED_SECONDS))
    }
    this.#leave(lane, 1)
    // Those who found no room come first.
    const others = [...this.#starved]
    this.#starved.clear()
    for (const id of [...others, lane.id]) this.wake(id)
  }

  async #tell(hook: HookRecord, entry: OutboxEntry): Promise<void> {
    const { hooks, sender, contentOf } = this.#dependencies
    const { deliveries, told, marks } = await contentOf(hook, entry)
    let last: HookAttempt | undefined
    for (const [made, delivery] of deliveries.entries()) {
      if (marks) await hooks.outbox.mark(entry, marks(made, true))
      const result = await sender.send(delivery, this.#stop.signal)
      if (result.kind !== 'ok' && this.#stop.signal.aborted) {
        await hooks.outbox.release(entry)
        return
      }
      if (result.kind === 'later') {
        if (marks) await hooks.outbox.mark(entry, marks(made, false))
        this.#postpone(entry, result.retryAfterSeconds)
        return
      }
      last = this.#log.note(delivery, result)
      if (result.kind === 'ok') continue
      await this.#conditions.failed(hook, entry, last, result)
      return
    }
    await hooks.outbox.settle(entry, told, marks?.(deliveries.length, false))
    if (last) await this.#conditions.succeeded(hook, last)
  }

  /** Keeps an entry back, and all that must be told after it. */
  #postpone(entry: OutboxEntry, seconds = RETRY_MILLISECONDS / 1000): void {
    const cancel = this.#later(seconds * 1000, () => {
      this.#postponed.delete(cancel)
      this.#track(this.#dependencies.hooks.outbox.release(entry))
      this.wake(entry.hook)
    })
    this.#postponed.add(cancel)
  }

  #leave(lane: Lane, places: number): void {
    lane.inFlight -= places
    this.#inFlight -= places
  }

  #wakeLater(lane: Lane, milliseconds: number): void {
    lane.cancel = this.#later(milliseconds, () => this.wake(lane.id))
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
  }

  #laneOf(id: string): Lane {
    const known = this.#lanes.get(id)
    if (known) return known
    const lane = newLane(id)
    this.#lanes.set(id, lane)
    return lane
  }
}

/** As `setTimeout`; it keeps no process alive. */
function laterUnref(milliseconds: number, work: () => void): () => void {
  const timer = setTimeout(work, milliseconds).unref()
  return () => {
    clearTimeout(timer)
  }
}

/** What is longer than a pause can be was noted before a clock was set back: it is over. */
function atMost(longest: number, pause: number): number {
  return pause > longest ? 0 : pause
}
