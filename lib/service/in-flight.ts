import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../errors.js'
import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'

/**
 * The one gate: what is under way, how many requests may be, and closing. Everything that uses the store goes through
 * it, so that closing can refuse what is new and wait for the rest.
 */
export class InFlight {
  readonly #maxRequests: number
  readonly #logger: Logger
  readonly #arrivals = new Set<(error: ServiceError) => void>()
  #operations = 0
  #requests = 0
  #overloaded = false
  #closing = false
  #whenIdle: (() => void) | undefined

  constructor(maxRequests: number, logger: Logger) {
    this.#maxRequests = maxRequests
    this.#logger = logger
  }

  get isClosing(): boolean {
    return this.#closing
  }

  /** @throws ServiceError `shutting_down` once closing has begun */
  refuseWhenClosing(): void {
    if (this.#closing) throw new ServiceError('shutting_down')
  }

  /**
   * Runs an operation of the program that the service lives in; those are not limited. In a turn of the event loop of
   * its own: what the program has changed before is seen, also what requests of this turn have looked at.
   * @throws ServiceError `shutting_down`
   */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    this.refuseWhenClosing()
    this.#operations++
    try {
      await setImmediate()
      return await operation()
    } finally {
      this.#end()
    }
  }

  /**
   * Runs the operation of a client's request.
   * @throws ServiceError `shutting_down`, `overloaded`, and what the operation throws, if it is not a rejection
   */
  admit<T>(operation: () => MaybePromise<T>): MaybePromise<T> {
    this.refuseWhenClosing()
    if (this.#requests >= this.#maxRequests) throw this.#overload()
    this.#operations++
    this.#requests++
    let result: MaybePromise<T>
    try {
      result = operation()
    } catch (error) {
      this.#leave()
      throw error
    }
    if (result instanceof Promise) return result.finally(this.#leave)
    this.#leave()
    return result
  }

  // A function of its own, to be handed on.
  readonly #leave = (): void => {
    this.#requests--
    if (this.#requests <= this.#maxRequests / 2) this.#overloaded = false
    this.#end()
  }

  /**
   * Waits, in a request, for something to arrive from its client, but not past the closing: nobody knows when, or if,
   * it does. Meanwhile the request does not count against the limit, or clients that send slowly would keep out all
   * others; so it may be one too many afterwards.
   * @throws ServiceError `shutting_down`, `overloaded`
   */
  async exceptWhileReceiving<T>(arriving: Promise<T>): Promise<T> {
    let arrived: T
    if (this.#closing) {
      arriving.catch(() => undefined)
      throw new ServiceError('shutting_down')
    }
    this.#requests--
    try {
      arrived = await new Promise<T>((resolve, reject) => {
        this.#arrivals.add(reject)
        const arrived = (): void => {
          this.#arrivals.delete(reject)
          resolve(arriving)
        }
        arriving.then(arrived, arrived)
      })
    } finally {
      this.#requests++
    }
    if (this.#requests > this.#maxRequests) throw this.#overload()
    return arrived
  }

  /** What is open counts as under way until it is closed, once. */
  track<T extends { close(): MaybePromise<void> }>(open: T): T {
    this.#operations++
    const close = async (): Promise<void> => {
      try {
        await open.close()
      } finally {
        this.#end()
      }
    }
    return { ...open, close }
  }

  /** Refuses everything from now on; resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closing = true
    for (const reject of this.#arrivals) reject(new ServiceError('shutting_down'))
    if (this.#operations > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }

  #end(): void {
    this.#operations--
    if (this.#operations === 0) this.#whenIdle?.()
  }

  /** A log line for each of thousands would be a load of its own: there is one until the load is half of the limit. */
  #overload(): ServiceError {
    if (!this.#overloaded) {
      this.#logger.warn({ limit: this.#maxRequests }, 'too many requests in progress: more are refused')
    }
    this.#overloaded = true
    return new ServiceError('overloaded')
  }
}
