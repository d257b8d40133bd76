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
import { NOTE_CONFLICT } from './outbox-rows.js'
import type { PostgresOutbox } from './outbox.js'
import { noteArrays, type Notes } from './report-notes.js'
import { HOOKS_VERSION } from './repository-versions.js'
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
const PLACED = `WITH reported AS (
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
)`

const INSERT = `INSERT INTO commit_status.statuses (repository, ${COLUMNS})
SELECT repository, ${INSERTED}
FROM numbered LEFT JOIN counted USING (repository, sha)
WHERE clock_timestamp() < $6::timestamptz
  AND (is_known OR (number <= quota AND contexts + number <= room))
ORDER BY repository, sha, context
ON CONFLICT (repository, sha, context) DO UPDATE SET
  ${REPLACE}
RETURNING ${SAVED}, ${HOOKS_VERSION} AS hooks_version`

export const SAVE: Statement = { name: 'save', text: `${PLACED}\n${INSERT}` }

const NOTE_TYPES = ['bytea', 'bytea', 'bytea', 'text', 'bytea', 'text', 'bigint']
const NOTE_ARRAYS = NOTE_TYPES.map((type, index) => `$${REPORT.length + 7 + index}::${type}[]`).join(', ')

/** Notes besides what is to be told of what is saved, once for each hook and subject. */
const SAVE_AND_NOTE: Statement = {
  name: 'save-and-note',
  text: `${PLACED}, saved AS (
${INSERT}
), noted AS (
  INSERT INTO commit_status.outbox (repository, hook, subject, delivery, since, from_state)
  SELECT DISTINCT ON (repository, hook, subject) repository, hook, subject, delivery, since, previous_state
  FROM saved JOIN unnest(${NOTE_ARRAYS}) AS n (repository, sha, context, hook, subject, delivery, since)
    USING (repository, sha, context)
  ORDER BY repository, hook, subject
  ${NOTE_CONFLICT}
)
SELECT * FROM saved`,
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

/** What a transaction begins with on Citus, whose statements that save cannot say it. */
const READ_VERSION = `SELECT ${HOOKS_VERSION} AS hooks_version`

/**
 * Saves reports of different keys, in one statement but for those that come near the limit of their commit. It is not
 * sent again when it may have been done: over another instance a later report of the same key may have come in between.
 * @param outbox where is noted what is to be told of them, in the same transaction
 * @returns for each report what was saved, or why it was not
 */
export async function saveReports(
  database: PostgresDatabase,
  reports: readonly ReportRow[],
  outbox: Pick<PostgresOutbox, 'notesOf' | 'saved'>,
): Promise<(SavedStatus | Error)[]> {
  const policy = { repositories: reports.map(({ repository }) => repository).slice(0, 1), once: true }
  const notes = outbox.notesOf(reports)
  const saved = await database.run(
    async (connection) =>
      database.isSharded
        ? await inShardTransaction(connection, notes, limited(reports, share))
        : await save(connection, notes, limited(reports, share)),
    policy,
  )
  const left = reports.filter((report) => !saved.has(rowKeyOf(report)))
  const added = left.length > 0 ? await addContexts(database, notes, left, policy) : saved
  const rows = reports.map((report) => {
    const key = rowKeyOf(report)
    return saved.get(key) ?? (added instanceof Error ? undefined : added.get(key))
  })
  await outbox.saved(notes, reports, rows)
  return reports.map((report, index) => {
    const row = rows[index]
    if (row) return fromSaved(row, report)
    return added instanceof Error ? added : new ContextLimitReached(report.maxContexts)
  })
}

/** Saves as `save`, up to the limits themselves, while nobody else does; gives why it was not done if it was not. */
async function addContexts(
  database: PostgresDatabase,
  notes: Notes,
  reports: readonly ReportRow[],
  policy: RetryPolicy,
): Promise<Map<string, SavedRow> | Error> {
  try {
    const limits = limited(reports, (maxContexts) => ({ quota: maxContexts, room: maxContexts }))
    return await database.run(async (connection) => {
      if (database.isSharded)
        return await inShardTransaction(connection, notes, limits, async () => {
          await lockContextsOf(connection, reports)
        })
      return await connection.transaction(async () => {
        await connection.query(LOCK, [])
        const { tooLate } = connection
        const rows = await save(connection, notes, limits, tooLate)
        if (rows.size < reports.length) {
          const [row] = await connection.query<{ in_time: boolean }>(IN_TIME, [tooLate])
          if (!row?.in_time) throw DatabaseFailure.tooLate()
        }
        return rows
      })
    }, policy)
  } catch (error) {
    /* c8 ignore next -- nothing else is thrown */
    if (!(error instanceof Error)) throw error
    return error
  }
}

/** Saves as `saveOnShard`, after what locks. */
async function inShardTransaction(
  connection: Connection,
  { version, notes }: Notes,
  limits: readonly LimitedReport[],
  lock: () => Promise<void> = async () => await Promise.resolve(),
): Promise<Map<string, SavedRow>> {
  const [row] = await connection.begin<Pick<SavedRow, 'hooks_version'>>(version === undefined ? '' : READ_VERSION)
  await lock()
  const saved = await saveOnShard(connection, limits, notes, row ? row.hooks_version : null)
  await connection.command('COMMIT')
  return saved
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
  { notes }: Notes,
  limits: readonly LimitedReport[],
  tooLate = connection.tooLate,
): Promise<Map<string, SavedRow>> {
  const reports = limits.map(({ report }) => report)
  const rows = await connection.query<SavedRow>(notes.length === 0 ? SAVE : SAVE_AND_NOTE, [
    reports.map(({ repository }) => Buffer.from(repository)),
    reports.map(({ at }) => Math.trunc(at)),
    limits.map(({ quota }) => quota),
    limits.map(({ room }) => room),
    Math.max(...limits.map(({ room }) => room)),
    tooLate,
    ...values(REPORT, reports),
    ...(notes.length === 0 ? [] : noteArrays(notes)),
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
