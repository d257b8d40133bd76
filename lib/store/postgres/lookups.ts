/** Statements of one kind on their way at once. */
const MOST_STATEMENTS = 4

interface Waiting<R> {
  readonly resolve: (rows: R[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Looks things up by key: a few statements are on their way, and what is asked meanwhile shares the next. A statement
 * begins after all its questions were asked, so every answer is as new as if each had been asked alone.
 */
export class Lookups<K, R> {
  readonly #find: (keys: readonly K[]) => Promise<R[]>
  readonly #wants: (key: K, row: R) => boolean
  #waiting = new Map<string, { readonly key: K; readonly askers: Waiting<R>[] }>()
  #statements = 0
  #scheduled = false

  /**
   * @param find reads the rows of several keys in one statement; it may find some that nobody wants
   * @param wants tells whether a row is one of a key's
   */
  constructor(find: (keys: readonly K[]) => Promise<R[]>, wants: (key: K, row: R) => boolean) {
    this.#find = find
    this.#wants = wants
  }

  /**
   * The rows of a key.
   * @param name the same for the same key, and no other
   */
  async get(name: string, key: K): Promise<R[]> {
    return await new Promise<R[]>((resolve, reject) => {
      const waiting = this.#waiting.get(name) ?? { key, askers: [] }
      waiting.askers.push({ resolve, reject })
      this.#waiting.set(name, waiting)
      // Not at once: what is asked in the same turn goes together.
      if (!this.#scheduled) setImmediate(() => this.#begin())
      this.#scheduled = true
    })
  }

  #begin(): void {
    this.#scheduled = false
    if (this.#waiting.size === 0 || this.#statements >= MOST_STATEMENTS) return
    const batch = [...this.#waiting.values()]
    this.#waiting = new Map()
    this.#statements++
    void this.#answer(batch).then(() => {
      this.#statements--
      this.#begin()
    })
  }

  async #answer(batch: readonly { readonly key: K; readonly askers: readonly Waiting<R>[] }[]): Promise<void> {
    try {
      const rows = await this.#find(batch.map(({ key }) => key))
      for (const { key, askers } of batch) {
        const wanted = rows.filter((row) => this.#wants(key, row))
        for (const { resolve } of askers) resolve(wanted)
      }
    } catch (error) {
      for (const { askers } of batch) for (const { reject } of askers) reject(error)
    }
  }
}
