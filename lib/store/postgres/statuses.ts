import {
  commitState,
  type CommitState,
  type Report,
  type State,
  type StoredStatus,
} from '../../domain/commit-status.js'
import type { ObjectId } from '../../domain/object-id.js'
import type { SavedStatus } from '../../contracts/records.js'
import type { WholeStatusStore } from '../../contracts/store.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import {
  LARGE_LIST_BYTES,
  largeList,
  serialisedList,
  toText,
  type SentList,
  type SerialisedList,
  type StatusText,
} from '../../domain/status-list.js'
import type { Meter } from '../../contracts/meter.js'
import { Semaphore } from '../../concurrency/semaphore.js'
import { sizeOf } from '../queue-bounds.js'
import { StatusIds } from '../status-ids.js'
import { batchLoader, type BatchLoader } from './batch-loader.js'
import type { Connection, Statement } from './connection.js'
import type { PostgresDatabase, Snapshot } from './database.js'
import { KnownLists, type KnownList } from './known-lists.js'
import { arrays, COLUMNS, digestOf, IS_SAME, OVERWRITE, PREVIOUS, STATUS, type StatusRow } from './status-columns.js'
import { fromRow, repositoryKey, repositoryText, type ReportRow } from './status-rows.js'
import type { PostgresWriter } from './writer.js'

/** Of a list that is read together with others. One with more is read by itself. */
const FEW_ROWS = 100

/** Lists of more rows than that which are read into memory at a time; those that wait do so for milliseconds. */
const MAX_READS = 4

/** Lists at a time that are too large for the memory: each has a connection for as long as its client reads. */
const MAX_LARGE_LISTS = 8

/**
 * For each commit apart: of `sha = ANY (…)`, or without the inner order, PostgreSQL may think that reading the whole
 * repository is as good. A list that is as it is known has no row, nor has one without statuses of which nothing is
 * known; one that has none any more has a row without a digest. Names, commits and digests are texts with commas
 * between, which none of them has: `pg` takes longer to write arrays than for all the rest.
 */
export const LISTS: Statement = {
  name: 'lists',
  text: `SELECT c.at, d.digest, s.*
FROM unnest(string_to_array($1, ','), string_to_array($2, ','), string_to_array($3, ',', '')) WITH ORDINALITY
  AS c (in_repository, commit, known, at)
CROSS JOIN LATERAL (SELECT ${digestOf('f')} AS digest FROM (SELECT * FROM commit_status.statuses
  WHERE repository = convert_to(c.in_repository, 'UTF8') AND sha = decode(c.commit, 'hex')
  ORDER BY context LIMIT $4) AS f) AS d
LEFT JOIN LATERAL (SELECT ${COLUMNS} FROM commit_status.statuses
  WHERE repository = convert_to(c.in_repository, 'UTF8') AND sha = decode(c.commit, 'hex')
  ORDER BY context LIMIT $4) AS s ON true
WHERE d.digest IS DISTINCT FROM c.known ORDER BY c.at, s.context`,
}

/**
 * One row for each state that a commit has; for each commit apart, as `LISTS`.
 * @param failed an expression for the contexts of those that failed
 */
const statesOf = (failed: string): string => `SELECT c.at, s.state, s.count, ${failed} AS failed
FROM unnest($2::bytea[]) WITH ORDINALITY AS c (commit, at)
CROSS JOIN LATERAL (SELECT state, count(*)::float8 AS count FROM commit_status.statuses
  WHERE repository = $1 AND sha = c.commit GROUP BY state) AS s`

const STATES_OF: Statement = { name: 'states-of-commits', text: statesOf("'{}'::bytea[]") }

/** With the first of them. */
const STATES_AND_FAILED: Statement = {
  name: 'states-and-failed-of-commits',
  text: statesOf(`ARRAY(SELECT f.context FROM commit_status.statuses AS f
  WHERE s.state IN ('failure', 'error') AND f.repository = $1 AND f.sha = c.commit AND f.state = s.state
  ORDER BY f.context LIMIT $3)`),
}

/** Of a commit without statuses it is null. */
const DIGESTS: Statement = {
  name: 'digests',
  text: `SELECT c.at, (SELECT ${digestOf('s')}
  FROM commit_status.statuses AS s WHERE s.repository = c.in_repository AND s.sha = c.commit) AS digest
FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS c (in_repository, commit, at)`,
}

