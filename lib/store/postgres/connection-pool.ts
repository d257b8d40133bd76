import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { StoreFenced } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import { Connection, type ConnectionState } from './connection.js'
import { DatabaseFailure } from './database-failure.js'

/** Connections of one instance at most. */
const MAX_CONNECTIONS = 10

/** How long a statement may take, here and at the server. */
export const STATEMENT_MILLISECONDS = 3_000

const CONNECT_MILLISECONDS = 2_000
const IDLE_MILLISECONDS = 30_000

/** How long a connection may lie idle within a transaction. */
const IDLE_IN_TRANSACTION_MILLISECONDS = 60_000

/** How long connections may take to say good-bye. */
const CLOSE_MILLISECONDS = 1_000

const HANDSHAKE = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
  current_setting('transaction_read_only') AS read_only`

/**
 * The connections to a database; the one place where `pg` is used. Those that may be as bad as one that failed are
 * replaced, and a server that only reads is none.
 */
export class ConnectionPool {
  readonly #config: pg.PoolConfig
  readonly #logger: Logger
  readonly #states = new WeakMap<pg.ClientBase, ConnectionState>()
  readonly #clients = new Set<pg.Client>()
  readonly #dedicated = new Set<pg.Client>()
  readonly #pools = new Set<Promise<void>>()
  #pool: pg.Pool

  /**
   * @param url of a database, as `pg` takes it
   * @param statementMilliseconds after which the server ends a statement
   */
  constructor(url: string, logger: Logger, statementMilliseconds = STATEMENT_MILLISECONDS) {
    this.#logger = logger
    this.#config = {
      connectionString: url,
      application_name: 'commit-status',
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_MILLISECONDS,
      idleTimeoutMillis: IDLE_MILLISECONDS,
      statement_timeout: statementMilliseconds,
      query_timeout: STATEMENT_MILLISECONDS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MILLISECONDS,
      keepAlive: true,
      keepAliveInitialDelayMillis: IDLE_MILLISECONDS,
    }
    this.#pool = this.#newPool()
  }

  /**
   * Does a piece of work on a connection; StoreFenced is thrown by none that has begun.
   * @param milliseconds how long each statement may take
   */
  async use<T>(work: (connection: Connection) => Promise<T>, milliseconds: number): Promise<T> {
    const pool = this.#pool
    let client: pg.PoolClient | undefined
    try {
      client = await this.#checkOut(pool)
      const result = await work(new Connection(client, this.#stateOf(client), milliseconds))
      client.release()
      return result
    } catch (error) {
      // In the middle of something: a new one is sure to be in no transaction.
      client?.release(!(error instanceof StoreFenced))
      if (error instanceof DatabaseFailure && error.classification.resetPool && pool === this.#pool) {
        this.#pool = this.#newPool()
        this.#discard(pool)
      }
      throw error
    }
  }

  /**
   * Opens a connection that nobody shares, whose transaction may last as long as it likes. To be closed; to do so again
   * is harmless.
   * @param begin the statement that begins the transaction
   */
  async dedicated(begin: string, milliseconds: number): Promise<{ connection: Connection; close: () => void }> {
    const client = new pg.Client({
      ...this.#config,
      statement_timeout: milliseconds,
      idle_in_transaction_session_timeout: 0,
    })
    this.#dedicated.add(client)
    client.on('error', () => undefined)
    const close = (): void => {
      this.#dedicated.delete(client)
      void client.end().catch(() => undefined)
    }
    try {
      await client.connect().catch((cause: unknown) => {
        throw DatabaseFailure.of(cause, false)
      })
      const connection = new Connection(client, await this.#handshake(client), milliseconds)
      await connection.command(begin)
      return { connection, close }
    } catch (error) {
      close()
      throw error
    }
  }

  /** Lets go of all connections, those in use included when they take too long. */
  async close(): Promise<void> {
    this.#discard(this.#pool)
    const ends = [...this.#dedicated].map((client) => client.end())
    const late = new AbortController()
    await Promise.race([
      Promise.allSettled([...this.#pools, ...ends]),
      setTimeout(CLOSE_MILLISECONDS, undefined, late).catch(() => undefined),
    ])
    late.abort()
    for (const client of [...this.#clients, ...this.#dedicated]) client.connection.stream.destroy()
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
  async #handshake(client: pg.Client): Promise<ConnectionState> {
    const state: ConnectionState = { offset: 0, readOnly: false, warnings: [] }
    client.on('notice', ({ severity, message }) => {
      if (severity === 'WARNING') state.warnings.splice(0, 1, String(message))
    })
    // Since PostgreSQL 14 a server says so when it becomes one that only reads, before the end of the next answer.
    client.connection.on(
      'parameterStatus',
      ({ parameterName, parameterValue }: { parameterName: string; parameterValue: string }) => {
        if (/^(?:default_transaction_read_only|in_hot_standby)$/.test(parameterName))
          state.readOnly ||= parameterValue === 'on'
      },
    )
    const [row] = await new Connection(client, state, CONNECT_MILLISECONDS).query<{ now: number; read_only: string }>(
      { name: 'handshake', text: HANDSHAKE },
      [],
    )
    if (row?.read_only !== 'off') throw DatabaseFailure.readOnly()
    state.offset = row.now - performance.now()
    this.#states.set(client, state)
    return state
  }

  #stateOf(client: pg.ClientBase): ConnectionState {
    const state = this.#states.get(client)
    /* c8 ignore next -- nobody gets a connection without a handshake */
    if (!state) throw new Error('a connection without a handshake')
    return state
  }
}
