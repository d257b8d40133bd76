/** Synchronous calls are made while they take no longer than this on average. */
const FAST_MILLISECONDS = 0.25

/**
 * What the latest call counts for in the average: one that takes an eighth of a second is slow by itself. One that
 * takes less may have waited for a processor; of those there are few among many, of a slow disk many among few.
 */
const WEIGHT = 1 / 512

/** How long calls are asynchronous at least, once synchronous ones were slow. */
const SLOW_MILLISECONDS = 10_000

/** What answers an asynchronous call in this time, with the wait for its turn, answers. */
const ANSWERED_MILLISECONDS = 100

/**
 * Says whether to call a file system synchronously, which costs a tenth of the processor time, but holds up
 * everything when it is slow. Once it was, calls are asynchronous for a while and until one of them was answered
 * quickly: a network file system that has gone away holds up the process once, not once for each request.
 */
export class SyncWhileFast {
  readonly #now: () => number
  #average = 0
  /** When calls may be synchronous again at the earliest; `undefined` while they are. */
  #slowUntil: number | undefined

  /** @param now milliseconds, by a clock that nobody sets */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Makes a call in the way that is right at the moment. */
  call<A, B>(sync: () => A, async: () => Promise<B>): A | Promise<B> {
    return this.#slowUntil === undefined ? this.#sync(sync) : this.#async(async)
  }

  #sync<A>(call: () => A): A {
    const begun = this.#now()
    try {
      return call()
    } finally {
      const ended = this.#now()
      this.#average += (ended - begun - this.#average) * WEIGHT
      if (this.#average > FAST_MILLISECONDS) this.#slowUntil = ended + SLOW_MILLISECONDS
    }
  }

  async #async<B>(call: () => Promise<B>): Promise<B> {
    const begun = this.#now()
    try {
      return await call()
    } finally {
      const ended = this.#now()
      if (this.#slowUntil !== undefined && ended > this.#slowUntil && ended - begun < ANSWERED_MILLISECONDS) {
        this.#slowUntil = undefined
        this.#average = 0
      }
    }
  }
}
