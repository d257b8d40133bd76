import type { CommitStatus } from '../../commit-status.js'
import { parseRepositoryName, type RepositoryName } from '../../repository-name.js'
import { StoreCorrupt, StoreUnavailable, type RepositoryMerge, type RepositoryStatus, type StatusPage, type StoreContents } from '../store.js'
import type { Statement } from './connection.js'
import type { Database, Snapshot } from './database.js'
import { DatabaseFailure } from './failure.js'
import { PostgresMerge } from './merge.js'
import { COLUMNS, fromRow, PAGE_ROWS, pagesOf, REMOVE_SAME, valuesOf, type PostgresStatuses, type StatusRow } from './statuses.js'

/** Not key by key as those of one repository: where a database spreads keys by hash, it would sort all for each page. */
const DECLARE: Statement = {
  name: 'declare-pages',
  text: `DECLARE pages NO SCROLL CURSOR FOR SELECT repository, ${COLUMNS} FROM commit_status.statuses ORDER BY repository, sha, context`,
}
/** Which of some repositories have others beside them whose names go on with a dash or a dot, and sort before the slash that ends a name in a key. */
const LONGER: Statement = {
  name: 'longer-names',
  text: `SELECT r.repository FROM unnest($1::bytea[]) AS r (repository) WHERE EXISTS (
SELECT 1 FROM commit_status.statuses AS s WHERE s.repository >= r.repository || convert_to('-', 'UTF8') AND s.repository < r.repository || convert_to('/', 'UTF8'))`,
}
const FETCH: Statement = { name: 'fetch-page', text: `FETCH ${PAGE_ROWS} FROM pages` }

const BYTES: Statement = {
  name: 'bytes',
  text: `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 AS bytes
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'commit_status' AND c.relkind = 'r'`,
}

/** SQLSTATE: no such function. */
const UNDEFINED_FUNCTION = '42883'

/** All that a PostgreSQL store has. */
export class PostgresContents implements StoreContents {
  readonly #database: Database
  readonly #statuses: PostgresStatuses
  /** By the full name of the repository. */
  readonly #merges = new Map<string, RepositoryMerge>()

  constructor(database: Database, statuses: PostgresStatuses) {
    this.#database = database
    this.#statuses = statuses
  }

  async *pages(repository?: RepositoryName): AsyncGenerator<StatusPage> {
    if (repository) for await (const page of this.#statuses.pages(repository)) yield { statuses: page.map((status) => ({ repository, status })), share: undefined }
    else yield* this.#allPages()
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

  async remove(repository: RepositoryName, statuses: readonly CommitStatus[]): Promise<number> {
    // Not twice: nobody would know how many there were.
    return await this.#database.change(REMOVE_SAME, [Buffer.from(repository.full), ...valuesOf(statuses)], { once: true })
  }

  /** With indexes; 0 where the database does not tell it as PostgreSQL does (CockroachDB). */
  async bytes(): Promise<number> {
    const rows = await this.#database.run(async (connection) => await connection.query<{ bytes: number }>(BYTES, []).catch(noneIfUntold))
    return rows.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  async *#allPages(): AsyncGenerator<StatusPage> {
    const snapshot = await this.#database.snapshot()
    try {
      await snapshot.query(DECLARE, [])
      /** Each is passed over until those with longer names have been read. */
      const later: RepositoryName[] = []
      let last: RepositoryStatus | undefined
      for (;;) {
        const rows = await snapshot.query<StatusRow & { repository: Buffer }>(FETCH, [])
        if (rows.length === 0) break
        const longer = await withLonger(snapshot, rows)
        let statuses: RepositoryStatus[] = []
        for (const row of rows) {
          last = statusOf(row, last)
          const { repository } = last
          for (let next = later.at(-1); next && !goesOn(repository, next); next = later.at(-1)) {
            if (statuses.length > 0) yield { statuses, share: undefined }
            statuses = []
            yield* repositoryPages(snapshot, next)
            later.pop()
          }
          if (!longer.has(repository.full)) statuses.push(last)
          else if (later.at(-1) !== repository) later.push(repository)
        }
        if (statuses.length > 0) yield { statuses, share: undefined }
      }
      for (const repository of later.toReversed()) yield* repositoryPages(snapshot, repository)
    } finally {
      snapshot.close()
    }
  }
}

async function* repositoryPages(snapshot: Snapshot, repository: RepositoryName): AsyncGenerator<StatusPage> {
  for await (const page of pagesOf(snapshot, repository)) yield { statuses: page.map((status) => ({ repository, status })), share: undefined }
}

async function withLonger(snapshot: Snapshot, rows: readonly { readonly repository: Buffer }[]): Promise<ReadonlySet<string>> {
  const names = [...new Set(rows.map(({ repository }) => repository.toString()))]
  const found = await snapshot.query<{ repository: Buffer }>(LONGER, [names.map((name) => Buffer.from(name))])
  return new Set(found.map(({ repository }) => repository.toString()))
}

/** Whether it is the same, or its name goes on with a dash or a dot. */
function goesOn({ full }: RepositoryName, shorter: RepositoryName): boolean {
  return full === shorter.full || (full.startsWith(shorter.full) && /^[.-]/.test(full.slice(shorter.full.length)))
}

/**
 * @param previous one that was read before, whose repository may be this one's too
 * @throws StoreCorrupt
 */
function statusOf(row: StatusRow & { readonly repository: Buffer }, previous: RepositoryStatus | undefined): RepositoryStatus {
  const full = row.repository.toString()
  const repository = previous?.repository.full === full ? previous.repository : parseRepositoryName(full)
  if (!repository) throw new StoreCorrupt(`a status is of ${JSON.stringify(full)}, which is no repository`)
  return { repository, status: fromRow(row) }
}

function noneIfUntold(error: unknown): [] {
  if (error instanceof DatabaseFailure && error.state === UNDEFINED_FUNCTION) return []
  throw error
}
