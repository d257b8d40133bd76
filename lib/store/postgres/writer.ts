import { StoreOverloaded, StoreUnavailable } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import { QUEUE_BOUNDS, type QueueBounds } from '../bounded-queue.js'
import { DatabaseFailure } from './database-failure.js'

/** A change that shares a statement with others, but never with one of the same key. */
export interface RowChange<T> {
  readonly key: string
  /** About how many characters it will write. */
  readonly size: number
  readonly row: T
}

interface Waiting<T, R> extends RowChange<T> {
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

interface WaitingAlone {
  readonly size: 0
  readonly alone: () => Promise<void>
}

/** How many changes share a statement at most. */
const MAX_IN_STATEMENT = 1000

/** Statements on their way at once: while one commits, the next is worked on. */
const MAX_STATEMENTS = 2

/**
 * The way to change the database: a few statements are on their way, and what arrives meanwhile joins the next. Changes
 * of one key are made in the order of the calls, and one that is made alone comes after all before it and before all
 * after it.
 */
export class PostgresWriter<T, R> {
  readonly #send: (rows: readonly T[]) => Promise<(R | Error)[]>
  readonly #logger: Logger
  readonly #bounds: QueueBounds
  #queue: (Waiting<T, R> | WaitingAlone)[] = []
  readonly #busy = new Set<string>()
  #waitingSize = 0
  #statements = 0
  #isAlone = false
  #scheduled = false
  #overloaded = false
  #closed = false
  #whenIdle: (() => void) | undefined

  /**
   * @param send makes changes of different keys in one statement; gives the result of each row, or why it was not
   *   changed, in their order
   */
  constructor(
    send: (rows: readonly T[]) => Promise<(R | Error)[]>,
    logger: Logger,
    bounds: QueueBounds = QUEUE_BOUNDS,
  ) {
    this.#send = send
    this.#logger = logger
    this.#bounds = bounds
  }

  /** How many changes wait for their turn. */
  get waiting(): number {
    return this.#queue.length
  }

  /** @throws StoreOverloaded when too much waits, StoreUnavailable when closed, and what `send` throws */
  async apply(change: RowChange<T>): Promise<R> {
    return await new Promise<R>((resolve, reject) => {
      this.#enqueue({ ...change, resolve, reject })
    })
  }

  /** Does something while no other change is under way. Throws as `apply`, and what `work` throws. */
  async applyAlone<A>(work: () => Promise<A>): Promise<A> {
    return await new Promise<A>((resolve, reject) => {
      this.#enqueue({ size: 0, alone: async () => await work().then(resolve, reject) })
    })
  }

  /** Refuses further changes; resolves when those that were accepted are done. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#queue.length > 0 || this.#statements > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }

  #enqueue(waiting: Waiting<T, R> | WaitingAlone): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    const { changes, size } = this.#bounds
    if (this.#queue.length >= changes || this.#waitingSize + waiting.size > size) {
      if (!this.#overloaded)
        this.#logger.warn({ waiting: this.#queue.length }, 'too many changes wait for the database: more are refused')
      this.#overloaded = true
      throw new StoreOverloaded('too many changes wait for the database')
    }
    this.#queue.push(waiting)
    this.#waitingSize += waiting.size
    // Not at once: what arrives in the same turn goes together.
    if (!this.#scheduled) setImmediate(() => this.#begin())
    this.#scheduled = true
  }

  #begin(): void {
    this.#scheduled = false
    while (this.#statements < MAX_STATEMENTS && !this.#isAlone) {
      const next = this.#next()
      if (!next) break
      this.#statements++
      const work = Array.isArray(next) ? this.#write(next) : next.alone()
      void work.then(() => {
        this.#statements--
        this.#isAlone = false
        this.#begin()
      })
    }
    if (this.#queue.length > 0 || this.#statements > 0) return
    this.#overloaded = false
    this.#whenIdle?.()
  }

  /** As many changes as may share a statement, or one that is made alone; `undefined` when all must wait. */
  #next(): Waiting<T, R>[] | WaitingAlone | undefined {
    const [first] = this.#queue
    if (first && 'alone' in first) {
      if (this.#statements > 0) return undefined
      this.#queue.shift()
      this.#isAlone = true
      return first
    }
    const batch: Waiting<T, R>[] = []
    const skipped: (Waiting<T, R> | WaitingAlone)[] = []
    let seen = 0
    for (const waiting of this.#queue.slice(0, MAX_IN_STATEMENT)) {
      if ('alone' in waiting) break
      seen++
      if (this.#busy.has(waiting.key)) skipped.push(waiting)
      else batch.push(waiting)
      this.#busy.add(waiting.key)
    }
    if (batch.length === 0) return undefined
    this.#queue = [...skipped, ...this.#queue.slice(seen)]
    for (const { size } of batch) this.#waitingSize -= size
    return batch
  }

  async #write(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const results = await this.#send(batch.map(({ row }) => row))
      for (const [index, result] of results.entries()) {
        if (result instanceof Error) batch[index]?.reject(result)
        else batch[index]?.resolve(result)
      }
    } catch (error) {
      // One that the database does not take must not cost the others.
      if (batch.length > 1 && error instanceof DatabaseFailure) for (const each of batch) await this.#write([each])
      else for (const { reject } of batch) reject(error)
    }
    for (const { key } of batch) this.#busy.delete(key)
  }
}
