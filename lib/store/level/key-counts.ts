import { LRUCache } from 'lru-cache'
import type { Meter } from '../../contracts/meter.js'
import type { LevelDatabase } from './database.js'

/** Keys are counted up to here. */
export const MAX_COUNT = 10_000

/** About what a count takes in memory besides its prefix. */
const COUNT_BYTES = 150

/** How many keys of a database begin with a prefix. To be told of every change, after it is on disk. */
export class KeyCounts {
  readonly #database: Pick<LevelDatabase, 'count'>
  readonly #entries: LRUCache<string, number>

  /** @param cacheBytes of counts that are remembered: of the commits that are being reported on */
  constructor(database: Pick<LevelDatabase, 'count'>, meter: Meter, cacheBytes: number) {
    this.#database = database
    this.#entries = new LRUCache({ maxSize: cacheBytes, sizeCalculation: (_, { length }) => COUNT_BYTES + length })
    meter.cacheSize('counts', () => this.#entries.calculatedSize)
  }

  /** Up to `MAX_COUNT`. */
  async of(prefix: string): Promise<number> {
    return this.#entries.get(prefix) ?? (await this.#database.count(prefix, MAX_COUNT))
  }

  /** Remembers how many there are now. */
  set(prefix: string, count: number): void {
    this.#entries.set(prefix, count)
  }

  /** Something has changed that is not known so exactly. */
  clear(): void {
    this.#entries.clear()
  }
}
