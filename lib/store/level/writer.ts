import { StoreFenced, StoreUnavailable } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import { cacheShares } from '../../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../../contracts/meter.js'
import { BoundedQueue, type QueueBounds } from '../bounded-queue.js'
import type { Batch, BatchOperation } from './batch.js'
import type { LevelDatabase } from './database.js'
import { KeyCounts } from './key-counts.js'
import type { KeyWatch } from './key-watch.js'
import { Recovery } from './recovery.js'

/** A change that is decided when its turn has come, from what the database holds then. */
export interface LevelChange<T> {
  /** About how many characters the change will write. */
  readonly size: number
  /** The keys whose values the decision needs. */
  readonly reads: readonly string[]
  /**
   * Where a value is missing that it reads at a key that begins with this, the decision needs how many of these keys
   * there are, up to `MAX_COUNT`.
   */
  readonly counts?: string
  /** Decides. `values` are those of `reads`, every earlier change included, as in `count`. */
  decide(values: readonly (string | undefined)[], count: number): { operations: readonly BatchOperation[]; result: T }
}

interface Waiting {
  readonly size: number
  readonly reads: readonly string[]
  readonly counts: string | undefined
  /** Decides, and gives what tells the caller once the operations are durable. */
  decide(
    values: readonly (string | undefined)[],
    count: number,
  ): { operations: readonly BatchOperation[]; acknowledge: () => void }
  fail(error: unknown): void
}

/** A change that has a batch for itself. */
interface WaitingAlone {
  readonly alone: true
  readonly prepared: Batch | undefined
  readonly operations: () => AsyncIterable<BatchOperation>
  readonly acknowledge: () => void
  readonly fail: (error: unknown) => void
}

/** How many changes share one fsync at the most. */
const MAX_IN_BATCH = 1000

/**
 * The only way to change the database: one fsynced batch is on its way, and what arrives meanwhile joins the next.
 * Changes are decided in the order in which they arrived, so reading and then writing a key needs no lock.
 *
 * After a rejected write nothing is acknowledged until the database has been opened again and has taken a write: see
 * recovery.ts.
 */
export class LevelWriter {
  readonly #database: LevelDatabase
  readonly #logger: Logger
  readonly #recovery: Recovery
  readonly #meter: Meter
  readonly #counts: KeyCounts
  readonly #queue: BoundedQueue<Waiting, WaitingAlone>
  readonly #closing = new AbortController()
  readonly #watches = new Set<KeyWatch>()
  #running: Promise<void> | undefined
  #recovering: Promise<void> | undefined
  /** Why no change is accepted. */
  #unavailable: StoreUnavailable | undefined

