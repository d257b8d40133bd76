import { LRUCache } from 'lru-cache'
import type { LevelDatabase } from './database.js'

/** Keys are counted up to here. */
export const MAX_COUNT = 10_000

/** Prefixes whose counts are remembered: of the commits that are being reported on. */
const MAX_PREFIXES = 20_000

/** How many keys of a database begin with a prefix. To be told of every change, after it is on disk. */
export class KeyCounts {
  readonly #database: Pick<LevelDatabase, 'count'>
  // By size: with `max` it would take the memory for all of them at its start.
  readonly #known = new LRUCache<string, number>({ maxSize: MAX_PREFIXES, sizeCalculation: () => 1 })

  constructor(database: Pick<LevelDatabase, 'count'>) {
    this.#database = database
  }

  /** Up to `MAX_COUNT`. */
  async of(prefix: string): Promise<number> {
    return this.#known.get(prefix) ?? (await this.#database.count(prefix, MAX_COUNT))
  }

  /** So many there are now. */
  set(prefix: string, count: number): void {
    this.#known.set(prefix, count)
  }

  /** Something has changed that is not known so exactly. */
  clear(): void {
    this.#known.clear()
  }
}
