/** Statements of one kind on their way at once: while one is answered, the next is worked on. */
const MOST_STATEMENTS = 2

/** How many keys share a statement at most. */
const MOST_KEYS = 100

interface Waiting<A> {
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}

/**
 * Looks things up by key: a few statements are on their way, and what is asked meanwhile shares the next. A statement
 * begins after all its questions were asked, so every answer is as new as if each had been asked alone.
 */
export class Lookups<K, A> {
  readonly #find: (keys: readonly K[]) => Promise<(key: K) => A>
  readonly #waiting = new Map<string, { readonly key: K; readonly askers: Waiting<A>[] }>()
  #asked = 0
  #statements = 0
  #scheduled = false

  /** @param find asks about several keys in one statement; gives what tells the answer of each */
  constructor(find: (keys: readonly K[]) => Promise<(key: K) => A>) {
    this.#find = find
  }

  /** Whether nobody waits for an answer. */
  get isIdle(): boolean {
    return this.#asked === 0
  }

  /**
   * What there is of a key.
   * @param name the same for the same key, and no other
   */
  async get(name: string, key: K): Promise<A> {
    this.#asked++
    try {
      return await new Promise<A>((resolve, reject) => {
        const waiting = this.#waiting.get(name) ?? { key, askers: [] }
        waiting.askers.push({ resolve, reject })
        this.#waiting.set(name, waiting)
        // Not at once: what is asked in the same turn goes together.
        if (!this.#scheduled) setImmediate(() => this.#begin())
        this.#scheduled = true
      })
      /* c8 ignore next -- V8 counts a way out that there is not */
    } finally {
      this.#asked--
    }
  }

  #begin(): void {
    this.#scheduled = false
    while (this.#waiting.size > 0 && this.#statements < MOST_STATEMENTS) {
      const batch = [...this.#waiting].slice(0, MOST_KEYS)
      for (const [name] of batch) this.#waiting.delete(name)
      this.#statements++
      void this.#answer(batch.map(([, waiting]) => waiting)).then(() => {
        this.#statements--
        this.#begin()
      })
    }
  }

  async #answer(batch: readonly { readonly key: K; readonly askers: readonly Waiting<A>[] }[]): Promise<void> {
    try {
      const answerOf = await this.#find(batch.map(({ key }) => key))
      for (const { key, askers } of batch) {
        const answer = answerOf(key)
        for (const { resolve } of askers) resolve(answer)
      }
    } catch (error) {
      for (const { askers } of batch) for (const { reject } of askers) reject(error)
    }
  }
}
