import type { Logger } from '../../logger.js'
import { idleMeter, type Meter } from '../../meter.js'
import { QUEUE_BOUNDS, type QueueBounds } from '../queue-bounds.js'
import { StoreFenced, StoreOverloaded, StoreUnavailable } from '../store.js'
import type { Batch, Database, Operation } from './database.js'
import { Recovery } from './recovery.js'
import type { Watch } from './watch.js'

/** A change that is decided when its turn has come, from what the database holds then. */
export interface Change<T> {
  /** About how many characters the change will write. */
  readonly size: number
  /** The keys whose values the decision needs. */
  readonly reads: readonly string[]
  /** Decides. `values` are those of `reads`, every earlier change included. */
  decide(values: readonly (string | undefined)[]): { operations: readonly Operation[]; result: T }
}

interface Waiting {
  readonly size: number
  readonly reads: readonly string[]
  /** Decides, and gives what tells the caller once the operations are durable. */
  decide(values: readonly (string | undefined)[]): { operations: readonly Operation[]; acknowledge: () => void }
  fail(error: unknown): void
}

/** A change that has a batch for itself. */
interface WaitingAlone {
  readonly size: 0
  readonly prepared: Batch | undefined
  readonly operations: () => AsyncIterable<Operation>
  readonly acknowledge: () => void
  readonly fail: (error: unknown) => void
}

/** How many changes share one fsync at the most. */
const MOST_IN_BATCH = 1000

/**
 * The only way to change the database: one fsynced batch is on its way, and what arrives meanwhile joins the next.
 * Changes are decided in the order in which they arrived, so reading and then writing a key needs no lock.
 *
 * After a rejected write nothing is acknowledged until the database has been opened again and has taken a write: see
 * recovery.ts.
 */
export class Writer {
  readonly #database: Database
  readonly #logger: Logger
  readonly #recovery: Recovery
  readonly #bounds: QueueBounds
  readonly #meter: Meter
  readonly #queue: (Waiting | WaitingAlone)[] = []
  readonly #closing = new AbortController()
  readonly #watches = new Set<Watch>()
  #waitingSize = 0
  #overloaded = false
  #running: Promise<void> | undefined
  #recovering: Promise<void> | undefined
  /** Why no change is accepted. */
  #refusal: StoreUnavailable | undefined

