import type { State, StoredStatus } from '../../domain/commit-status.js'

/** What a report says itself, with its commit and the id that a new status gets. */
export type ReportedStatus = Omit<StoredStatus, 'created_at' | 'updated_at' | 'pending_since'>

interface Column<S> {
  readonly type: 'bytea' | 'text' | 'bigint'
  /** The parameter for a status. */
  readonly of: (status: S) => Buffer | string | number | null
  /** What a report inserts, where it does not say it itself. */
  readonly insert?: string
  /** What takes the place of an earlier report's value, where it is not what would be inserted. */
  readonly update?: string
  /** How a column that is shown counts in the digest of a list. */
  readonly digest?: (column: string) => string
}

const plain = (column: string): string => column
const hex = (column: string): string => `encode(${column}, 'hex')`
const taggedHex = (column: string): string => `'r' || ${hex(column)}`
/** Texts stand behind their lengths, so that no text can pass for another. */
const description = (column: string): string => `octet_length(${column}) || 'd' || ${column}`
const link = (column: string): string => `octet_length(${column}) || 't' || ${column}`

const LATEST = 'GREATEST(statuses.updated_at, EXCLUDED.updated_at)'
const PENDING_SINCE = `coalesce(CASE WHEN statuses.state = 'pending' THEN statuses.pending_since END,
    CASE WHEN EXCLUDED.state = 'pending' THEN ${LATEST} END)`

const time = (text: string): number => Date.parse(text)

const reported = {
  sha: { type: 'bytea', of: ({ sha }) => Buffer.from(sha, 'hex') },
  context: { type: 'bytea', of: ({ context }) => Buffer.from(context), digest: hex },
  id: { type: 'text', of: ({ id }) => id, digest: plain },
  state: { type: 'text', of: ({ state }): State => state, digest: plain },
  description: { type: 'text', of: (status) => status.description, digest: description },
  target_url: { type: 'text', of: ({ target_url }) => target_url, digest: link },
  reporter_user: { type: 'bytea', of: ({ reporter: by }) => (by ? Buffer.from(by.user) : null), digest: taggedHex },
  reporter_token: { type: 'text', of: ({ reporter }) => reporter?.token ?? null },
} satisfies Record<string, Column<ReportedStatus>>

/** Columns that are computed while a report is saved: `pending_since` by the rules of the function `pendingSince`. */
const computed = {
  created_at: { type: 'bigint', of: (status) => time(status.created_at), insert: 'reported_at', digest: plain },
  updated_at: {
    type: 'bigint',
    of: (status) => time(status.updated_at),
    insert: 'reported_at',
    update: LATEST,
    digest: plain,
  },
  pending_since: {
    type: 'bigint',
    of: (status) => (status.pending_since === undefined ? null : time(status.pending_since)),
    insert: "CASE WHEN state = 'pending' THEN reported_at END",
    update: PENDING_SINCE,
  },
} satisfies Record<string, Column<StoredStatus>>

type Columns = typeof reported & typeof computed

/** A `bigint` is read as a text. */
type Read<V> = V extends number ? string : V

export type StatusRow = { readonly [C in keyof Columns]: Read<ReturnType<Columns[C]['of']>> }

/** The columns that stay what they were when a status is reported again. */
type Fixed = 'sha' | 'context' | 'id' | 'created_at'

/** What a status was before it was reported for the last time. */
export type PreviousRow = { readonly [C in Exclude<keyof Columns, Fixed> as `previous_${C}`]: StatusRow[C] }

type Table<S> = readonly (readonly [name: string, column: Column<S>])[]

/** The columns that a report fills. */
export const REPORT: Table<ReportedStatus> = Object.entries(reported)

/** The columns of a status, first those of its key. */
export const STATUS: Table<StoredStatus> = [...REPORT, ...Object.entries(computed)]

const fixed: readonly string[] = ['sha', 'context', 'id', 'created_at'] satisfies Fixed[]
const replaced = STATUS.filter(([name]) => !fixed.includes(name))

/** Columns of `StatusRow`, as a list in SQL. */
export const COLUMNS = names(STATUS)

/** Columns of `PreviousRow`. */
export const PREVIOUS = replaced.map(([name]) => `previous_${name}`).join(', ')

/** Values of `COLUMNS` that a report inserts. */
export const INSERTED = STATUS.map(([name, { insert = name }]) => insert).join(', ')

/** Assignments by which a report takes the place of an earlier one, which is kept as the previous one. */
export const REPLACE = replaced
  .map(([name, { update = `EXCLUDED.${name}` }]) => `${name} = ${update}, previous_${name} = statuses.${name}`)
  .join(',\n  ')

/** Assignments by which one row takes the place of another as it is. */
export const OVERWRITE = [...STATUS.slice(2).map(([name]) => name), ...PREVIOUS.split(', ')]
  .map((name) => `${name} = EXCLUDED.${name}`)
  .join(', ')

/** Whether two rows, `s` and `o`, are the same status. */
export const IS_SAME = STATUS.map(([name], index) =>
  index < 2 ? `s.${name} = o.${name}` : `s.${name} IS NOT DISTINCT FROM o.${name}`,
).join(' AND ')

export function names<S>(table: Table<S>): string {
  return table.map(([name]) => name).join(', ')
}

/** What `unnest` takes: each column as an array, a parameter from `$first` on. */
export function arrays<S>(table: Table<S>, first: number): string {
  return table.map(([, { type }], index) => `$${first + index}::${type}[]`).join(', ')
}

/** The parameters of `arrays`. */
export function values<S>(table: Table<S>, statuses: readonly S[]): unknown[][] {
  return table.map(([, { of }]) => statuses.map((status) => of(status)))
}

/**
 * An expression of SQL for what tells a list from every other one: all that is shown of its statuses, and who reported
 * them.
 * @param rows the name of the rows, of one commit; without any it is null
 */
export function digestExpression(rows: string): string {
  const columns = STATUS.flatMap(([name, { digest }]) => digest?.(`${rows}.${name}`) ?? [])
  const all = `string_agg(concat_ws(',', ${columns.join(', ')}), ',' ORDER BY ${rows}.context)`
  // A text in hexadecimal digits; 160 bits of it, since it is sent to and fro.
  return `substr(sha256(convert_to(${all}, 'UTF8'))::text, 3, 40)`
}
