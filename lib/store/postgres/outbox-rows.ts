import type { OutboxEntry } from '../../contracts/hooks.js'
import type { State } from '../../domain/commit-status.js'
import { isPushText } from '../../domain/push.js'
import { parseEscapedName, type RepositoryName } from '../../domain/repository-name.js'
import type { Connection, Statement } from './connection.js'
import { InsertedRows } from './inserted-rows.js'
import { repositoryKey } from './status-rows.js'

/** An entry of the outbox as it is kept. */
export interface OutboxRow {
  readonly repository: Buffer
  readonly hook: string
  readonly subject: Buffer
  readonly delivery: string
  /** Milliseconds since 1970. */
  readonly since: string
  readonly from_state: State | null
}

const OUTBOX = 'commit_status.outbox'
const BROKEN = 'commit_status.broken_branches'
const COLUMNS = ['hook', 'subject', 'delivery', 'since', 'from_state']
const KEY = '(repository, hook, subject)'

/** There is something new to tell of what may wait already. */
export const NOTE_CONFLICT = `ON CONFLICT ${KEY} DO UPDATE SET delivery = EXCLUDED.delivery`

const NOTED = new InsertedRows('note-in-outbox', OUTBOX, COLUMNS, NOTE_CONFLICT)
const ADDED = new InsertedRows('add-to-outbox', OUTBOX, COLUMNS, `ON CONFLICT ${KEY} DO NOTHING`)

/** The oldest of a hook; what is of one time begins with statuses, before what branches come to by them. */
export const OLDEST: Statement = {
  name: 'oldest-of-outbox',
  text: `SELECT repository, ${COLUMNS.join(', ')} FROM ${OUTBOX} WHERE hook = $1
ORDER BY since, repository, subject DESC LIMIT $2 OFFSET $3`,
}

const LATEST: Statement = {
  name: 'latest-in-outbox',
  text: `SELECT max(since) AS latest FROM ${OUTBOX} WHERE repository = $1`,
}

export const WAITING: Statement = {
  name: 'waiting-in-outbox',
  text: `SELECT hook, count(*)::float8 AS count, min(since) AS since FROM ${OUTBOX} GROUP BY hook`,
}

const ENTRY = 'repository = $1 AND hook = $2 AND subject = $3'
export const LOCK_ENTRY: Statement = {
  name: 'lock-in-outbox',
  text: `SELECT delivery FROM ${OUTBOX} WHERE ${ENTRY} FOR UPDATE`,
}
export const REMOVE_ENTRY: Statement = { name: 'remove-from-outbox', text: `DELETE FROM ${OUTBOX} WHERE ${ENTRY}` }
export const SET_FROM: Statement = {
  name: 'set-from-in-outbox',
  text: `UPDATE ${OUTBOX} SET from_state = $4 WHERE ${ENTRY}`,
}

export const BROKEN_OF: Statement = {
  name: 'broken-branches',
  text: `SELECT branches FROM ${BROKEN} WHERE repository = $1 AND hook = $2`,
}
export const SET_BROKEN: Statement = {
  name: 'set-broken-branches',
  text: `INSERT INTO ${BROKEN} (repository, hook, branches) VALUES ($1, $2, $3)
ON CONFLICT (repository, hook) DO UPDATE SET branches = EXCLUDED.branches`,
}

export const REMOVE_BROKEN: Statement = {
  name: 'remove-broken-branches-of-one',
  text: `DELETE FROM ${BROKEN} WHERE repository = $1 AND hook = $2`,
}

/** What removes all that is kept for a hook. */
export const REMOVE_HOOK: readonly Statement[] = [
  { name: 'remove-hook-from-outbox', text: `DELETE FROM ${OUTBOX} WHERE hook = $1` },
  { name: 'remove-broken-branches-of-hook', text: `DELETE FROM ${BROKEN} WHERE hook = $1` },
]

