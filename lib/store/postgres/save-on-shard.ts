import { createHash } from 'node:crypto'
import type { Connection, Statement } from './connection.js'
import { InsertedRows } from './inserted-rows.js'
import { noteInOutbox } from './outbox-rows.js'
import { entriesFor, type Noted, type ReportNote } from './report-notes.js'
import { PREVIOUS, REPLACE, STATUS, values, type PreviousRow, type StatusRow } from './status-columns.js'
import type { ReportRow } from './status-rows.js'

/** What a statement that saves returns. */
export const SAVED = `repository, sha, context, id, created_at, updated_at, pending_since, ${PREVIOUS}`

type ReturnedRow = { readonly repository: Buffer } & Pick<
  StatusRow,
  'sha' | 'context' | 'id' | 'created_at' | 'updated_at' | 'pending_since'
> &
  (PreviousRow | { readonly previous_state: null })

export type SavedRow = ReturnedRow & Pick<Noted, 'hooks_version'>

export interface Limits {
  /** New contexts of one statement. */
  readonly quota: number
  /** Contexts of the commit, with them. */
  readonly room: number
}

export interface LimitedReport extends Limits {
  readonly report: ReportRow
}

/** For each commit how many contexts it has, up to a limit, and which of those that are reported. */
const LOOK: Statement = {
  name: 'look-at-contexts',
  text: `SELECT c.commit, (SELECT count(*)::int FROM (SELECT 1 FROM commit_status.statuses AS s
  WHERE s.repository = $1 AND s.sha = c.commit LIMIT $4::int) AS there) AS contexts,
ARRAY(SELECT s.context FROM commit_status.statuses AS s
  WHERE s.repository = $1 AND s.sha = c.commit AND s.context = ANY ($3::bytea[])) AS known
FROM unnest($2::bytea[]) AS c (commit)`,
}

const INSERT = new InsertedRows<ReturnedRow>(
  'save-on-shard',
  'commit_status.statuses',
  STATUS.map(([name]) => name),
  `ON CONFLICT (repository, sha, context) DO UPDATE SET
  ${REPLACE}
RETURNING ${SAVED}`,
)

/** Locks that repositories share, so that there are not as many of them. */
const LOCK: Statement = {
  name: 'lock-contexts-of-repository',
  text: `INSERT INTO commit_status.locks (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name`,
}

/** Held until the end of the transaction, as the one for all repositories where they are on one server. */
export async function lockContextsOf(connection: Connection, reports: readonly ReportRow[]): Promise<void> {
  for (const { repository } of reports.slice(0, 1))
    await connection.change(LOCK, [`contexts ${createHash('sha1').update(repository).digest('hex').slice(0, 2)}`])
}

/**
 * Saves reports of one repository by the rules of the statement `save`, in a transaction of a few statements that each
 * go to its shard. One that is cut short has saved nothing, however late its server goes on: nobody commits it.
 * @param notes what is to be noted with those that are saved
 * @param hooks_version of all hooks, now
 * @returns what was saved, by `rowKeyOf`
 */
export async function saveOnShard(
  connection: Connection,
  reports: readonly LimitedReport[],
  notes: readonly ReportNote[],
  hooks_version: string | null,
): Promise<Map<string, SavedRow>> {
  const placed = await withinLimits(connection, [...reports].sort(inOrder))
  const [repository = Buffer.alloc(0)] = repositoryOf(placed)
  const rows = await INSERT.insert(connection, repository, placed.map(rowOf))
  const saved = byKey(rows.map((row) => ({ ...row, hooks_version })))
  await noteInOutbox(
    connection,
    entriesFor(notes, (report) => saved.get(rowKeyOf(report))),
  )
  return saved
}

/** Those that replace a status, and as many others as may be added. */
async function withinLimits(connection: Connection, reports: readonly LimitedReport[]): Promise<ReportRow[]> {
  const shas = [...new Set(reports.map(({ report }) => report.sha))]
  const found = await connection.query<{ commit: Buffer; contexts: number; known: Buffer[] }>(LOOK, [
    ...repositoryOf(reports.map(({ report }) => report)),
    shas.map((sha) => Buffer.from(sha, 'hex')),
    reports.map(({ report }) => Buffer.from(report.context)),
    Math.max(...reports.map(({ room }) => room)),
  ])
  const known = new Set(
    found.flatMap(({ commit, known }) => known.map((context) => `${commit.toString('hex')}/${context.toString()}`)),
  )
  const contexts = new Map(found.map(({ commit, contexts }) => [commit.toString('hex'), { there: contexts, added: 0 }]))
  return reports.flatMap(({ report, quota, room }) => {
    const commit = contexts.get(report.sha)
    if (!commit || known.has(`${report.sha}/${report.context}`)) return report
    commit.added++
    return commit.added <= quota && commit.there + commit.added <= room ? report : []
  })
}

/** The one that all of them have. */
function repositoryOf(reports: readonly ReportRow[]): Buffer[] {
  return reports.slice(0, 1).map(({ repository }) => Buffer.from(repository))
}

/** The values of a row, as it is where there is none before it. */
function rowOf(report: ReportRow): unknown[] {
  const at = new Date(report.at).toISOString()
  const pending = report.state === 'pending' && { pending_since: at }
  return values(STATUS, [{ ...report, created_at: at, updated_at: at, ...pending }]).flat()
}

export function byKey(rows: readonly SavedRow[]): Map<string, SavedRow> {
  return new Map(
    rows.map((row) => [`${row.repository.toString()}${row.sha.toString('hex')}/${row.context.toString()}`, row]),
  )
}

export function rowKeyOf({ repository, sha, context }: ReportRow): string {
  return `${repository}${sha}/${context}`
}

/** Compares by key, the order of all statements: so that no two wait for each other. */
function inOrder({ report: one }: LimitedReport, { report: other }: LimitedReport): number {
  return Buffer.compare(Buffer.from(rowKeyOf(one)), Buffer.from(rowKeyOf(other)))
}
