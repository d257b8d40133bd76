import type { Report, State } from '../../domain/commit-status.js'
import { ContextLimitReached } from '../../errors.js'
import type { SavedStatus } from '../../contracts/records.js'
import type { StatusIds } from '../status-ids.js'
import type { Connection, Statement } from './connection.js'
import { DatabaseFailure } from './database-failure.js'
import type { PostgresDatabase } from './database.js'
import { COLUMNS, fromRow, reporterValues, type ReportRow, type StatusRow } from './status-rows.js'

interface SavedRow extends Pick<StatusRow, 'sha' | 'context' | 'id' | 'created_at' | 'updated_at' | 'pending_since'> {
  readonly repository: Buffer
  readonly previous_state: State | null
  readonly previous_description: string | null
  readonly previous_target_url: string | null
  readonly previous_updated_at: string
  readonly previous_reporter_user: Buffer | null
  readonly previous_reporter_token: string | null
  readonly previous_pending_since: string | null
}

/**
 * What was there before is kept in the row: `RETURNING` shows only what is there now, and a look beforehand could miss
 * a report that another instance saves at the same time.
 *
 * A statement that its server begins only when nobody waits for it any more (it stood still, or the network did) saves
 * nothing: by then a later report may have been acknowledged.
 *
 * New contexts of a commit: as many as `quota` of one statement, and up to `room` with those that are there. Rows that
 * would be more are passed over. The rows are locked in one order, so that no two statements wait for each other.
 *
 * `pending_since` follows the rules of `pendingSince`.
 */
export const SAVE: Statement = {
  name: 'save',
  text: `WITH reported AS (
  SELECT *, EXISTS (SELECT 1 FROM commit_status.statuses AS s
    WHERE s.repository = u.repository AND s.sha = u.sha AND s.context = u.context) AS is_known
  FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
    $9::int[], $10::int[], $13::bytea[], $14::text[])
    AS u (repository, sha, context, id, state, description, target_url, reported_at, quota, room,
      reporter_user, reporter_token)
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY repository, sha, is_known ORDER BY context) AS number FROM reported
), counted AS (
  SELECT repository, sha, (SELECT count(*) FROM (SELECT 1 FROM commit_status.statuses AS s
    WHERE s.repository = n.repository AND s.sha = n.sha LIMIT $11::int) AS there) AS contexts
  FROM numbered AS n WHERE number = 1 AND NOT is_known
)
INSERT INTO commit_status.statuses (repository, ${COLUMNS})
SELECT repository, sha, context, id, state, description, target_url, reported_at, reported_at, reporter_user,
  reporter_token, CASE WHEN state = 'pending' THEN reported_at END
FROM numbered LEFT JOIN counted USING (repository, sha)
WHERE clock_timestamp() < $12::timestamptz
  AND (is_known OR (number <= quota AND contexts + number <= room))
ORDER BY repository, sha, context
ON CONFLICT (repository, sha, context) DO UPDATE SET
  state = EXCLUDED.state, description = EXCLUDED.description, target_url = EXCLUDED.target_url,
  updated_at = GREATEST(statuses.updated_at, EXCLUDED.updated_at),
  reporter_user = EXCLUDED.reporter_user, reporter_token = EXCLUDED.reporter_token,
  pending_since = coalesce(
    CASE WHEN statuses.state = 'pending' THEN statuses.pending_since END,
    CASE WHEN EXCLUDED.state = 'pending' THEN GREATEST(statuses.updated_at, EXCLUDED.updated_at) END),
  previous_state = statuses.state, previous_description = statuses.description,
  previous_target_url = statuses.target_url, previous_updated_at = statuses.updated_at,
  previous_reporter_user = statuses.reporter_user, previous_reporter_token = statuses.reporter_token,
  previous_pending_since = statuses.pending_since
RETURNING repository, sha, context, id, created_at, updated_at, pending_since,
  previous_state, previous_description, previous_target_url, previous_updated_at, previous_reporter_user,
  previous_reporter_token, previous_pending_since`,
}

/** Held until the end of the transaction: what others have added by then, a statement that comes after it sees. */
const LOCK: Statement = {
  name: 'lock-contexts',
  text: "SELECT name FROM commit_status.locks WHERE name = 'contexts' FOR UPDATE",
}

const IN_TIME: Statement = { name: 'in-time', text: 'SELECT clock_timestamp() < $1::timestamptz AS in_time' }

/**
 * Without a lock, as many statements at once never pass a limit: each adds its share of the half that is kept free.
 * An instance has two under way, and maybe some more that it has given up.
 */
const MAX_STATEMENTS_AT_ONCE = 64

