import { DatabaseFailure } from './database-failure.js'

/** A statement that is prepared once on each connection. */
export interface Statement {
  /** Unique among the statements of this program. */
  readonly name: string
  readonly text: string
}

interface Result {
  readonly rows: unknown[]
  readonly rowCount: number | null
}

/** What of a client of `pg` is needed here. */
export interface Client {
  /** A result for each statement, where there are several in a text. */
  query(config: {
    name?: string
    text: string
    values?: unknown[]
    query_timeout?: number
  }): Promise<Result | readonly Result[]>
}

/** What is known of a connection. */
export interface ConnectionState {
  /** Milliseconds by which the server's clock is ahead of `performance.now()`, rather too few than too many. */
  offset: number
  readOnly: boolean
  /** What the server has warned of last, if it has. */
  readonly warnings: string[]
}

/** A connection, for as long as a piece of work has it. */
export class Connection {
  readonly #client: Client
  readonly #state: ConnectionState
  readonly #milliseconds: number

  /** @param milliseconds how long each statement may take */
  constructor(client: Client, state: ConnectionState, milliseconds: number) {
    this.#client = client
    this.#state = state
    this.#milliseconds = milliseconds
  }

  /**
   * Rows of a statement, of the form that its columns have.
   * @throws DatabaseFailure
   */
  async query<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return await this.#rows({ ...statement, values: [...values] })
  }

  /** Counts the rows that a statement changed. Throws as `query`. */
  async change(statement: Statement, values: readonly unknown[]): Promise<number> {
    const { rowCount } = await this.#send({ ...statement, values: [...values] })
    return Number(rowCount)
  }

  /** A statement without values that is not worth preparing. */
  async command(text: string): Promise<void> {
    await this.#send({ text })
  }

  /**
   * Begins a transaction that sees what others have committed before each of its statements. Throws as `query`.
   * @param first a statement without values that goes with it, on the same way
   * @returns the rows of that
   */
  async begin<Row = never>(first = ''): Promise<Row[]> {
    return await this.#rows({ text: `BEGIN ISOLATION LEVEL READ COMMITTED; ${first}` })
  }

  /** Does something in a transaction as that. Throws as `query`, and what `work` throws. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.begin()
    const result = await work()
    await this.command('COMMIT')
    return result
  }

  /**
   * Ends a transaction over several nodes. One that did not hear of the end warns alone: until it has, what it was to
   * change is not seen.
   * @throws DatabaseFailure
   */
  async commit(): Promise<void> {
    const { warnings } = this.#state
    warnings.length = 0
    await this.command('COMMIT')
    const [warning] = warnings
    if (warning !== undefined) throw DatabaseFailure.unfinished(warning)
  }

  /** The server's time when nobody waits for a statement that is sent now any more, ISO 8601. */
  get tooLate(): string {
    return new Date(performance.now() + this.#state.offset + this.#milliseconds).toISOString()
  }

  async #rows<Row>(config: Parameters<Client['query']>[0]): Promise<Row[]> {
    const { rows } = await this.#send(config)
    // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- as the columns are declared
    return rows as Row[]
  }

  /** The result of the last statement of a text. */
  async #send(config: Parameters<Client['query']>[0]): Promise<Result> {
    try {
      const results = [await this.#client.query({ ...config, query_timeout: this.#milliseconds })].flat()
      // What a server that has lost its role says may be old.
      if (this.#state.readOnly) throw DatabaseFailure.readOnly()
      return results.reduce((_, last) => last)
    } catch (cause) {
      throw DatabaseFailure.of(cause, true)
    }
  }
}
