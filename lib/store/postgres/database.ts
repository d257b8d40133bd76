import { setTimeout } from 'node:timers/promises'
import { StoreFenced, StoreUnavailable } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import type { Connection, Statement } from './connection.js'
import { ConnectionPool, STATEMENT_MILLISECONDS } from './connection-pool.js'
import { DatabaseFailure } from './database-failure.js'

/** Renaming or deleting all that a large repository has. */
const LONG_MILLISECONDS = 60_000

/** How long is tried altogether; a request waits no longer. */
const DEADLINE_MILLISECONDS = 5_000

/** The longest wait while the database is known not to do its work. */
const FAIL_FAST_MILLISECONDS = 1_000

/** Pauses between two attempts: each is twice as long as the one before, up to the longest, and cut at random. */
const FIRST_PAUSE_MILLISECONDS = 20
const LONGEST_PAUSE_MILLISECONDS = 500

export interface RetryPolicy {
  /** How long to go on trying. */
  readonly milliseconds?: number
  /** How long a statement may take. */
  readonly statementMilliseconds?: number
  /** Forbids to send it again when it may have been done: a change of somebody else may have followed it. */
  readonly once?: boolean
}

/** What was there at one moment. */
export interface Snapshot {
  /** @throws StoreUnavailable */
  readonly query: <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>
  /** Harmless when it is closed already. */
  readonly close: () => void
}

/**
 * A database that speaks PostgreSQL's protocol. Every wait has an end, and what may succeed at another try is tried
 * again.
 */
export class PostgresDatabase {
  readonly #pool: ConnectionPool
  #running = 0
  #keptOpen = 0
  #whenIdle: (() => void) | undefined
  #closed = false

  /** Set while the database is known not to do its work, which has been logged: then one short try is enough. */
  failFast = false

  /** @param url of a database, as `pg` takes it */
  constructor(url: string, logger: Logger) {
    this.#pool = new ConnectionPool(url, logger)
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /**
   * Does a piece of work on a connection, from its start again where that may help. It throws nothing but what the
   * connection throws, and has no effects besides those in the database.
   * @throws StoreUnavailable; DatabaseFailure for values that the database does not take
   */
  async run<T>(
    work: (connection: Connection) => Promise<T>,
    {
      milliseconds = DEADLINE_MILLISECONDS,
      statementMilliseconds: statement = STATEMENT_MILLISECONDS,
      once = false,
    }: RetryPolicy = {},
  ): Promise<T> {
    if (this.#closed && this.#keptOpen === 0) throw new StoreUnavailable('the store is closed')
    this.#running++
    try {
      const maxMilliseconds = this.failFast ? FAIL_FAST_MILLISECONDS : Infinity
      return await this.#retry(work, {
        milliseconds: Math.min(milliseconds, maxMilliseconds),
        statementMilliseconds: Math.min(statement, maxMilliseconds),
        once,
      })
    } catch (error) {
      throw this.#inStoreWords(error)
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      this.#ended()
    }
  }

  /**
   * Does what will need a connection, but not at once: closing waits for it.
   * @throws StoreUnavailable when it is closed, and what `work` throws
   */
  async keepingOpen<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    this.#keptOpen++
    this.#running++
    try {
      return await work()
    } finally {
      this.#keptOpen--
      this.#ended()
    }
  }

  /** The rows of one statement that may be sent twice. */
  async query<Row>(statement: Statement, values: readonly unknown[], patience?: RetryPolicy): Promise<Row[]> {
    return await this.run(async (connection) => await connection.query<Row>(statement, values), patience)
  }

  /** How many rows one statement changed that may be sent twice. */
  async change(statement: Statement, values: readonly unknown[], patience?: RetryPolicy): Promise<number> {
    return await this.run(async (connection) => await connection.change(statement, values), patience)
  }

  /** Does several statements that may take long, in a transaction that sees one moment: all or none. */
  async transaction(work: (connection: Connection) => Promise<void>): Promise<void> {
    await this.run(
      async (connection) => {
        await connection.command('BEGIN ISOLATION LEVEL REPEATABLE READ')
        await connection.command(`SET LOCAL statement_timeout = ${LONG_MILLISECONDS}`)
        await work(connection)
        await connection.command('COMMIT')
      },
      { milliseconds: LONG_MILLISECONDS, statementMilliseconds: LONG_MILLISECONDS, once: true },
    )
  }

  /**
   * Begins to read what is there at the first statement, over a connection of its own: each statement has its end, and
   * all of them together have none, however slowly they are asked for. To be closed.
   * @throws StoreUnavailable
   */
  async snapshot(): Promise<Snapshot> {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    const inStoreWords = (error: unknown): never => {
      throw this.#inStoreWords(error)
    }
    const { connection, close } = await this.#pool
      .dedicated('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', LONG_MILLISECONDS)
      .catch(inStoreWords)
    return {
      query: async (statement, values) => await connection.query<never>(statement, values).catch(inStoreWords),
      close,
    }
  }

  /** Waits for what is running, and lets go of all connections. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await this.#pool.close()
  }

  async #retry<T>(
    work: (connection: Connection) => Promise<T>,
    patience: Required<RetryPolicy>,
    end = performance.now() + patience.milliseconds,
    attempt = 0,
  ): Promise<T> {
    let pause = 0
    try {
      return await this.#pool.use(work, patience.statementMilliseconds)
    } catch (error) {
      pause = Math.min(FIRST_PAUSE_MILLISECONDS * 2 ** attempt, LONGEST_PAUSE_MILLISECONDS) * (0.5 + Math.random() / 2)
      if (
        !(error instanceof DatabaseFailure) ||
        !error.classification.retryable ||
        (patience.once && error.classification.outcomeUnknown) ||
        performance.now() + pause > end
      )
        throw error
    }
    await setTimeout(pause)
    return await this.#retry(work, patience, end, attempt + 1)
  }

  #ended(): void {
    this.#running--
    if (this.#running === 0) this.#whenIdle?.()
  }

  #inStoreWords(error: unknown): unknown {
    if (!(error instanceof DatabaseFailure) || error.isOfData) return error
    const Kind = this.failFast ? StoreFenced : StoreUnavailable
    return new Kind(`the database cannot be used: ${error.message}`, { cause: error })
  }
}
