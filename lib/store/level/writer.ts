import { StoreUnavailable } from '../store.js'
import type { Database, Operation } from './database.js'

/** A change that is decided when its turn has come, from what the database holds then. */
export interface Change<T> {
  /** The keys whose values the decision needs. */
  readonly reads: readonly string[]
  /** Decides. `values` are those of `reads`, every earlier change included. */
  decide(values: readonly (string | undefined)[]): { operations: readonly Operation[]; result: T }
}

interface Waiting {
  readonly reads: readonly string[]
  /** Decides, and gives what tells the caller once the operations are durable. */
  decide(values: readonly (string | undefined)[]): { operations: readonly Operation[]; acknowledge: () => void }
  fail(error: unknown): void
}

/** A change that has a batch for itself. */
interface WaitingAlone {
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
 * After a rejected write nothing is acknowledged any more: LevelDB would go on, into a log whose tail it cannot
 * recover.
 */
export class Writer {
  readonly #database: Database
  readonly #queue: (Waiting | WaitingAlone)[] = []
  #running: Promise<void> | undefined
  #closed: StoreUnavailable | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Why no change is accepted any more. */
  get trouble(): string | undefined {
    return this.#closed?.message
  }

  /**
   * Resolves with what the change decided, once it is on disk.
   * @throws StoreUnavailable when it is not known to be there, and what `decide` throws
   */
  apply<T>(change: Change<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed)
    return new Promise<T>((resolve, reject) => {
      const decide: Waiting['decide'] = (values) => {
        const { operations, result } = change.decide(values)
        const acknowledge = () => {
          resolve(result)
        }
        return { operations, acknowledge }
      }
      this.#queue.push({ reads: change.reads, decide, fail: reject })
      this.#running ??= this.#run()
    })
  }

  /**
   * Makes a change of any size: its operations are read off, alone, when its turn has come, and made all or none.
   * Resolves once they are on disk.
   * @throws StoreUnavailable when they are not known to be there, and what `operations` throws
   */
  applyAlone(operations: () => AsyncIterable<Operation>): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed)
    return new Promise<void>((acknowledge, fail) => {
      this.#queue.push({ operations, acknowledge, fail })
      this.#running ??= this.#run()
    })
  }

  /** Refuses further changes; resolves when those that were accepted are done. */
  async close(): Promise<void> {
    this.#closed ??= new StoreUnavailable('the store is closed')
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#next()
      try {
        await (Array.isArray(batch) ? this.#write(batch) : this.#writeAlone(batch))
      } catch (cause) {
        const failed = new StoreUnavailable('a write to the store failed; it must be opened again', { cause })
        this.#closed = failed
        for (const waiting of [batch, this.#queue.splice(0)].flat()) waiting.fail(failed)
      }
    }
    this.#running = undefined
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
    this.#queue.splice(0, batch.length)
    return batch
  }

  async #writeAlone({ operations, acknowledge, fail }: WaitingAlone): Promise<void> {
    const batch = this.#database.batch()
    try {
      for await (const operation of operations()) batch.add(operation)
    } catch (error) {
      await batch.discard()
      fail(error)
      return
    }
    await batch.write()
    acknowledge()
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const values = await this.#read(batch).catch((error: unknown) => {
      // Nothing has been written, so nothing but these changes is in doubt.
      for (const waiting of batch) waiting.fail(error)
    })
    if (!values) return
    const operations = new Map<string, Operation>()
    const acknowledgements: (() => void)[] = []
    for (const waiting of batch) {
      try {
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
    if (operations.size > 0) await this.#database.write([...operations.values()])
    for (const acknowledge of acknowledgements) acknowledge()
  }

  async #read(batch: readonly Waiting[]): Promise<Map<string, string | undefined>> {
    const keys = [...new Set(batch.flatMap((waiting) => waiting.reads))]
    const found = keys.length > 0 ? await this.#database.read(keys) : []
    return new Map(keys.map((key, index) => [key, found[index]]))
  }
}
