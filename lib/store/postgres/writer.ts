import { StoreUnavailable } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import { BoundedQueue, type Backlog, type QueueBounds } from '../bounded-queue.js'
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
  readonly #queue: BoundedQueue<Waiting<T, R>, WaitingAlone>
  readonly #busy = new Set<string>()
  #statements = 0
  #isAlone = false
  #scheduled = false
  #closed = false
  #whenIdle: (() => void) | undefined

  /**
   * @param send makes changes of different keys in one statement; gives the result of each row, or why it was not
   *   changed, in their order
   * @param backlog of all writers that share the bounds
   */
  constructor(
    send: (rows: readonly T[]) => Promise<(R | Error)[]>,
    logger: Logger,
    bounds?: QueueBounds,
    backlog?: Backlog,
  ) {
    this.#send = send
    this.#queue = new BoundedQueue('database', logger, {}, bounds, backlog)
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
      this.#enqueue({ alone: async () => await work().then(resolve, reject) })
    })
  }

  /** Refuses further changes; resolves when those that were accepted are done. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#queue.length > 0 || this.#statements > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }

  #enqueue(waiting: Waiting<T, R> | WaitingAlone): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    this.#queue.push(waiting)
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
    this.#whenIdle?.()
  }

  /** Takes as many changes as may share a statement, or one that is made alone; `undefined` when all must wait. */
  #next(): Waiting<T, R>[] | WaitingAlone | undefined {
    if (this.#queue.isAloneNext && this.#statements > 0) return undefined
    const next = this.#queue.next(MAX_IN_STATEMENT, ({ key }) => {
      if (this.#busy.has(key)) return false
      this.#busy.add(key)
      return true
    })
    this.#isAlone = next !== undefined && !Array.isArray(next)
    return next
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
