import { ServiceError } from './errors.js'
import type { Logger } from './logger.js'

/** What is under way, so that closing can wait for it; and of requests no more than a limit. */
export class RunningOperations {
  readonly #mostRequests: number
  readonly #logger: Logger
  readonly #arrivals = new Set<(error: ServiceError) => void>()
  #running = 0
  #requests = 0
  #overloaded = false
  #closed = false
  #whenIdle: (() => void) | undefined

  constructor(mostRequests: number, logger: Logger) {
    this.#mostRequests = mostRequests
    this.#logger = logger
  }

  /** Runs an operation, unless closing has begun: then it throws `shutting_down`. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    this.#begin()
    try {
      return await operation()
    } finally {
      this.#end()
    }
  }

  /** Runs what a client has requested, unless there is too much of that: then it throws `overloaded`, at once. */
  async request<T>(operation: () => Promise<T>): Promise<T> {
    this.#begin()
    this.#requests++
    try {
      this.#refuseTooMany()
      return await operation()
    } finally {
      this.#requests--
      if (this.#requests <= this.#mostRequests / 2) this.#overloaded = false
      this.#end()
    }
  }

  /**
   * Waits, in a request, for something to arrive from its client, but not past the closing: nobody knows when, or if,
   * it does. Meanwhile the request is none in progress, or clients that send slowly would keep out all others; so it
   * may be one too many afterwards.
   */
  async arrival<T>(arriving: Promise<T>): Promise<T> {
    let arrived: T
    if (this.#closed) {
      arriving.catch(() => undefined)
      throw new ServiceError('shutting_down')
    }
    this.#requests--
    try {
      arrived = await new Promise<T>((resolve, reject) => {
        this.#arrivals.add(reject)
        arriving.then(resolve, reject).finally(() => this.#arrivals.delete(reject))
      })
    } finally {
      this.#requests++
    }
    this.#refuseTooMany()
    return arrived
  }

  /** Refuses everything from now on; resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closed = true
    for (const reject of this.#arrivals) reject(new ServiceError('shutting_down'))
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }

  #begin(): void {
    if (this.#closed) throw new ServiceError('shutting_down')
    this.#running++
  }

  #end(): void {
    this.#running--
    if (this.#running === 0) this.#whenIdle?.()
  }

  /** A log line for each of thousands would be a load of its own: there is one until the load is half of what may be. */
  #refuseTooMany(): void {
    if (this.#requests <= this.#mostRequests) return
    if (!this.#overloaded) this.#logger.warn({ limit: this.#mostRequests }, 'too many requests in progress: more are refused')
    this.#overloaded = true
    throw new ServiceError('overloaded')
  }
}
