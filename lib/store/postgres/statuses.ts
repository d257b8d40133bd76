import { randomBytes } from 'node:crypto'
import type { CommitStatus, Report, State } from '../../commit-status.js'
import type { ObjectId } from '../../object-id.js'
import type { RepositoryName } from '../../repository-name.js'
import { sizeOf } from '../queue-bounds.js'
import type { SavedStatus, StatusStore } from '../store.js'
import type { Connection, Statement } from './connection.js'
import type { Database, Snapshot } from './database.js'
import { DatabaseFailure } from './failure.js'
import { Lookups } from './lookups.js'
import type { Writer } from './writer.js'

/** A report as it is saved. */
export interface ReportRow {
  readonly repository: Buffer
  readonly sha: Buffer
  readonly context: Buffer
  readonly report: Report
  readonly at: number
}

export interface StatusRow {
  readonly sha: Buffer
  readonly context: Buffer
  readonly id: string
  readonly state: State
  readonly description: string | null
  readonly target_url: string | null
  readonly created_at: string
  readonly updated_at: string
}

interface SavedRow extends Pick<StatusRow, 'sha' | 'context' | 'id' | 'created_at' | 'updated_at'> {
  readonly repository: Buffer
  readonly previous_state: State | null
  readonly previous_description: string | null
  readonly previous_target_url: string | null
  readonly previous_updated_at: string
}

/**
 * What was there before is kept in the row: `RETURNING` shows only what is there now, and a look beforehand could miss
 * a report that another instance saves at the same time.
 *
 * A statement that its server begins only when nobody waits for it any more (it stood still, or the network did) saves
 * nothing: by then a later report may have been acknowledged.
 */
export const SAVE: Statement = {
  name: 'save',
  text: `INSERT INTO commit_status.statuses (repository, sha, context, id, state, description, target_url, created_at, updated_at)
SELECT r.repository, r.sha, r.context, r.id, r.state, r.description, r.target_url, r.reported_at, r.reported_at
FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
  AS r (repository, sha, context, id, state, description, target_url, reported_at)
WHERE clock_timestamp() < $9::timestamptz
ON CONFLICT (repository, sha, context) DO UPDATE SET
  state = EXCLUDED.state, description = EXCLUDED.description, target_url = EXCLUDED.target_url,
  updated_at = GREATEST(statuses.updated_at, EXCLUDED.updated_at),
  previous_state = statuses.state, previous_description = statuses.description, previous_target_url = statuses.target_url,
  previous_updated_at = statuses.updated_at
RETURNING repository, sha, context, id, created_at, updated_at, previous_state, previous_description, previous_target_url, previous_updated_at`,
}

export const COLUMNS = 'sha, context, id, state, description, target_url, created_at, updated_at'

