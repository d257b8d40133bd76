import type { Clock } from '../contracts/clock.js'
import type { Delivery, DeliveryResult, HookAttempt, HookStore } from '../contracts/hooks.js'
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

  note({ id: delivery, event, hook }: Delivery, result: DeliveryResult): HookAttempt {
    const { kind, status, milliseconds, reason } = result
    const at = new Date(this.#clock.now()).toISOString()
    const attempt = { at, delivery, event, result: kind, ...(status !== undefined && { status }), milliseconds, reason }
    this.#meter.deliveryTried(kind, milliseconds / 1000)
    this.#attempts.set(hook.id, [...(this.#attempts.get(hook.id) ?? []).slice(1 - MAX_KEPT), attempt])
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

/** Measures what waits for hooks, and how they do. */
export function measureHooks(hooks: HookStore, clock: Clock, meter: Meter): void {
  const waiting = async () => [...(await hooks.outbox.waiting()).values()]
  meter.gauge('waitingDeliveries', async () => (await waiting()).reduce((sum, { count }) => sum + count, 0))
  meter.gauge('oldestDeliverySeconds', async () => {
    const times = (await waiting()).map(({ since }) => Date.parse(since))
    return times.length === 0 ? 0 : Math.max(0, (clock.now() - Math.min(...times)) / 1000)
  })
  meter.hookStates(async () => {
    const states = { active: 0, paused: 0, stopped: 0 }
    for (const { state } of await hooks.list()) states[state]++
    return states
  })
}
