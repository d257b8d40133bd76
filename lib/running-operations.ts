import { ServiceError } from './errors.js'

/** What is under way, so that closing can wait for it. */
export class RunningOperations {
  readonly #arrivals = new Set<(error: ServiceError) => void>()
  #running = 0
  #closed = false
  #whenIdle: (() => void) | undefined

  /** Runs an operation, unless closing has begun: then it throws `shutting_down`. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new ServiceError('shutting_down')
    this.#running++
    try {
      return await operation()
    } finally {
      this.#running--
      if (this.#running === 0) this.#whenIdle?.()
    }
  }

  /** Waits for something to arrive from a client, but not past the closing: nobody knows when, or if, it does. */
  async arrival<T>(arriving: Promise<T>): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      this.#arrivals.add(reject)
      arriving.then(resolve, reject).finally(() => this.#arrivals.delete(reject))
    })
  }

  /** Refuses everything from now on; resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closed = true
    for (const reject of this.#arrivals) reject(new ServiceError('shutting_down'))
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }
}