export const LIST: Statement = {
  name: 'list',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND sha = $2 ORDER BY context`,
}

/**
 * For each commit apart: of `sha = ANY (…)`, or without the inner order, PostgreSQL may think that reading the whole
 * repository is as good.
 */
export const LIST_SEVERAL: Statement = {
  name: 'list-several',
  text: `SELECT s.* FROM unnest($2::bytea[]) AS c (commit) CROSS JOIN LATERAL
  (SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND sha = c.commit ORDER BY context) AS s ORDER BY s.sha, s.context`,
}

/** Statuses as a table `o`, from `$2` on: what `valuesOf` makes of them. */
export const VALUES_FROM_2 = `unnest($2::bytea[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[]) AS o (${COLUMNS})`

/** Removes those that are still exactly what is given. */
export const REMOVE_SAME: Statement = {
  name: 'remove-same-statuses',
  text: `DELETE FROM commit_status.statuses AS s USING ${VALUES_FROM_2} WHERE s.repository = $1 AND s.sha = o.sha AND s.context = o.context
AND s.id = o.id AND s.state = o.state AND s.description IS NOT DISTINCT FROM o.description AND s.target_url IS NOT DISTINCT FROM o.target_url
AND s.created_at = o.created_at AND s.updated_at = o.updated_at`,
}

/** A page has a few hundred. */
export const PAGE_ROWS = 500

const PAGE: Statement = {
  name: 'page',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND (sha, context) > ($2, $3) ORDER BY sha, context LIMIT ${PAGE_ROWS}`,
}

const MOVE: Statement = {
  name: 'move-statuses',
  text: `INSERT INTO commit_status.statuses
  (repository, ${COLUMNS}, previous_state, previous_description, previous_target_url, previous_updated_at)
SELECT $2::bytea, ${COLUMNS}, previous_state, previous_description, previous_target_url, previous_updated_at
FROM commit_status.statuses WHERE repository = $1
ON CONFLICT (repository, sha, context) DO UPDATE SET
  id = EXCLUDED.id, state = EXCLUDED.state, description = EXCLUDED.description, target_url = EXCLUDED.target_url,
  created_at = EXCLUDED.created_at, updated_at = EXCLUDED.updated_at,
  previous_state = EXCLUDED.previous_state, previous_description = EXCLUDED.previous_description,
  previous_target_url = EXCLUDED.previous_target_url, previous_updated_at = EXCLUDED.previous_updated_at
WHERE statuses.updated_at <= EXCLUDED.updated_at`,
}

const REMOVE: Statement = { name: 'remove-statuses', text: 'DELETE FROM commit_status.statuses WHERE repository = $1' }
const REMOVE_OF: Statement = { name: 'remove-statuses-of', text: `${REMOVE.text} AND sha = $2` }
const REMOVE_ONE: Statement = { name: 'remove-status', text: `${REMOVE_OF.text} AND context = $3` }
const COUNT: Statement = { name: 'count-statuses', text: 'SELECT count(*)::float8 AS count FROM commit_status.statuses WHERE repository = $1' }

export class PostgresStatuses implements StatusStore {
  readonly #database: Database
  readonly #writer: Writer<ReportRow, SavedStatus>
  /** By repository: a statement is never about several, which another node may have, and be slow. */
  readonly #lists = new Map<string, Lookups<Buffer, readonly StatusRow[]>>()

  constructor(database: Database, writer: Writer<ReportRow, SavedStatus>) {
    this.#database = database
    this.#writer = writer
  }

  async save(repository: RepositoryName, commit: ObjectId, report: Report, at: number): Promise<SavedStatus> {
    return await this.#writer.apply({
      key: `${repository.full}/${commit.hex}/${report.context}`,
      size: sizeOf(report),
      row: { repository: Buffer.from(repository.full), sha: Buffer.from(commit.hex, 'hex'), context: Buffer.from(report.context), report, at },
    })
  }

  async list({ full }: RepositoryName, commit: ObjectId): Promise<CommitStatus[]> {
    const lists = this.#lists.get(full) ?? new Lookups(async (shas: readonly Buffer[]) => await this.#find(full, shas))
    this.#lists.set(full, lists)
    try {
      const rows = await this.#database.held(async () => await lists.get(commit.hex, Buffer.from(commit.hex, 'hex')))
      return rows.map(fromRow)
    } finally {
      if (lists.isIdle) this.#lists.delete(full)
    }
  }

  async remove(repository: RepositoryName, commit: ObjectId, context: string | undefined): Promise<number> {
    const place = [Buffer.from(repository.full), Buffer.from(commit.hex, 'hex')]
    const [statement, values] = context === undefined ? [REMOVE_OF, place] : [REMOVE_ONE, [...place, Buffer.from(context)]]
    // Not twice: nobody would know how many there were, and a report may have come in between.
    return await this.#writer.applyAlone(async () => await this.#database.change(statement, values, { once: true }))
  }

  async count(repository: RepositoryName): Promise<number> {
    const rows = await this.#database.query<{ count: number }>(COUNT, [Buffer.from(repository.full)])
    return rows.reduce((sum, { count }) => sum + count, 0)
  }

  async *scan(repository: RepositoryName): AsyncGenerator<CommitStatus> {
    for await (const page of this.pages(repository)) yield* page
  }

  /** As `scan`, a few hundred at a time. */
  async *pages(repository: RepositoryName): AsyncGenerator<CommitStatus[]> {
    const snapshot = await this.#database.snapshot()
    try {
      yield* pagesOf(snapshot, repository)
    } finally {
      snapshot.close()
    }
  }

  async #find(repository: string, shas: readonly Buffer[]): Promise<(sha: Buffer) => readonly StatusRow[]> {
    const several = shas.length > 1
    const rows = await this.#database.query<StatusRow>(several ? LIST_SEVERAL : LIST, [Buffer.from(repository), several ? shas : shas[0]])
    const bySha = new Map<string, StatusRow[]>()
    for (const row of rows) {
      const hex = row.sha.toString('hex')
      const known = bySha.get(hex)
      if (known) known.push(row)
      else bySha.set(hex, [row])
    }
    return (sha) => bySha.get(sha.toString('hex')) ?? []
  }
}

