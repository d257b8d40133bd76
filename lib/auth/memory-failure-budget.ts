import { LRUCache } from 'lru-cache'
import { clientKey } from '../contracts/client-key.js'
import type { MaybeSync } from '../concurrency/maybe-promise.js'
import type { FailureBudget } from '../contracts/failure-budget.js'

/** Clients remembered at once; past that, the one that failed least recently is forgotten. */
const MAX_CLIENTS = 100_000

/** The failures of a client since the first one that counts. */
interface Window {
  /** By the clock that nobody sets: a step of the wall clock ends no window and lengthens none. */
  readonly endsAt: number
  failures: number
}

/** A budget in the memory of this process. */
export class MemoryFailureBudget implements MaybeSync<FailureBudget> {
  readonly #limit: number
  readonly #windowSeconds: number
  // By size: with `max` it would take the memory for all of them at its start.
  readonly #windows = new LRUCache<string, Window>({ maxSize: MAX_CLIENTS, sizeCalculation: () => 1 })

  /**
   * @param limit failures a client may make in a window; the next attempt is refused
   * @param windowSeconds counted from the first failure
   */
  constructor({ limit, windowSeconds }: { limit: number; windowSeconds: number }) {
    this.#limit = limit
    this.#windowSeconds = windowSeconds
  }

  retryAfter(address: string): number {
    // As it mostly is: nobody has failed.
    if (this.#windows.size === 0) return 0
    const window = this.#windows.peek(clientKey(address))
    return window && window.failures >= this.#limit ? secondsLeft(window) : 0
  }

  recordFailure(address: string): number {
    const key = clientKey(address)
    const known = this.#windows.get(key)
    const window =
      known && secondsLeft(known) > 0 ? known : { endsAt: performance.now() + this.#windowSeconds * 1000, failures: 0 }
    window.failures++
    this.#windows.set(key, window)
    return window.failures > this.#limit ? secondsLeft(window) : 0
  }
}

/** 0 for a window that has ended. */
function secondsLeft({ endsAt }: Window): number {
  return Math.max(Math.ceil((endsAt - performance.now()) / 1000), 0)
}
