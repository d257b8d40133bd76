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

/** How long a statement may take at a server that asks others: it says itself that they do not answer. */
const SHARD_MILLISECONDS = STATEMENT_MILLISECONDS - 1_000

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
  /** Whose statuses are meant, as `repositoryText` writes them. */
  readonly repositories?: readonly string[]
}

/** Knows where the statuses of a repository cannot be read or changed at the moment. */
export interface ShardGuard {
  /** Rejects with StoreFenced where that is so for one of them; `undefined` where all is well. */
  check(repositories: readonly string[]): Promise<void> | undefined
  /** To be called when that has failed, for whatever reason. */
  failed(repositories: readonly string[]): void
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
  readonly #guard: ShardGuard | undefined
  #running = 0
  #keptOpen = 0
  #whenIdle: (() => void) | undefined
  #closed = false

  /** Set while the database is known not to do its work, which has been logged: then one short try is enough. */
  failFast = false

  /**
   * @param url of a database, as `pg` takes it
   * @param guard of what is on other nodes behind it: what is said of these comes before the patience is over
   */
  constructor(url: string, logger: Logger, guard?: ShardGuard) {
    this.#pool = new ConnectionPool(url, logger, guard && SHARD_MILLISECONDS)
    this.#guard = guard
  }

  /** Whether the statuses of repositories are on different nodes: then a statement asks about one of them. */
  get isSharded(): boolean {
    return this.#guard !== undefined
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
      repositories = [],
    }: RetryPolicy = {},
  ): Promise<T> {
    if (this.#closed && this.#keptOpen === 0) throw new StoreUnavailable('the store is closed')
    this.#running++
    try {
      const maxMilliseconds = this.failFast ? FAIL_FAST_MILLISECONDS : Infinity
      if (this.#guard) await this.#guard.check(repositories)
      return await this.#retry(this.#guarded(work, repositories), {
        milliseconds: Math.min(milliseconds, maxMilliseconds),
        statementMilliseconds: Math.min(statement, maxMilliseconds),
        once,
      })
    } catch (error) {
      throw this.#inStoreWords(error, repositories)
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

  /** Those of these repositories whose statuses can be read at the moment, as far as is known. */
  async usable(repositories: readonly string[]): Promise<string[]> {
    const usable: string[] = []
    for (const repository of repositories) {
      const isRefused = await this.#guard?.check([repository])?.then(
        () => false,
        () => true,
      )
      if (isRefused !== true) usable.push(repository)
    }
    return usable
  }

  /** The rows of one statement that may be sent twice. */
  async query<Row>(statement: Statement, values: readonly unknown[], patience?: RetryPolicy): Promise<Row[]> {
    return await this.run(async (connection) => await connection.query<Row>(statement, values), patience)
  }

  /** How many rows one statement changed that may be sent twice. */
  async change(statement: Statement, values: readonly unknown[], patience?: RetryPolicy): Promise<number> {
    return await this.run(async (connection) => await connection.change(statement, values), patience)
  }

  /**
   * Does several statements that may take long, in a transaction that sees one moment: all or none.
   * @param repositories whose statuses they read or change, as `repositoryText` writes them
   */
  async transaction(
    work: (connection: Connection) => Promise<void>,
    repositories: readonly string[] = [],
  ): Promise<void> {
    await this.run(
      async (connection) => {
        await connection.command('BEGIN ISOLATION LEVEL REPEATABLE READ')
        await connection.command(`SET LOCAL statement_timeout = ${LONG_MILLISECONDS}`)
        await work(connection)
        await connection.commit()
      },
      { milliseconds: LONG_MILLISECONDS, statementMilliseconds: LONG_MILLISECONDS, once: true, repositories },
    )
  }

  /**
   * Begins to read what is there at the first statement, over a connection of its own: each statement has its end, and
   * all of them together have none, however slowly they are asked for. To be closed.
   * @param repository whose statuses are read, as `repositoryText` writes it
   * @param milliseconds how long each statement may take
   * @throws StoreUnavailable
   */
  async snapshot(repository?: string, milliseconds = LONG_MILLISECONDS): Promise<Snapshot> {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    const repositories = repository === undefined ? [] : [repository]
    const inStoreWords = (error: unknown): never => {
      throw this.#inStoreWords(error, repositories)
    }
    await this.#guard?.check(repositories)
    const { connection, close } = await this.#pool
      .dedicated('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', milliseconds)
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
    patience: Required<Omit<RetryPolicy, 'repositories'>>,
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

  /** Work that is looked at once more when it has its connection, for which it may have waited. */
  #guarded<T>(
    work: (connection: Connection) => Promise<T>,
    repositories: readonly string[],
  ): (connection: Connection) => Promise<T> {
    const guard = this.#guard
    if (!guard) return work
    return async (connection) => {
      await guard.check(repositories)
      return await work(connection)
    }
  }

  #ended(): void {
    this.#running--
    if (this.#running === 0) this.#whenIdle?.()
  }

  #inStoreWords(error: unknown, repositories: readonly string[]): unknown {
    if (!(error instanceof DatabaseFailure) || error.isOfData) return error
    this.#guard?.failed(repositories)
    const Kind = this.failFast ? StoreFenced : StoreUnavailable
    return new Kind(`the database cannot be used: ${error.message}`, { cause: error })
  }
}