/** Removes those that are still exactly what is given. */
export const REMOVE_SAME: Statement = {
  name: 'remove-same-statuses',
  text: `DELETE FROM commit_status.statuses AS s USING unnest(${arrays(STATUS, 2)}) AS o (${COLUMNS})
WHERE s.repository = $1 AND ${IS_SAME}`,
}

/** A page has a few hundred. */
export const PAGE_ROWS = 500

const PAGE: Statement = {
  name: 'page',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND (sha, context) > ($2, $3)
ORDER BY sha, context LIMIT ${PAGE_ROWS}`,
}

const PAGE_OF: Statement = {
  name: 'page-of-commit',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND sha = $2 AND context > $3
ORDER BY context LIMIT ${PAGE_ROWS}`,
}

const ONE: Statement = {
  name: 'one-status',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND sha = $2 AND context = $3`,
}

const MOVE: Statement = {
  name: 'move-statuses',
  text: `INSERT INTO commit_status.statuses (repository, ${COLUMNS}, ${PREVIOUS})
SELECT $2::bytea, ${COLUMNS}, ${PREVIOUS}
FROM commit_status.statuses WHERE repository = $1
ON CONFLICT (repository, sha, context) DO UPDATE SET ${OVERWRITE}
WHERE statuses.updated_at <= EXCLUDED.updated_at`,
}

const REMOVE: Statement = { name: 'remove-statuses', text: 'DELETE FROM commit_status.statuses WHERE repository = $1' }
const REMOVE_OF: Statement = { name: 'remove-statuses-of', text: `${REMOVE.text} AND sha = $2` }
const REMOVE_ONE: Statement = { name: 'remove-status', text: `${REMOVE_OF.text} AND context = $3` }
const COUNT: Statement = {
  name: 'count-statuses',
  text: 'SELECT count(*)::float8 AS count FROM commit_status.statuses WHERE repository = $1',
}

export class PostgresStatuses implements WholeStatusStore {
  readonly #database: PostgresDatabase
  readonly #writer: PostgresWriter<ReportRow, SavedStatus>
  readonly #lists: BatchLoader<AskedList, FoundRows>
  readonly #known: KnownLists
  readonly #ids = new StatusIds()
  readonly #reads = new Semaphore(MAX_READS, Infinity)
  readonly #largeLists = new Semaphore(MAX_LARGE_LISTS, 0)

  /** @param cacheBytes of lists that are kept in memory as they are sent */
  constructor(
    database: PostgresDatabase,
    writer: PostgresWriter<ReportRow, SavedStatus>,
    meter: Meter,
    cacheBytes: number,
  ) {
    this.#database = database
    this.#writer = writer
    this.#known = new KnownLists(cacheBytes, meter)
    this.#lists = batchLoader(async (keys) => await this.#find(keys))
  }

  async save(
    repository: RepositoryName,
    commit: ObjectId,
    report: Report,
    at: number,
    maxContexts = Infinity,
  ): Promise<SavedStatus> {
    return await this.#writer.apply({
      key: `${repository.full}/${commit.hex}/${report.context}`,
      size: sizeOf(report),
      row: {
        ...report,
        id: this.#ids.next(),
        sha: commit.hex,
        repository: repositoryText(repository),
        at,
        maxContexts,
      },
    })
  }

  async list(repository: RepositoryName, commit: ObjectId): Promise<StoredStatus[]> {
    const rows = await this.#few(repository, commit)
    if (rows) return rows.map(fromRow)
    const all: StoredStatus[] = []
    for await (const status of this.scan(repository, commit)) all.push(status)
    return all
  }

  async serialised(repository: RepositoryName, commit: ObjectId): Promise<SentList> {
    const key = nameOf({ repository, commit })
    const known = this.#known.get(key)
    const { rows, digest } = await this.#ask({ repository, commit }, known)
    const isSame = known?.digest === digest
    this.#known.looked(isSame)
    if (isSame) return known.list
    if (rows.length > FEW_ROWS) return await this.#many(repository, commit)
    const list = serialisedList(rows.map(fromRow).map(toText))
    this.#known.set(key, { list, digest })
    return list
  }

  async states(
    repository: RepositoryName,
    commits: readonly ObjectId[],
    failed: number | undefined,
  ): Promise<readonly CommitState[]> {
    const shas = commits.map(({ hex }) => Buffer.from(hex, 'hex'))
    const asked = [repositoryKey(repository), shas]
    const rows = await this.#database.keepingOpen(async () =>
      failed === undefined
        ? await this.#database.query<StateRow>(STATES_OF, asked)
        : await this.#database.query<StateRow>(STATES_AND_FAILED, [...asked, failed]),
    )
    return commits.map((_, index) => {
      // PostgreSQL counts from 1.
      const found = rows.filter(({ at }) => Number(at) === index + 1)
      const statuses = found.reduce((sum, { count }) => sum + count, 0)
      const told = { ...commitState(found.map(({ state }) => state)), statuses }
      if (failed === undefined) return told
      const contexts = found.flatMap((row) => row.failed).sort((one, other) => Buffer.compare(one, other))
      return { ...told, failed: contexts.slice(0, failed).map((context) => context.toString()) }
    })
  }

  async status(repository: RepositoryName, commit: ObjectId, context: string): Promise<StoredStatus | undefined> {
    const key = [repositoryKey(repository), Buffer.from(commit.hex, 'hex'), Buffer.from(context)]
    const [row] = await this.#database.query<StatusRow>(ONE, key)
    return row && fromRow(row)
  }

  async *pages(repository: RepositoryName, commit: ObjectId): AsyncGenerator<StoredStatus[]> {
    const few = await this.#few(repository, commit)
    if (few) {
      yield few.map(fromRow)
      return
    }
    // One connection for each; those that wait do so for milliseconds.
    await this.#reads.enter()
    try {
      const snapshot = await this.#database.snapshot()
      try {
        for await (const rows of pagesOf(snapshot, repository, commit)) yield rows.map(fromRow)
      } finally {
        snapshot.close()
      }
    } finally {
      this.#reads.leave()
    }
  }

  async digests(commits: readonly CommitKey[]): Promise<readonly string[]> {
    const rows = await this.#database.query<{ at: string; digest: string | null }>(DIGESTS, [
      commits.map(({ repository }) => repositoryKey(repository)),
      commits.map(({ commit }) => Buffer.from(commit.hex, 'hex')),
    ])
    const digests = new Map(rows.map(({ at, digest }) => [Number(at), digest]))
    // PostgreSQL counts from 1.
    return commits.map((_, index) => digests.get(index + 1) ?? '')
  }

  async remove(repository: RepositoryName, commit: ObjectId, context: string | undefined): Promise<number> {
    const place = [repositoryKey(repository), Buffer.from(commit.hex, 'hex')]
    const [statement, values] =
      context === undefined ? [REMOVE_OF, place] : [REMOVE_ONE, [...place, Buffer.from(context)]]
    // Not twice: nobody would know how many there were, and a report may have come in between.
    return await this.#writer.applyAlone(async () => await this.#database.change(statement, values, { once: true }))
  }

  async count(repository: RepositoryName): Promise<number> {
    const rows = await this.#database.query<{ count: number }>(COUNT, [repositoryKey(repository)])
    return rows.reduce((sum, { count }) => sum + count, 0)
  }

  async *scan(repository: RepositoryName, commit?: ObjectId): AsyncGenerator<StoredStatus> {
    const snapshot = await this.#database.snapshot()
    try {
      for await (const rows of pagesOf(snapshot, repository, commit)) yield* rows.map(fromRow)
    } finally {
      snapshot.close()
    }
  }

  /** `undefined` when there are more. */
  async #few(repository: RepositoryName, commit: ObjectId): Promise<readonly StatusRow[] | undefined> {
    const { rows } = await this.#ask({ repository, commit })
    return rows.length > FEW_ROWS ? undefined : rows
  }

  async #ask(list: CommitKey, known?: KnownList): Promise<FoundRows> {
    const asked = { ...list, known, question: `${nameOf(list)} ${known?.digest ?? ''}` }
    return await this.#database.keepingOpen(async () => await this.#lists.load(asked))
  }

  async #many(repository: RepositoryName, commit: ObjectId): Promise<SentList> {
    const [reads, largeLists] = [this.#reads, this.#largeLists]
    await reads.enter()
    let snapshot: Snapshot | undefined
    try {
      snapshot = await this.#database.snapshot()
      const all = await wholeOf(snapshot, repository, commit)
      if (all) {
        snapshot.close()
        return all
      }
      await largeLists.enter()
    } catch (error) {
      snapshot?.close()
      throw error
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      reads.leave()
    }
    return await largeList({
      async *pages() {
        for await (const rows of pagesOf(snapshot, repository, commit)) yield rows.map(fromRow).map(toText)
      },
      close: () => {
        largeLists.leave()
        snapshot.close()
        return Promise.resolve()
      },
    })
  }

  /** The lists of commits, each asked for once. */
  async #find(lists: readonly AskedList[]): Promise<(asked: AskedList) => FoundRows> {
    const asked = new Map(lists.map((list) => [list.question, list]))
    const each = [...asked.values()]
    const rows = await this.#database.query<ListRow>(LISTS, [
      each.map(({ repository }) => repositoryText(repository)).join(),
      each.map(({ commit }) => commit.hex).join(),
      each.map(({ known }) => known?.digest ?? '').join(),
      FEW_ROWS + 1,
    ])
    const questions = [...asked.keys()]
    const found = new Map<string, { readonly digest: string; readonly rows: StatusRow[] }>()
    for (const row of rows) {
      // PostgreSQL counts from 1.
      const { [Number(row.at) - 1]: question = '' } = questions
      const list = found.get(question) ?? { digest: row.digest ?? NO_STATUS, rows: [] }
      found.set(question, list)
      if (row.sha) list.rows.push(row)
    }
    return ({ question, known }) => found.get(question) ?? { digest: known?.digest ?? NO_STATUS, rows: [] }
  }
}

/** In place of a digest, of a commit without statuses. */
const NO_STATUS = ''

interface AskedList extends CommitKey {
  /** What is sent again if it has not changed. */
  readonly known: KnownList | undefined
  /** The same for the same question. */
  readonly question: string
}

interface FoundRows {
  readonly digest: string
  /** None if the list is the one that is known. */
  readonly rows: readonly StatusRow[]
}

/** A status, with the digest of its list; without a status neither. */
type ListRow = { readonly at: string; readonly digest: string | null } & (StatusRow | { readonly sha: null })

interface StateRow {
  readonly at: string
  readonly state: State
  readonly count: number
  /** Of those that failed, where they are asked for. */
  readonly failed: readonly Buffer[]
}

/** Which list is meant. */
interface CommitKey {
  readonly repository: RepositoryName
  readonly commit: ObjectId
}

function nameOf({ repository, commit }: CommitKey): string {
  return `${repository.full}/${commit.hex}`
}

/** A list that is not too large for the memory. */
async function wholeOf(
  snapshot: Snapshot,
  repository: RepositoryName,
  commit: ObjectId,
): Promise<SerialisedList | undefined> {
  const texts: StatusText[] = []
  let size = 0
  for await (const rows of pagesOf(snapshot, repository, commit)) {
    for (const text of rows.map(fromRow).map(toText)) {
      texts.push(text)
      size += text.json.length
    }
    if (size > LARGE_LIST_BYTES) return undefined
  }
  return serialisedList(texts)
}

/** The statuses of a repository, or of a commit, some at a time. */
async function* pagesOf(
  snapshot: Snapshot,
  repository: RepositoryName,
  commit: ObjectId | undefined,
): AsyncGenerator<readonly StatusRow[]> {
  const sha = commit && Buffer.from(commit.hex, 'hex')
  let last: Pick<StatusRow, 'sha' | 'context'> | undefined = { sha: sha ?? Buffer.alloc(0), context: Buffer.alloc(0) }
  while (last) {
    const place = [repositoryKey(repository), last.sha, last.context]
    const rows: StatusRow[] = await snapshot.query<StatusRow>(sha ? PAGE_OF : PAGE, place)
    if (rows.length > 0) yield rows
    last = rows[PAGE_ROWS - 1]
  }
}

/** Moves all statuses of a repository to another name. */
export async function moveStatuses(connection: Connection, from: RepositoryName, to: RepositoryName): Promise<void> {
  await connection.change(MOVE, [repositoryKey(from), repositoryKey(to)])
  await removeStatuses(connection, from)
}

export async function removeStatuses(connection: Connection, name: RepositoryName): Promise<void> {
  await connection.change(REMOVE, [repositoryKey(name)])
}
