import type { Connection, Statement } from './connection.js'

/** How many rows share a statement at most: it is prepared for each number. */
const MAX_ROWS = 32

/** Inserts rows as such, of one repository: then Citus sends the statement to its shard as it is. */
export class InsertedRows<Row = never> {
  readonly #name: string
  readonly #table: string
  readonly #columns: readonly string[]
  readonly #rest: string
  /** By their number of rows. */
  readonly #statements = new Map<number, Statement>()

  /**
   * @param columns besides the repository
   * @param rest what stands behind the values
   */
  constructor(name: string, table: string, columns: readonly string[], rest: string) {
    this.#name = name
    this.#table = table
    this.#columns = columns
    this.#rest = rest
  }

  /** @returns what the statements return */
  async insert(
    connection: Connection,
    repository: Buffer,
    rows: readonly (readonly unknown[])[],
  ): Promise<readonly Row[]> {
    const returned: Row[] = []
    for (let start = 0; start < rows.length; start += MAX_ROWS) {
      const some = rows.slice(start, start + MAX_ROWS)
      returned.push(...(await connection.query<Row>(this.#statementOf(some.length), [repository, ...some.flat()])))
    }
    return returned
  }

  #statementOf(length: number): Statement {
    const columns = this.#columns
    const rows = Array.from({ length }, (_, row) => {
      const parameters = columns.map((_, column) => `$${row * columns.length + column + 2}`)
      return `($1, ${parameters.join(', ')})`
    })
    const statement = this.#statements.get(length) ?? {
      name: `${this.#name}-${length}`,
      text: `INSERT INTO ${this.#table} (repository, ${columns.join(', ')}) VALUES ${rows.join(', ')}\n${this.#rest}`,
    }
    this.#statements.set(length, statement)
    return statement
  }
}