interface Limits {
  /** New contexts of one statement. */
  readonly quota: number
  /** Contexts of the commit, with them. */
  readonly room: number
}

function share(maxContexts: number): Limits {
  const half = maxContexts / 2
  return { quota: Math.floor(half / MAX_STATEMENTS_AT_ONCE), room: Math.floor(half) }
}

/** No limit. */
const MAX_INTEGER = 2 ** 31 - 1

/**
 * Saves reports of different keys, in one statement but for those that come near the limit of their commit. It is not
 * sent again when it may have been done: over another instance a later report of the same key may have come in between.
 * @param ids of statuses that are new
 * @returns for each report what was saved, or why it was not
 */
export async function saveReports(
  database: PostgresDatabase,
  reports: readonly ReportRow[],
  ids: StatusIds,
): Promise<(SavedStatus | Error)[]> {
  const saved = await database.run(async (connection) => await save(connection, reports, ids, share), { once: true })
  const left = reports.filter((report) => !saved.has(rowKeyOf(report)))
  const added = left.length > 0 ? await addContexts(database, left, ids) : saved
  return reports.map((row) => {
    const found = saved.get(rowKeyOf(row)) ?? (added instanceof Error ? added : added.get(rowKeyOf(row)))
    if (found instanceof Error) return found
    return found ? fromSaved(found, row.report) : new ContextLimitReached(row.maxContexts)
  })
}

/** As `save` up to the limits themselves, while nobody else does; or why it was not done. */
async function addContexts(
  database: PostgresDatabase,
  reports: readonly ReportRow[],
  ids: StatusIds,
): Promise<Map<string, SavedRow> | Error> {
  try {
    return await database.run(
      async (connection) => {
        await connection.command('BEGIN ISOLATION LEVEL READ COMMITTED')
        await connection.query(LOCK, [])
        const { tooLate } = connection
        const rows = await save(connection, reports, ids, (most) => ({ quota: most, room: most }), tooLate)
        if (rows.size < reports.length) {
          const [row] = await connection.query<{ in_time: boolean }>(IN_TIME, [tooLate])
          if (!row?.in_time) throw DatabaseFailure.tooLate()
        }
        await connection.command('COMMIT')
        return rows
      },
      { once: true },
    )
  } catch (error) {
    /* c8 ignore next -- nothing else is thrown */
    if (!(error instanceof Error)) throw error
    return error
  }
}

/** @returns what was saved, by `rowKeyOf` */
async function save(
  connection: Connection,
  reports: readonly ReportRow[],
  ids: StatusIds,
  limitsOf: (maxContexts: number) => Limits,
  tooLate = connection.tooLate,
): Promise<Map<string, SavedRow>> {
  const limits = reports.map(({ maxContexts }) =>
    maxContexts < MAX_INTEGER ? limitsOf(maxContexts) : { quota: MAX_INTEGER, room: MAX_INTEGER },
  )
  const rows = await connection.query<SavedRow>(SAVE, [
    reports.map(({ repository }) => repository),
    reports.map(({ sha }) => sha),
    reports.map(({ context }) => context),
    reports.map(() => ids.next()),
    reports.map(({ report }) => report.state),
    reports.map(({ report }) => report.description),
    reports.map(({ report }) => report.target_url),
    reports.map(({ at }) => Math.trunc(at)),
    limits.map(({ quota }) => quota),
    limits.map(({ room }) => room),
    Math.max(...limits.map(({ room }) => room)),
    tooLate,
    ...reporterValues(reports.map(({ report }) => report)),
  ])
  return new Map(rows.map((row) => [rowKeyOf(row), row]))
}

function rowKeyOf({ repository, sha, context }: Pick<SavedRow, 'repository' | 'sha' | 'context'>): string {
  return `${repository.toString()}/${sha.toString('hex')}/${context.toString()}`
}

function fromSaved(row: SavedRow, { state, description, target_url, reporter }: Report): SavedStatus {
  const { previous_state } = row
  const [reporter_user, reporter_token] = [reporter ? Buffer.from(reporter.user) : null, reporter?.token ?? null]
  const status = fromRow({ ...row, state, description, target_url, reporter_user, reporter_token })
  if (previous_state === null) return { status, previous: undefined }
  return {
    status,
    previous: fromRow({
      ...row,
      state: previous_state,
      description: row.previous_description,
      target_url: row.previous_target_url,
      updated_at: row.previous_updated_at,
      reporter_user: row.previous_reporter_user,
      reporter_token: row.previous_reporter_token,
      pending_since: row.previous_pending_since,
    }),
  }
}
