import type { Clock } from '../contracts/clock.js'
import type { Delivery, DeliveryResult, HookAttempt, HookCondition, HookRecord, HookStore } from '../contracts/hooks.js'
import type { Meter } from '../contracts/meter.js'

/** How many of the latest deliveries to a hook are kept for who asks. */
const MAX_KEPT = 20

/** The latest deliveries to each hook, without what they said and where to. */
export class DeliveryLog {
  readonly #clock: Clock
  readonly #meter: Meter
  readonly #attempts = new Map<string, HookAttempt[]>()

  constructor(clock: Clock, meter: Meter) {
    this.#clock = clock
    this.#meter = meter
  }

  note(delivery: Delivery, result: DeliveryResult): HookAttempt {
    const attempt = attemptOf(delivery, result, this.#clock)
    const { id } = delivery.hook
    this.#meter.deliveryTried(result.kind, result.milliseconds / 1000)
    this.#attempts.set(id, [...(this.#attempts.get(id) ?? []).slice(1 - MAX_KEPT), attempt])
    return attempt
  }

  /** The latest first. */
  of(hook: string): readonly HookAttempt[] {
    return this.#attempts.get(hook)?.toReversed() ?? []
  }

  forget(hook: string): void {
    this.#attempts.delete(hook)
  }
}

/** What is kept of a delivery that was tried just now. */
export function attemptOf(
  { id: delivery, event }: Delivery,
  { kind: result, status, milliseconds, reason }: DeliveryResult,
  clock: Clock,
): HookAttempt {
  const at = new Date(clock.now()).toISOString()
  return { at, delivery, event, result, ...(status !== undefined && { status }), milliseconds, reason }
}

/** Measures what waits for hooks, and how they do. */
export function measureHooks(hooks: HookStore, clock: Clock, meter: Meter): void {
  const waiting = async () => [...(await hooks.outbox.waiting()).values()]
  meter.gauge('waitingDeliveries', async () => (await waiting()).reduce((sum, { count }) => sum + count, 0))
  meter.gauge('oldestDeliverySeconds', async () => {
    const times = (await waiting()).map(({ since }) => Date.parse(since))
    return times.length === 0 ? 0 : Math.max(0, (clock.now() - Math.min(...times)) / 1000)
  })
  meter.hookStates(async () => {
    const conditions = { active: 0, failing: 0, paused: 0, stopped: 0 }
    for (const hook of await hooks.list()) conditions[conditionOf(hook)]++
    return conditions
  })
}

export function conditionOf({ state, failing_since }: Pick<HookRecord, 'state' | 'failing_since'>): HookCondition {
  return state === 'active' && failing_since !== undefined ? 'failing' : state
}
