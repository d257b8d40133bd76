import { ContextLimitReached } from '../../errors.js'
import type { SavedStatus } from '../../contracts/records.js'
import type { Connection, Statement } from './connection.js'
import { DatabaseFailure } from './database-failure.js'
import type { PostgresDatabase, RetryPolicy } from './database.js'
import {
  byKey,
  lockContextsOf,
  rowKeyOf,
  saveOnShard,
  SAVED,
  type LimitedReport,
  type Limits,
  type SavedRow,
} from './save-on-shard.js'
import { arrays, COLUMNS, INSERTED, names, REPLACE, REPORT, values } from './status-columns.js'
import { fromRow, type ReportRow } from './status-rows.js'

/**
 * What was there before is kept in the row: `RETURNING` shows only what is there now, and a look beforehand could miss
 * a report that another instance saves at the same time.
 *
 * A statement that its server begins only when nobody waits for it any more (it stood still, or the network did) saves
 * nothing: by then a later report may have been acknowledged.
 *
 * New contexts of a commit: as many as `quota` of one statement, and up to `room` with those that are there. Rows that
 * would be more are passed over. The rows are locked in one order, so that no two statements wait for each other.
 */
export const SAVE: Statement = {
  name: 'save',
  text: `WITH reported AS (
  SELECT *, EXISTS (SELECT 1 FROM commit_status.statuses AS s
    WHERE s.repository = u.repository AND s.sha = u.sha AND s.context = u.context) AS is_known
  FROM unnest($1::bytea[], $2::bigint[], $3::int[], $4::int[], ${arrays(REPORT, 7)})
    AS u (repository, reported_at, quota, room, ${names(REPORT)})
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY repository, sha, is_known ORDER BY context) AS number FROM reported
), counted AS (
  SELECT repository, sha, (SELECT count(*) FROM (SELECT 1 FROM commit_status.statuses AS s
    WHERE s.repository = n.repository AND s.sha = n.sha LIMIT $5::int) AS there) AS contexts
  FROM numbered AS n WHERE number = 1 AND NOT is_known
)
INSERT INTO commit_status.statuses (repository, ${COLUMNS})
SELECT repository, ${INSERTED}
FROM numbered LEFT JOIN counted USING (repository, sha)
WHERE clock_timestamp() < $6::timestamptz
  AND (is_known OR (number <= quota AND contexts + number <= room))
ORDER BY repository, sha, context
ON CONFLICT (repository, sha, context) DO UPDATE SET
  ${REPLACE}
RETURNING ${SAVED}`,
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

function share(maxContexts: number): Limits {
  const half = maxContexts / 2
  return { quota: Math.floor(half / MAX_STATEMENTS_AT_ONCE), room: Math.floor(half) }
}

/** No limit. */
const MAX_INTEGER = 2 ** 31 - 1

/**
 * Saves reports of different keys, in one statement but for those that come near the limit of their commit. It is not
 * sent again when it may have been done: over another instance a later report of the same key may have come in between.
 * @returns for each report what was saved, or why it was not
 */
export async function saveReports(
  database: PostgresDatabase,
  reports: readonly ReportRow[],
): Promise<(SavedStatus | Error)[]> {
  const policy = { repositories: reports.map(({ repository }) => repository).slice(0, 1), once: true }
  const saved = await database.run(
    async (connection) =>
      database.isSharded
        ? await inTransaction(connection, async () => await saveOnShard(connection, limited(reports, share)))
        : await save(connection, limited(reports, share)),
    policy,
  )
  const left = reports.filter((report) => !saved.has(rowKeyOf(report)))
  const added = left.length > 0 ? await addContexts(database, left, policy) : saved
  return reports.map((row) => {
    const found = saved.get(rowKeyOf(row)) ?? (added instanceof Error ? added : added.get(rowKeyOf(row)))
    if (found instanceof Error) return found
    return found ? fromSaved(found, row) : new ContextLimitReached(row.maxContexts)
  })
}

/** Saves as `save`, up to the limits themselves, while nobody else does; gives why it was not done if it was not. */
async function addContexts(
  database: PostgresDatabase,
  reports: readonly ReportRow[],
  policy: RetryPolicy,
): Promise<Map<string, SavedRow> | Error> {
  try {
    const limits = limited(reports, (maxContexts) => ({ quota: maxContexts, room: maxContexts }))
    return await database.run(
      async (connection) =>
        await inTransaction(connection, async () => {
          if (database.isSharded) {
            await lockContextsOf(connection, reports)
            return await saveOnShard(connection, limits)
          }
          await connection.query(LOCK, [])
          const { tooLate } = connection
          const rows = await save(connection, limits, tooLate)
          if (rows.size < reports.length) {
            const [row] = await connection.query<{ in_time: boolean }>(IN_TIME, [tooLate])
            if (!row?.in_time) throw DatabaseFailure.tooLate()
          }
          return rows
        }),
      policy,
    )
  } catch (error) {
    /* c8 ignore next -- nothing else is thrown */
    if (!(error instanceof Error)) throw error
    return error
  }
}

/** Does something in a transaction that sees what others have committed before each of its statements. */
async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.command('BEGIN ISOLATION LEVEL READ COMMITTED')
  const result = await work()
  await connection.command('COMMIT')
  return result
}

function limited(reports: readonly ReportRow[], limitsOf: (maxContexts: number) => Limits): LimitedReport[] {
  return reports.map((report) => ({
    report,
    ...(report.maxContexts < MAX_INTEGER ? limitsOf(report.maxContexts) : { quota: MAX_INTEGER, room: MAX_INTEGER }),
  }))
}

/** @returns what was saved, by `rowKeyOf` */
async function save(
  connection: Connection,
  limits: readonly LimitedReport[],
  tooLate = connection.tooLate,
): Promise<Map<string, SavedRow>> {
  const reports = limits.map(({ report }) => report)
  const rows = await connection.query<SavedRow>(SAVE, [
    reports.map(({ repository }) => Buffer.from(repository)),
    reports.map(({ at }) => Math.trunc(at)),
    limits.map(({ quota }) => quota),
    limits.map(({ room }) => room),
    Math.max(...limits.map(({ room }) => room)),
    tooLate,
    ...values(REPORT, reports),
  ])
  return byKey(rows)
}

function fromSaved(row: SavedRow, { state, description, target_url, reporter }: ReportRow): SavedStatus {
  const [reporter_user, reporter_token] = [reporter ? Buffer.from(reporter.user) : null, reporter?.token ?? null]
  const status = fromRow({ ...row, state, description, target_url, reporter_user, reporter_token })
  if (row.previous_state === null) return { status, previous: undefined }
  return {
    status,
    previous: fromRow({
      ...row,
      state: row.previous_state,
      description: row.previous_description,
      target_url: row.previous_target_url,
      updated_at: row.previous_updated_at,
      reporter_user: row.previous_reporter_user,
      reporter_token: row.previous_reporter_token,
      pending_since: row.previous_pending_since,
    }),
  }
}
