import { LRUCache } from 'lru-cache'
import type { Meter } from '../../contracts/meter.js'
import type { SerialisedList } from '../../domain/status-list.js'

/** A list as it is sent, and the digest by which PostgreSQL knows it. */
export interface CacheEntry {
  readonly list: SerialisedList
  readonly digest: string
}

/** About what a list takes in memory besides its bytes. */
const LIST_BYTES = 1_000

/**
 * Lists that were read. Another instance may have changed them: PostgreSQL is asked, by the digest, before one is sent
 * again.
 */
export class ListCache {
  readonly #entries: LRUCache<string, CacheEntry>
  readonly #meter: Meter

  /** @param maxBytes of all together */
  constructor(maxBytes: number, meter: Meter) {
    this.#meter = meter
    this.#entries = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ list }) => list.bytes.length + LIST_BYTES })
    meter.cacheSize('lists', () => this.#entries.calculatedSize)
  }

  get(key: string): CacheEntry | undefined {
    return this.#entries.get(key)
  }

  /** @param isSame whether the cached list is what is there */
  countLookup(isSame: boolean): void {
    this.#meter.cacheLookup('lists', isSame)
  }

  set(key: string, list: CacheEntry): void {
    this.#entries.set(key, list)
  }
}
