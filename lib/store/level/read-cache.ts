import { LRUCache } from 'lru-cache'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import type { CacheName, Meter } from '../../contracts/meter.js'

/**
 * Remembers what was read until it changes; reads of the same key at the same time are one. It is right as long as
 * `forget` or `change` is called for every change after it is durable and before anybody is told of it.
 */
export class ReadCache<V extends object> {
  readonly #known: LRUCache<string, V>
  readonly #name: CacheName
  readonly #meter: Meter
  readonly #reading = new Map<string, Promise<V | undefined>>()

  /** @param parts.most of what `sizeOf` tells, over all that is remembered; by default it tells 1 */
  constructor({
    name,
    most,
    sizeOf = () => 1,
    meter,
  }: {
    name: CacheName
    most: number
    sizeOf?: (value: V, key: string) => number
    meter: Meter
  }) {
    this.#name = name
    this.#meter = meter
    this.#known = new LRUCache({ maxSize: most, sizeCalculation: sizeOf })
    meter.cacheSize(name, () => this.#known.calculatedSize)
  }

  /** What is known, or else what `read` finds; that there is nothing is not remembered. */
  get<R extends V | undefined>(key: string, read: () => MaybePromise<R>): V | MaybePromise<R> {
    const known = this.#known.get(key)
    this.#meter.cacheLookup(this.#name, known !== undefined)
    // What is being read under a key, the same `read` reads.
    // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion
    return known ?? (this.#reading.get(key) as Promise<R> | undefined) ?? this.#read(key, read)
  }

  forget(key: string): void {
    this.change(key, () => undefined)
  }

  /** As `forget`, but what `next` makes of what is known, if anything, is known from then on. */
  change(key: string, next: (known: V) => V | undefined): void {
    // What is being read may be from before the change.
    this.#reading.delete(key)
    const known = this.#known.peek(key)
    const changed = known && next(known)
    // The same value may be larger now, which is looked at only of what is new.
    this.#known.delete(key)
    if (changed) this.#known.set(key, changed)
  }

  clear(): void {
    this.#known.clear()
    this.#reading.clear()
  }

  #read<R extends V | undefined>(key: string, read: () => MaybePromise<R>): MaybePromise<R> {
    const found = read()
    if (found instanceof Promise) return this.#later(key, found)
    if (found) this.#known.set(key, found)
    return found
  }

  async #later<R extends V | undefined>(key: string, reading: Promise<R>): Promise<R> {
    this.#reading.set(key, reading)
    try {
      const value = await reading
      if (value && this.#reading.get(key) === reading) this.#known.set(key, value)
      return value
    } finally {
      if (this.#reading.get(key) === reading) this.#reading.delete(key)
    }
  }
}
