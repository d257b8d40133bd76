import type { DeliveryResult, HookAttempt, HookRecord, HookStore, OutboxEntry } from '../contracts/hooks.js'
import type { Clock } from '../contracts/clock.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import { afterFailure, afterSuccess, stopped } from './hook-health.js'

/** What may wait for one hook. */
export const MAX_WAITING = 10_000

/** How often the latest delivery is written down, where nothing else changes. */
const LAST_MILLISECONDS = 60_000

/** What a receiver says of a body that it does not take; and after how many of these it is given up. */
const REJECTIONS: readonly (number | undefined)[] = [400, 413, 422]
const MAX_REJECTIONS = 5

export interface HookConditionsDependencies {
  readonly hooks: HookStore
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  /** 0 to 1. */
  readonly random: () => number
}

/** What deliveries make of the hooks that they are to: ones that fail, work again or are stopped. */
export class HookConditions {
  readonly #dependencies: HookConditionsDependencies
  /** The delivery to each hook that was rejected last, and how often. */
  readonly #rejected = new Map<string, { readonly delivery: string; readonly times: number }>()

  constructor(dependencies: HookConditionsDependencies) {
    this.#dependencies = dependencies
  }

  async succeeded({ id, failing_since, last: before }: HookRecord, last: HookAttempt): Promise<void> {
    const age = before ? Date.parse(last.at) - Date.parse(before.at) : Infinity
    if (failing_since === undefined && before?.result === 'ok' && age < LAST_MILLISECONDS) return
    const { hooks, logger } = this.#dependencies
    await hooks.update(id, (hook) => afterSuccess(hook, last))
    if (failing_since !== undefined)
      logger.info({ hook: id, since: failing_since }, 'deliveries to a hook succeed again')
  }

  async failed(tried: HookRecord, entry: OutboxEntry, last: HookAttempt, result: DeliveryResult): Promise<void> {
    const { hooks, clock, logger, meter } = this.#dependencies
    const known = this.#rejected.get(tried.id)
    const before = known?.delivery === entry.delivery ? known.times : 0
    const times = REJECTIONS.includes(result.status) ? before + 1 : 0
    const facts = { hook: tried.id, receiver: new URL(tried.url).host, reason: result.reason }
    if (times >= MAX_REJECTIONS) {
      logger.warn(
        { ...facts, repository: entry.repository.full },
        'a delivery is given up: its receiver does not take it',
      )
      meter.deliveryTried('dropped', 0)
      await hooks.outbox.settle(entry, entry.from)
    } else {
      if (times > 0) this.#rejected.set(tried.id, { delivery: entry.delivery, times })
      await hooks.outbox.release(entry)
    }
    const [now, since] = [clock.now(), await this.#waitsSince(tried.id)]
    const hook = await hooks.update(tried.id, (hook) =>
      afterFailure(hook, tried, last, result, since, now, this.#dependencies.random()),
    )
    if (hook?.state === 'stopped') await this.#drop(hook)
    else if (hook?.attempts === 1 && tried.attempts === undefined)
      logger.warn({ ...facts, next: hook.next_attempt_at }, 'deliveries to a hook fail: they are tried again')
  }

  /** @returns how much waits for it; `undefined`: too much, and it is stopped */
  async waitingUnlessTooMuch({ id }: HookRecord): Promise<number | undefined> {
    const { hooks } = this.#dependencies
    const waiting = (await hooks.outbox.waiting()).get(id)
    if (waiting === undefined) return 0
    if (waiting.count <= MAX_WAITING) return waiting.count
    const why = `more than ${MAX_WAITING} deliveries waited`
    const hook = await hooks.update(id, (hook) => stopped(hook, why, waiting.since))
    if (hook) await this.#drop(hook)
    return undefined
  }

  async #drop({ id, stopped_because: reason, behind_since: since }: HookRecord): Promise<void> {
    await this.#dependencies.hooks.outbox.drop(id)
    this.#dependencies.logger.error({ hook: id, reason, since }, 'a hook was stopped: what waited for it is dropped')
  }

  async #waitsSince(id: string): Promise<string> {
    const { hooks, clock } = this.#dependencies
    return (await hooks.outbox.waiting()).get(id)?.since ?? new Date(clock.now()).toISOString()
  }
}