/** What copies all that is kept of a repository to another name. */
const COPY: readonly Statement[] = [
  {
    name: 'copy-outbox',
    text: `INSERT INTO ${OUTBOX} (repository, ${COLUMNS.join(', ')}) SELECT $2::bytea, ${COLUMNS.join(', ')}
FROM ${OUTBOX} WHERE repository = $1 ${NOTE_CONFLICT}`,
  },
  {
    name: 'copy-broken-branches',
    text: `INSERT INTO ${BROKEN} (repository, hook, branches) SELECT $2::bytea, hook, branches
FROM ${BROKEN} WHERE repository = $1 ON CONFLICT (repository, hook) DO UPDATE SET branches = EXCLUDED.branches`,
  },
]

const REMOVE: readonly Statement[] = [
  { name: 'remove-repository-from-outbox', text: `DELETE FROM ${OUTBOX} WHERE repository = $1` },
  { name: 'remove-broken-branches', text: `DELETE FROM ${BROKEN} WHERE repository = $1` },
]

const REMOVE_HOOKS: readonly Statement[] = [
  {
    name: 'remove-hooks-of-repository',
    text: `DELETE FROM ${OUTBOX} WHERE repository = $1 AND hook = ANY ($2::text[])`,
  },
  {
    name: 'remove-broken-branches-of-hooks',
    text: `DELETE FROM ${BROKEN} WHERE repository = $1 AND hook = ANY ($2::text[])`,
  },
]

/**
 * Moves all that waits of a repository to another name.
 * @param gone hooks that were on that name alone
 */
export async function moveOutbox(
  connection: Connection,
  from: RepositoryName,
  to: RepositoryName,
  gone: readonly string[],
): Promise<void> {
  for (const statement of REMOVE_HOOKS) await connection.change(statement, [repositoryKey(to), gone])
  for (const statement of COPY) await connection.change(statement, [repositoryKey(from), repositoryKey(to)])
  await removeFromOutbox(connection, from)
}

export async function removeFromOutbox(connection: Connection, name: RepositoryName): Promise<void> {
  for (const statement of REMOVE) await connection.change(statement, [repositoryKey(name)])
}

/** Notes entries of one repository: there is something new to tell. */
export async function noteInOutbox(connection: Connection, entries: readonly OutboxEntry[]): Promise<void> {
  await insert(NOTED, connection, entries)
}

/** Adds entries of one repository, pushes behind all that waits of it; what waits already stays as it is. */
export async function addToOutbox(connection: Connection, entries: readonly OutboxEntry[]): Promise<void> {
  const of = entries.slice(0, 1).map(({ repository }) => repositoryKey(repository))
  const rows = await connection.query<{ latest: string | null }>(LATEST, of)
  let latest = Math.max(...rows.map((row) => Number(row.latest)))
  const behind = entries.map((entry) => {
    if (!isPushText(entry.subject)) return entry
    latest = Math.max(Date.parse(entry.since), latest + 1)
    return { ...entry, since: new Date(latest).toISOString() }
  })
  await insert(ADDED, connection, behind)
}

/** `undefined` for what nobody can have noted. */
export function entryOf({
  repository,
  hook,
  subject,
  delivery,
  since,
  from_state,
}: OutboxRow): OutboxEntry | undefined {
  const name = parseEscapedName(repository.toString().slice(0, -1))
  return (
    name && {
      ...{ hook, repository: name, subject: subject.toString(), delivery, from: from_state },
      since: new Date(Number(since)).toISOString(),
    }
  )
}

async function insert(into: InsertedRows, connection: Connection, entries: readonly OutboxEntry[]): Promise<void> {
  for (const { repository } of entries.slice(0, 1))
    await into.insert(connection, repositoryKey(repository), inOrder(entries).map(valuesOf))
}

function valuesOf({ hook, subject, delivery, since, from }: OutboxEntry): unknown[] {
  return [hook, Buffer.from(subject), delivery, Date.parse(since), from]
}

/** Each once, in an order that is the same everywhere, so that no two wait for each other. */
function inOrder(entries: readonly OutboxEntry[]): OutboxEntry[] {
  const each = [...new Map(entries.map((entry) => [`${entry.hook} ${entry.subject}`, entry]))]
  return each.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry)
}