  /** @param cacheBytes of counts of keys that are remembered */
  constructor(
    database: LevelDatabase,
    logger: Logger,
    bounds?: QueueBounds,
    meter: Meter = noopMeter,
    cacheBytes = cacheShares().counts,
  ) {
    this.#database = database
    this.#logger = logger
    this.#recovery = new Recovery(database, logger)
    this.#counts = new KeyCounts(database, meter, cacheBytes)
    this.#queue = new BoundedQueue('disk', logger, { store: database.folder }, bounds)
    this.#meter = meter
    meter.gauge('queuedChanges', () => this.#queue.length)
  }

  /** Why no change is accepted at the moment. */
  get unavailableReason(): string | undefined {
    return (this.#unavailable ?? this.#damaged())?.message
  }

  /**
   * Resolves with what the change decided, once it is on disk.
   * @throws StoreUnavailable when it is not known to be there, StoreOverloaded when too much waits, and what `decide`
   *   throws
   */
  async apply<T>(change: LevelChange<T>): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      const decide: Waiting['decide'] = (values, count) => {
        const { operations, result } = change.decide(values, count)
        const acknowledge = () => {
          resolve(result)
        }
        return { operations, acknowledge }
      }
      this.#enqueue({ size: change.size, reads: change.reads, counts: change.counts, decide, fail: reject })
    })
  }

  /**
   * Makes a change of any size: its operations are read off, alone, when its turn has come, and made all or none.
   * Resolves once they are on disk.
   * @param prepared what was made ready before, to be made with them; it is used up whatever comes of it
   * @throws StoreUnavailable when they are not known to be there, StoreOverloaded when too much waits, and what
   *   `operations` throws
   */
  async applyAlone(operations: () => AsyncIterable<BatchOperation>, prepared?: Batch): Promise<void> {
    await new Promise<void>((acknowledge, fail) => {
      this.#enqueue({ alone: true, prepared, operations, acknowledge, fail })
    })
  }

  /** Begins to watch: from now on, what changes under the watch's keys is noted in it, after it is on disk. */
  watch(watch: KeyWatch): void {
    this.#watches.add(watch)
  }

  unwatch(watch: KeyWatch): void {
    this.#watches.delete(watch)
  }

  /** Refuses further changes; resolves when those that were accepted are done. */
  async close(): Promise<void> {
    this.#unavailable = new StoreUnavailable('the store is closed')
    this.#closing.abort()
    await this.#running
    await this.#recovering
  }

  #enqueue(waiting: Waiting | WaitingAlone): void {
    const refusal = this.#unavailable ?? this.#damaged()
    if (refusal) throw refusal
    this.#queue.push(waiting)
    this.#running ??= this.#run()
  }

  #damaged(): StoreFenced | undefined {
    return this.#database.files.hasDamagedTables
      ? new StoreFenced('a table of the store is damaged: it must be restored from a backup')
      : undefined
  }

  async #run(): Promise<void> {
    for (let batch = this.#queue.next(MAX_IN_BATCH); batch; batch = this.#queue.next(MAX_IN_BATCH)) {
      try {
        await (Array.isArray(batch) ? this.#write(batch) : this.#writeAlone(batch))
      } catch (cause) {
        this.#fence(cause, [batch, this.#queue.clear()].flat())
      }
    }
    this.#running = undefined
  }

  /** Refuses all after a rejected write, which may be on disk or not: what would follow it might not be recovered. */
  #fence(cause: unknown, waiting: readonly (Waiting | WaitingAlone)[]): void {
    this.#logger.error(
      { store: this.#database.folder, err: cause, waiting: waiting.length },
      'a write to the store failed: nothing is acknowledged until it is open again',
    )
    this.#meter.storeFenced()
    const fence = new StoreFenced('a write to the store failed; it is being opened again', { cause })
    this.#unavailable ??= fence
    this.#counts.clear()
    for (const watch of this.#watches) watch.invalidReason ??= fence.message
    for (const change of waiting) change.fail(fence)
    const begun = performance.now()
    this.#recovering = this.#recovery.run(this.#closing.signal).then((recovered) => {
      if (!recovered || this.#unavailable !== fence) return
      this.#unavailable = undefined
      this.#logger.warn(
        { store: this.#database.folder, ms: Math.round(performance.now() - begun) },
        'the store accepts writes again',
      )
    })
  }

  async #writeAlone({ prepared, operations, acknowledge, fail }: WaitingAlone): Promise<void> {
    const batch = prepared ?? this.#database.batch()
    const touched = new Set<KeyWatch>()
    try {
      for await (const operation of operations()) {
        batch.add(operation)
        for (const watch of this.#watches) if (watch.covers(operation.key)) touched.add(watch)
      }
    } catch (error) {
      await batch.discard()
      fail(error)
      return
    }
    await batch.write()
    this.#counts.clear()
    for (const watch of touched) watch.invalidReason ??= 'the repository was renamed or deleted meanwhile'
    acknowledge()
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const { values, counts, failures } = await this.#read(batch)
    const operations = new Map<string, BatchOperation>()
    const known = new Set<string>()
    const acknowledgements: (() => void)[] = []
    for (const waiting of batch) {
      try {
        const { reads, counts: prefix = '' } = waiting
        if (failures.size > 0) for (const key of [...reads, prefix]) if (failures.has(key)) throw failures.get(key)
        const count = counts.get(prefix) ?? 0
        const decided = waiting.decide(
          reads.map((key) => values.get(key)),
          count,
        )
        let added = 0
        for (const operation of decided.operations) {
          if (values.get(operation.key) === undefined) {
            if (operation.key.startsWith(prefix)) added++
          } else if (!operations.has(operation.key)) known.add(operation.key)
          operations.set(operation.key, operation)
          values.set(operation.key, operation.type === 'put' ? operation.value : undefined)
        }
        if (counts.has(prefix)) counts.set(prefix, count + added)
        acknowledgements.push(decided.acknowledge)
      } catch (error) {
        waiting.fail(error)
      }
    }
    if (operations.size > 0) {
      const begun = performance.now()
      await this.#database.write(operations.values(), known)
      this.#meter.batchWritten(acknowledgements.length, (performance.now() - begun) / 1000)
    }
    for (const [prefix, count] of counts) this.#counts.set(prefix, count)
    if ([...operations.values()].some(({ type, key }) => type === 'del' && !isUncounted(key))) this.#counts.clear()
    for (const watch of this.#watches)
      for (const key of operations.keys()) if (watch.covers(key)) watch.changed.add(key)
    for (const acknowledge of acknowledgements) acknowledge()
  }

  /** What a batch needs, and why some of it cannot be read: nothing but what needs that is in doubt. */
  async #read(batch: readonly Waiting[]): Promise<{
    values: Map<string, string | undefined>
    counts: Map<string, number>
    failures: Map<string, unknown>
  }> {
    const keys = [...new Set(batch.flatMap((waiting) => waiting.reads))]
    const failures = new Map<string, unknown>()
    const oneByOne = async (key: string): Promise<string | undefined> => {
      const found = await this.#database.read([key]).catch((error: unknown) => void failures.set(key, error))
      return found?.[0]
    }
    const counts = new Map<string, number>()
    const count = async (prefix: string): Promise<void> => {
      counts.set(prefix, await this.#counts.of(prefix))
    }
    const found = await this.#database.read(keys).catch(async () => await Promise.all(keys.map(oneByOne)))
    const values = new Map(keys.map((key, index) => [key, found[index]]))
    // To count is dear, and most reports replace another one; but what is there may be removed in this batch.
    const removable = new Set(batch.flatMap(({ counts: prefix, reads }) => (prefix === undefined ? reads : [])))
    const prefixes = new Set<string>()
    for (const { counts: prefix, reads } of batch)
      if (prefix !== undefined && !prefixes.has(prefix))
        for (const key of reads)
          if (key.startsWith(prefix) && (values.get(key) === undefined || removable.has(key))) prefixes.add(prefix)
    await Promise.all(
      [...prefixes].map(async (prefix) => {
        await count(prefix).catch((error: unknown) => void failures.set(prefix, error))
      }),
    )
    return { values, counts, failures }
  }
}

/** Whether keys like this are never counted: what is not a status has one. */
function isUncounted(key: string): boolean {
  return key.startsWith('!')
}
