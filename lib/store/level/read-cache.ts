import { LRUCache } from 'lru-cache'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import type { CacheName, Meter } from '../../contracts/meter.js'

/**
 * Remembers what was read until it changes; reads of the same key at the same time are one. It is right as long as
 * `forget` or `change` is called for every change after it is durable and before anybody is told of it.
 */
export class ReadCache<V extends object> {
  readonly #entries: LRUCache<string, V>
  readonly #name: CacheName
  readonly #meter: Meter
  readonly #reading = new Map<string, Promise<V | undefined>>()

  /** @param options.maxSize the most that all entries together have by `sizeOf`, which counts each as 1 by default */
  constructor({
    name,
    maxSize,
    sizeOf = () => 1,
    meter,
  }: {
    name: CacheName
    maxSize: number
    sizeOf?: (value: V, key: string) => number
    meter: Meter
  }) {
    this.#name = name
    this.#meter = meter
    this.#entries = new LRUCache({ maxSize, sizeCalculation: sizeOf })
    meter.cacheSize(name, () => this.#entries.calculatedSize)
  }

  /** The entry, or else what `read` finds; that there is nothing is not remembered. */
  get<R extends V | undefined>(key: string, read: () => MaybePromise<R>): V | MaybePromise<R> {
    const cached = this.#entries.get(key)
    this.#meter.cacheLookup(this.#name, cached !== undefined)
    // What is being read under a key, the same `read` reads.
    // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion
    return cached ?? (this.#reading.get(key) as Promise<R> | undefined) ?? this.#read(key, read)
  }

  forget(key: string): void {
    this.change(key, () => undefined)
  }

  /** Forgets as `forget`, but keeps what `next` makes of the entry, if there was one. */
  change(key: string, next: (cached: V) => V | undefined): void {
    // What is being read may be from before the change.
    this.#reading.delete(key)
    const cached = this.#entries.peek(key)
    const changed = cached && next(cached)
    // The same value may be larger now, which is looked at only of what is new.
    this.#entries.delete(key)
    if (changed) this.#entries.set(key, changed)
  }

  clear(): void {
    this.#entries.clear()
    this.#reading.clear()
  }

  #read<R extends V | undefined>(key: string, read: () => MaybePromise<R>): MaybePromise<R> {
    const found = read()
    if (found instanceof Promise) return this.#later(key, found)
    if (found) this.#entries.set(key, found)
    return found
  }

  async #later<R extends V | undefined>(key: string, reading: Promise<R>): Promise<R> {
    this.#reading.set(key, reading)
    try {
      const value = await reading
      if (value && this.#reading.get(key) === reading) this.#entries.set(key, value)
      return value
    } finally {
      if (this.#reading.get(key) === reading) this.#reading.delete(key)
    }
  }
}
