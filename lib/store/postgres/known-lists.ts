import { LRUCache } from 'lru-cache'
import type { Meter } from '../../contracts/meter.js'
import type { SerialisedList } from '../../domain/status-list.js'

/** A list as it is sent, and what PostgreSQL tells it by. */
export interface KnownList {
  readonly list: SerialisedList
  readonly digest: string
}

/** What a list takes in memory besides its bytes, about. */
const LIST_BYTES = 1_000

/**
 * Lists that were read. Another instance may have changed them: PostgreSQL is asked, by the digest, before one is sent
 * again.
 */
export class KnownLists {
  readonly #known: LRUCache<string, KnownList>
  readonly #meter: Meter

  /** @param most bytes of all together */
  constructor(most: number, meter: Meter) {
    this.#meter = meter
    this.#known = new LRUCache({ maxSize: most, sizeCalculation: ({ list }) => list.bytes.length + LIST_BYTES })
    meter.cacheSize('lists', () => this.#known.calculatedSize)
  }

  get(key: string): KnownList | undefined {
    return this.#known.get(key)
  }

  /** @param isSame whether what was known is what is there */
  looked(isSame: boolean): void {
    this.#meter.cacheLookup('lists', isSame)
  }

  set(key: string, list: KnownList): void {
    this.#known.set(key, list)
  }
}
