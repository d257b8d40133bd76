import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { clientKey } from './client-key.js'
import type { FailureBudget } from './failure-budget.js'

/** Clients remembered at once; past that, the one that failed least recently is forgotten. */
const MOST_CLIENTS = 100_000

/** A budget in the memory of this process. */
export class MemoryFailureBudget implements FailureBudget {
  readonly #limit: number
  readonly #windowSeconds: number
  readonly #limiter: RateLimiterMemory
  readonly #clients: LRUCache<string, true>

  /**
   * @param limit failures a client may make in a window; the next attempt is refused
   * @param windowSeconds counted from the first failure
   */
  constructor({ limit, windowSeconds }: { limit: number; windowSeconds: number }) {
    this.#limit = limit
    this.#windowSeconds = windowSeconds
    this.#limiter = new RateLimiterMemory({ points: limit, duration: windowSeconds })
    this.#clients = new LRUCache({
      max: MOST_CLIENTS,
      dispose: (_, key) => void this.#limiter.delete(key),
      noDisposeOnSet: true,
    })
  }

  async retryAfter(address: string): Promise<number> {
    const spent = await this.#limiter.get(clientKey(address))
    return spent && spent.consumedPoints >= this.#limit ? this.#secondsLeft(spent) : 0
  }

  async recordFailure(address: string): Promise<number> {
    const key = clientKey(address)
    this.#clients.set(key, true)
    const spent = await this.#limiter.penalty(key)
    return spent.consumedPoints > this.#limit ? this.#secondsLeft(spent) : 0
  }

  /** Within the window even when the clock has been set. */
  #secondsLeft(spent: RateLimiterRes): number {
    return Math.min(Math.max(Math.ceil(spent.msBeforeNext / 1000), 1), this.#windowSeconds)
  }
}