/** As `scan` of `StatusStore`, a few hundred at a time, of a moment. */
export async function* pagesOf(snapshot: Snapshot, repository: RepositoryName): AsyncGenerator<CommitStatus[]> {
  const nothing = Buffer.alloc(0)
  let last: Pick<StatusRow, 'sha' | 'context'> | undefined = { sha: nothing, context: nothing }
  while (last) {
    const rows: StatusRow[] = await snapshot.query<StatusRow>(PAGE, [Buffer.from(repository.full), last.sha, last.context])
    if (rows.length > 0) yield rows.map(fromRow)
    last = rows[PAGE_ROWS - 1]
  }
}

/**
 * Saves reports of different keys in one statement. It is not sent again when it may have been done: over another
 * instance a later report of the same key may have come in between.
 */
export async function saveReports(database: Database, reports: readonly ReportRow[]): Promise<SavedStatus[]> {
  // In one order everywhere, so that no two statements wait for each other.
  const rows = reports.toSorted((one, other) => Buffer.compare(one.repository, other.repository) || Buffer.compare(one.sha, other.sha) || Buffer.compare(one.context, other.context))
  const values = [
    rows.map(({ repository }) => repository),
    rows.map(({ sha }) => sha),
    rows.map(({ context }) => context),
    rows.map(() => randomBytes(9).toString('base64url')),
    rows.map(({ report }) => report.state),
    rows.map(({ report }) => report.description),
    rows.map(({ report }) => report.target_url),
    rows.map(({ at }) => Math.trunc(at)),
  ]
  const saved = await database.run(
    async (connection) => {
      const answer = await connection.query<SavedRow>(SAVE, [...values, connection.tooLate])
      if (answer.length < rows.length) throw DatabaseFailure.tooLate()
      return answer
    },
    { once: true },
  )
  const byKey = new Map(saved.map((row) => [rowKeyOf(row), row]))
  return reports.map((row) => {
    const found = byKey.get(rowKeyOf(row))
    /* c8 ignore next -- as many came back as were sent, and every key is there once */
    if (!found) throw new Error('a report came back under another key')
    return fromSaved(found, row.report)
  })
}

/** Moves all statuses of a repository to another name. */
export async function moveStatuses(connection: Connection, from: RepositoryName, to: RepositoryName): Promise<void> {
  await connection.change(MOVE, [Buffer.from(from.full), Buffer.from(to.full)])
  await removeStatuses(connection, from)
}

export async function removeStatuses(connection: Connection, name: RepositoryName): Promise<void> {
  await connection.change(REMOVE, [Buffer.from(name.full)])
}

function rowKeyOf({ repository, sha, context }: Pick<SavedRow, 'repository' | 'sha' | 'context'>): string {
  return `${repository.toString()}/${sha.toString('hex')}/${context.toString()}`
}

/** The columns of statuses, each as a list. */
export function valuesOf(statuses: readonly CommitStatus[]): unknown[][] {
  return [
    statuses.map(({ sha }) => Buffer.from(sha, 'hex')),
    statuses.map(({ context }) => Buffer.from(context)),
    statuses.map(({ id }) => id),
    statuses.map(({ state }) => state),
    statuses.map(({ description }) => description),
    statuses.map(({ target_url }) => target_url),
    statuses.map(({ created_at }) => Date.parse(created_at)),
    statuses.map(({ updated_at }) => Date.parse(updated_at)),
  ]
}

/** Tells a status from the others of its repository. */
export function keyOf({ sha, context }: Pick<CommitStatus, 'sha' | 'context'>): string {
  return `${sha}/${context}`
}

export function fromRow({ id, sha, context, state, description, target_url, created_at, updated_at }: StatusRow): CommitStatus {
  return { id, sha: sha.toString('hex'), context: context.toString(), state, description, target_url, created_at: time(created_at), updated_at: time(updated_at) }
}

function fromSaved(row: SavedRow, { state, description, target_url }: Report): SavedStatus {
  const { previous_state } = row
  const status = fromRow({ ...row, state, description, target_url })
  if (previous_state === null) return { status, previous: undefined }
  return { status, previous: fromRow({ ...row, state: previous_state, description: row.previous_description, target_url: row.previous_target_url, updated_at: row.previous_updated_at }) }
}

function time(milliseconds: string): string {
  return new Date(Number(milliseconds)).toISOString()
}
