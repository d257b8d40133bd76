import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { StoreFenced, StoreUnavailable } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import { Connection, type Statement } from './connection.js'
import { DatabaseFailure } from './database-failure.js'

/** Connections of one instance at most. */
export const MAX_CONNECTIONS = 10

/** How long a statement may take, here and at the server. */
export const STATEMENT_MILLISECONDS = 3_000

/** Renaming or deleting all that a large repository has. */
const LONG_MILLISECONDS = 60_000

/** How long is tried altogether; a request waits no longer. */
const DEADLINE_MILLISECONDS = 5_000

/** As long as nobody answers, asking takes no longer than this. */
const FAIL_FAST_MILLISECONDS = 1_000

const CONNECT_MILLISECONDS = 2_000
const IDLE_MILLISECONDS = 30_000

/** From the first pause between two attempts on each is twice as long, up to the longest; each is cut at random. */
const FIRST_PAUSE_MILLISECONDS = 20
const LONGEST_PAUSE_MILLISECONDS = 500

/** How long connections may take to say good-bye. */
const CLOSE_MILLISECONDS = 1_000

const HANDSHAKE = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
  current_setting('transaction_read_only') AS
  read_only`

/** What is known of a connection. */
interface State {
  offset: number
  readOnly: boolean
}

export interface RetryPolicy {
  /** How long to go on trying. */
  readonly milliseconds?: number
  /** How long a statement may take. */
  readonly statementMilliseconds?: number
  /** Not to be sent again when it may have been done: something of somebody else's may have followed it. */
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
 * The connections to a database that speaks PostgreSQL's protocol; the one place where `pg` is used. Every wait has an
 * end, what may succeed at another try is tried again, and a server that only reads is none.
 */
export class PostgresDatabase {
  readonly #config: pg.PoolConfig
  readonly #logger: Logger
  readonly #states = new WeakMap<pg.ClientBase, State>()
  readonly #clients = new Set<pg.Client>()
  readonly #snapshots = new Set<pg.Client>()
  readonly #pools = new Set<Promise<void>>()
  #pool: pg.Pool
  #running = 0
  #keptOpen = 0
  #whenIdle: (() => void) | undefined
  #closed = false

  /** Set while the database is known not to do its work, which has been logged: then one short try is enough. */
  failFast = false

  /** @param url of a database, as `pg` takes it */
  constructor(url: string, logger: Logger) {
    this.#logger = logger
    this.#config = {
      connectionString: url,
      application_name: 'commit-status',
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_MILLISECONDS,
      idleTimeoutMillis: IDLE_MILLISECONDS,
      statement_timeout: STATEMENT_MILLISECONDS,
      query_timeout: STATEMENT_MILLISECONDS,
      idle_in_transaction_session_timeout: LONG_MILLISECONDS,
      keepAlive: true,
      keepAliveInitialDelayMillis: IDLE_MILLISECONDS,
    }
    this.#pool = this.#newPool()
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
      const most = this.failFast ? FAIL_FAST_MILLISECONDS : Infinity
      return await this.#retry(work, {
        milliseconds: Math.min(milliseconds, most),
        statementMilliseconds: Math.min(statement, most),
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
    const client = new pg.Client({
      ...this.#config,
      statement_timeout: LONG_MILLISECONDS,
      idle_in_transaction_session_timeout: 0,
    })
    this.#snapshots.add(client)
    client.on('error', () => undefined)
    const close = (): void => {
      this.#snapshots.delete(client)
      void client.end().catch(() => undefined)
    }
    const inStoreWords = (error: unknown): never => {
      throw this.#inStoreWords(error)
    }
    try {
      await client.connect().catch((cause: unknown) => {
        throw DatabaseFailure.of(cause, false)
      })
      const connection = new Connection(client, await this.#handshake(client), LONG_MILLISECONDS)
      await connection.command('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      return {
        query: async (statement, values) => await connection.query<never>(statement, values).catch(inStoreWords),
        close,
      }
    } catch (error) {
      close()
      return inStoreWords(error)
    }
  }

  /** Waits for what is running, and lets go of all connections. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    this.#discard(this.#pool)
    const ends = [...this.#snapshots].map((client) => client.end())
    const late = new AbortController()
    await Promise.race([
      Promise.allSettled([...this.#pools, ...ends]),
      setTimeout(CLOSE_MILLISECONDS, undefined, late).catch(() => undefined),
    ])
    late.abort()
    for (const client of [...this.#clients, ...this.#snapshots]) client.connection.stream.destroy()
  }

  async #retry<T>(
    work: (connection: Connection) => Promise<T>,
    patience: Required<RetryPolicy>,
    end = performance.now() + patience.milliseconds,
    attempt = 0,
  ): Promise<T> {
    let pause = 0
    try {
      return await this.#attempt(work, patience.statementMilliseconds)
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

  async #attempt<T>(work: (connection: Connection) => Promise<T>, milliseconds: number): Promise<T> {
    const pool = this.#pool
    let client: pg.PoolClient | undefined
    try {
      client = await this.#checkOut(pool)
      const result = await work(new Connection(client, this.#stateOf(client), milliseconds))
      client.release()
      return result
    } catch (error) {
      // In the middle of something: a new one is sure to be in no transaction.
      client?.release(true)
      if (error instanceof DatabaseFailure && error.classification.resetPool && pool === this.#pool) {
        this.#pool = this.#newPool()
        this.#discard(pool)
      }
      throw error
    }
  }

  async #checkOut(pool: pg.Pool): Promise<pg.PoolClient> {
    try {
      return await pool.connect()
    } catch (cause) {
      throw DatabaseFailure.of(cause, false)
    }
  }

  #newPool(): pg.Pool {
    const pool = new pg.Pool({
      ...this.#config,
      verify: (client, done) => {
        this.#handshake(client).then(() => done(), done)
      },
    })
    pool.on('connect', (client) => {
      this.#clients.add(client)
      // An error without a listener would end the process. Whoever uses the client is told by its query.
      client.on('error', () => undefined)
    })
    pool.on('remove', (client) => this.#clients.delete(client))
    pool.on('error', ({ message }) => {
      this.#logger.debug({ reason: message }, 'an idle connection to the database broke')
    })
    return pool
  }

  /** Its idle connections end now, and those in use when they are given back. */
  #discard(pool: pg.Pool): void {
    const ended = pool.end()
    this.#pools.add(ended)
    void ended.finally(() => this.#pools.delete(ended))
  }

  /** @throws DatabaseFailure for a server that takes no writes: what it shows may be old */
  async #handshake(client: pg.Client): Promise<State> {
    const state: State = { offset: 0, readOnly: false }
    // Since PostgreSQL 14 a server says so when it becomes one that only reads, before the end of the next answer.
    client.connection.on(
      'parameterStatus',
      ({ parameterName, parameterValue }: { parameterName: string; parameterValue: string }) => {
        if (/^(?:default_transaction_read_only|in_hot_standby)$/.test(parameterName))
          state.readOnly ||= parameterValue === 'on'
      },
    )
    const [row] = await new Connection(client, state, CONNECT_MILLISECONDS).query<{ now: number; read_only: string }>(
      { name: 'greeting', text: HANDSHAKE },
      [],
    )
    if (row?.read_only !== 'off') throw DatabaseFailure.readOnly()
    state.offset = row.now - performance.now()
    this.#states.set(client, state)
    return state
  }

  #stateOf(client: pg.ClientBase): State {
    const state = this.#states.get(client)
    /* c8 ignore next -- nobody gets a connection that has not been greeted */
    if (!state) throw new Error('a connection without a greeting')
    return state
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