  constructor(database: Database, logger: Logger, bounds: QueueBounds = QUEUE_BOUNDS, meter: Meter = idleMeter) {
    this.#database = database
    this.#logger = logger
    this.#recovery = new Recovery(database, logger)
    this.#bounds = bounds
    this.#meter = meter
    meter.gauge('queuedChanges', () => this.#queue.length)
  }

  /** Why no change is accepted at the moment. */
  get trouble(): string | undefined {
    return (this.#refusal ?? this.#damaged())?.message
  }

  /**
   * Resolves with what the change decided, once it is on disk.
   * @throws StoreUnavailable when it is not known to be there, StoreOverloaded when too much waits, and what `decide` throws
   */
  async apply<T>(change: Change<T>): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      const decide: Waiting['decide'] = (values) => {
        const { operations, result } = change.decide(values)
        const acknowledge = () => {
          resolve(result)
        }
        return { operations, acknowledge }
      }
      this.#enqueue({ size: change.size, reads: change.reads, decide, fail: reject })
    })
  }

  /**
   * Makes a change of any size: its operations are read off, alone, when its turn has come, and made all or none.
   * Resolves once they are on disk.
   * @param prepared what was made ready before, to be made with them; it is used up whatever comes of it
   * @throws StoreUnavailable when they are not known to be there, StoreOverloaded when too much waits, and what
   *   `operations` throws
   */
  async applyAlone(operations: () => AsyncIterable<Operation>, prepared?: Batch): Promise<void> {
    await new Promise<void>((acknowledge, fail) => {
      this.#enqueue({ size: 0, prepared, operations, acknowledge, fail })
    })
  }

  /** Begins to watch: from now on, what changes under the watch's keys is noted in it, after it is on disk. */
  watch(watch: Watch): void {
    this.#watches.add(watch)
  }

  unwatch(watch: Watch): void {
    this.#watches.delete(watch)
  }

  /** Refuses further changes; resolves when those that were accepted are done. */
  async close(): Promise<void> {
    this.#refusal = new StoreUnavailable('the store is closed')
    this.#closing.abort()
    await this.#running
    await this.#recovering
  }

  #enqueue(waiting: Waiting | WaitingAlone): void {
    const refusal = this.#refusal ?? this.#damaged()
    if (refusal) throw refusal
    const { changes, size } = this.#bounds
    if (this.#queue.length >= changes || this.#waitingSize + waiting.size > size) {
      if (!this.#overloaded) this.#logger.warn({ store: this.#database.folder, waiting: this.#queue.length }, 'too many changes wait for the disk: more are refused')
      this.#overloaded = true
      throw new StoreOverloaded('too many changes wait for the disk')
    }
    this.#queue.push(waiting)
    this.#waitingSize += waiting.size
    this.#running ??= this.#run()
  }

  #damaged(): StoreFenced | undefined {
    return this.#database.hasDamagedTables ? new StoreFenced('a table of the store is damaged: it must be restored from a backup') : undefined
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#next()
      try {
        await (Array.isArray(batch) ? this.#write(batch) : this.#writeAlone(batch))
      } catch (cause) {
        this.#fence(cause, [batch, this.#queue.splice(0)].flat())
      }
    }
    this.#running = undefined
    this.#overloaded = false
  }

  /** From a rejected write on: whether it is on disk nobody knows, and what would follow it might not be recovered. */
  #fence(cause: unknown, waiting: readonly (Waiting | WaitingAlone)[]): void {
    this.#logger.error({ store: this.#database.folder, err: cause, waiting: waiting.length }, 'a write to the store failed: nothing is acknowledged until it is open again')
    this.#meter.storeFenced()
    const fence = new StoreFenced('a write to the store failed; it is being opened again', { cause })
    this.#refusal ??= fence
    this.#waitingSize = 0
    for (const watch of this.#watches) watch.voidance ??= fence.message
    for (const change of waiting) change.fail(fence)
    const begun = performance.now()
    this.#recovering = this.#recovery.run(this.#closing.signal).then((recovered) => {
      if (!recovered || this.#refusal !== fence) return
      this.#refusal = undefined
      this.#logger.warn({ store: this.#database.folder, ms: Math.round(performance.now() - begun) }, 'the store accepts writes again')
    })
  }

  /** As many changes as may share a batch, or one that may not. */
  #next(): Waiting[] | WaitingAlone {
    const batch: Waiting[] = []
    for (const waiting of this.#queue.slice(0, MOST_IN_BATCH)) {
      if ('reads' in waiting) batch.push(waiting)
      else if (batch.length > 0) break
      else {
        this.#queue.shift()
        return waiting
      }
    }
    for (const { size } of this.#queue.splice(0, batch.length)) this.#waitingSize -= size
    return batch
  }

  async #writeAlone({ prepared, operations, acknowledge, fail }: WaitingAlone): Promise<void> {
    const batch = prepared ?? this.#database.batch()
    const touched = new Set<Watch>()
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
    for (const watch of touched) watch.voidance ??= 'the repository was renamed or deleted meanwhile'
    acknowledge()
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const { values, failures } = await this.#read(batch)
    const operations = new Map<string, Operation>()
    const acknowledgements: (() => void)[] = []
    for (const waiting of batch) {
      try {
        for (const key of waiting.reads) if (failures.has(key)) throw failures.get(key)
        const decided = waiting.decide(waiting.reads.map((key) => values.get(key)))
        for (const operation of decided.operations) {
          operations.set(operation.key, operation)
          values.set(operation.key, operation.type === 'put' ? operation.value : undefined)
        }
        acknowledgements.push(decided.acknowledge)
      } catch (error) {
        waiting.fail(error)
      }
    }
    if (operations.size > 0) {
      const begun = performance.now()
      await this.#database.write([...operations.values()])
      this.#meter.batchWritten(acknowledgements.length, (performance.now() - begun) / 1000)
    }
    for (const watch of this.#watches) for (const key of operations.keys()) if (watch.covers(key)) watch.changed.add(key)
    for (const acknowledge of acknowledgements) acknowledge()
  }

  /** What the keys of a batch hold, and why some cannot be read: nothing but what needs those is in doubt. */
  async #read(batch: readonly Waiting[]): Promise<{ values: Map<string, string | undefined>; failures: Map<string, unknown> }> {
    const keys = [...new Set(batch.flatMap((waiting) => waiting.reads))]
    const failures = new Map<string, unknown>()
    const oneByOne = async (key: string): Promise<string | undefined> => {
      const found = await this.#database.read([key]).catch((error: unknown) => void failures.set(key, error))
      return found?.[0]
    }
    const found = await this.#database.read(keys).catch(async () => await Promise.all(keys.map(oneByOne)))
    return { values: new Map(keys.map((key, index) => [key, found[index]])), failures }
  }
}
