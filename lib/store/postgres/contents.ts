import type { StoredStatus } from '../../domain/commit-status.js'
import { StoreCorrupt, StoreUnavailable } from '../../errors.js'
import type {
  RepositoryMerge,
  RepositoryStatus,
  StatusPage,
  StoreContents,
} from '../../contracts/store-administration.js'
import { parseEscapedName, type RepositoryName } from '../../domain/repository-name.js'
import type { Statement } from './connection.js'
import { DatabaseFailure } from './database-failure.js'
import type { PostgresDatabase } from './database.js'
import { PostgresMerge } from './merge.js'
import { PAGE_ROWS } from './list-statements.js'
import { REMOVE_SAME } from './statuses.js'
import { COLUMNS, STATUS, values, type StatusRow } from './status-columns.js'
import { fromRow, repositoryKey, repositoryText } from './status-rows.js'

/** Reads by a cursor, not key by key: a database that spreads keys by hash would sort all of them for each page. */
const DECLARE: Statement = {
  name: 'declare-pages',
  text: `DECLARE pages NO SCROLL CURSOR FOR
SELECT repository, ${COLUMNS} FROM commit_status.statuses ORDER BY repository, sha, context`,
}
const FETCH: Statement = { name: 'fetch-page', text: `FETCH ${PAGE_ROWS} FROM pages` }

/** @param size an expression for that of the table `c` */
const bytesBy = (size: string): string => `SELECT coalesce(sum(${size}), 0)::float8 AS bytes
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'commit_status' AND c.relkind = 'r'`

const BYTES: Statement = { name: 'bytes', text: bytesBy('pg_total_relation_size(c.oid)') }

/** With what is on other nodes. */
const BYTES_OVER_SHARDS: Statement = {
  name: 'bytes-over-shards',
  text: bytesBy(`CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_dist_partition AS p
    WHERE p.logicalrelid = c.oid AND p.partmethod = 'h')
  THEN citus_total_relation_size(c.oid::regclass) ELSE pg_total_relation_size(c.oid) END`),
}

/** SQLSTATE: no such function. */
const UNDEFINED_FUNCTION = '42883'

/** All that a PostgreSQL store has. */
export class PostgresContents implements StoreContents {
  readonly #database: PostgresDatabase
  /** Merges by the full name of the repository. */
  readonly #merges = new Map<string, RepositoryMerge>()

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async *pages(): AsyncGenerator<StatusPage> {
    const snapshot = await this.#database.snapshot()
    try {
      await snapshot.query(DECLARE, [])
      let last: RepositoryStatus | undefined
      for (;;) {
        const rows = await snapshot.query<StatusRow & { repository: Buffer }>(FETCH, [])
        if (rows.length === 0) return
        yield { statuses: rows.map((row) => (last = parseStatus(row, last))), share: undefined }
      }
    } finally {
      snapshot.close()
    }
  }

  merge(repository: RepositoryName): RepositoryMerge {
    const { full } = repository
    if (this.#merges.has(full)) throw new StoreUnavailable(`statuses are being put into ${full} already`)
    const merge = new PostgresMerge(repository, this.#database, () => {
      if (this.#merges.get(full) === merge) this.#merges.delete(full)
    })
    this.#merges.set(full, merge)
    return merge
  }

  async remove(repository: RepositoryName, statuses: readonly StoredStatus[]): Promise<number> {
    // Not twice: nobody would know how many there were.
    return await this.#database.change(REMOVE_SAME, [repositoryKey(repository), ...values(STATUS, statuses)], {
      once: true,
      repositories: [repositoryText(repository)],
    })
  }

  /** Size with indexes; 0 where the database does not report it as PostgreSQL does (CockroachDB). */
  async bytes(): Promise<number> {
    const statement = this.#database.isSharded ? BYTES_OVER_SHARDS : BYTES
    const rows = await this.#database.run(
      async (connection) => await connection.query<{ bytes: number }>(statement, []).catch(noneIfUntold),
    )
    return rows.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}

/**
 * @param previous one that was read before, whose repository may be this one's too
 * @throws StoreCorrupt
 */
function parseStatus(
  row: StatusRow & { readonly repository: Buffer },
  previous: RepositoryStatus | undefined,
): RepositoryStatus {
  const key = row.repository.toString()
  const name = key.slice(0, -1)
  const repository = previous?.repository.escaped === name ? previous.repository : parseEscapedName(name)
  if (!repository || !key.endsWith('/')) {
    throw new StoreCorrupt(`a status is of ${JSON.stringify(key)}, which is no repository`)
  }
  return { repository, status: fromRow(row) }
}

function noneIfUntold(error: unknown): [] {
  if (error instanceof DatabaseFailure && error.state === UNDEFINED_FUNCTION) return []
  throw error
}
