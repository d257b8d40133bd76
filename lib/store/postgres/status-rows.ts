import type { CommitStatus, Report, Reporter, State, StoredStatus } from '../../domain/commit-status.js'
import type { RepositoryName } from '../../domain/repository-name.js'

/** A report as it is saved. */
export interface ReportRow {
  readonly repository: Buffer
  readonly sha: Buffer
  readonly context: Buffer
  readonly report: Report
  readonly at: number
  /** How many contexts its commit may have for it to add one; `Infinity` is no limit. */
  readonly maxContexts: number
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
  readonly reporter_user: Buffer | null
  readonly reporter_token: string | null
  readonly pending_since: string | null
}

/** Of `StatusRow`. */
export const COLUMNS =
  'sha, context, id, state, description, target_url, created_at, updated_at, reporter_user, reporter_token, ' +
  'pending_since'

/** Statuses as a table `o`, from `$2` on: what `valuesOf` makes of them. */
export const VALUES_FROM_2 = `unnest($2::bytea[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[],
  $8::bigint[], $9::bigint[], $10::bytea[], $11::text[], $12::bigint[]) AS o (${COLUMNS})`

/** With the slash that ends it in LevelDB's keys, so that both stores have one order: `hello-2/` is before `hello/`. */
export function repositoryText({ full }: RepositoryName): string {
  return `${full}/`
}

/** `repositoryText` as it is kept. */
export function repositoryKey(repository: RepositoryName): Buffer {
  return Buffer.from(repositoryText(repository))
}

/** The columns of statuses, each as a list. */
export function valuesOf(statuses: readonly StoredStatus[]): unknown[][] {
  return [
    statuses.map(({ sha }) => Buffer.from(sha, 'hex')),
    statuses.map(({ context }) => Buffer.from(context)),
    statuses.map(({ id }) => id),
    statuses.map(({ state }) => state),
    statuses.map(({ description }) => description),
    statuses.map(({ target_url }) => target_url),
    statuses.map(({ created_at }) => Date.parse(created_at)),
    statuses.map(({ updated_at }) => Date.parse(updated_at)),
    ...reporterValues(statuses),
    statuses.map(({ pending_since }) => (pending_since === undefined ? null : Date.parse(pending_since))),
  ]
}

/** Who reported, as two columns: of a name any text is kept. */
export function reporterValues(reports: readonly { readonly reporter?: Reporter }[]): unknown[][] {
  return [
    reports.map(({ reporter }) => (reporter ? Buffer.from(reporter.user) : null)),
    reports.map(({ reporter }) => reporter?.token ?? null),
  ]
}

export function reporterOf(user: Buffer | null, token: string | null): { reporter?: Reporter } {
  return user === null ? {} : { reporter: { user: user.toString(), token } }
}

/** Tells a status from the others of its repository. */
export function keyOf({ sha, context }: Pick<CommitStatus, 'sha' | 'context'>): string {
  return `${sha}/${context}`
}

export function fromRow({
  id,
  sha,
  context,
  state,
  description,
  target_url,
  created_at,
  updated_at,
  reporter_user,
  reporter_token,
  pending_since,
}: StatusRow): StoredStatus {
  return {
    id,
    sha: sha.toString('hex'),
    context: context.toString(),
    state,
    description,
    target_url,
    created_at: time(created_at),
    updated_at: time(updated_at),
    ...reporterOf(reporter_user, reporter_token),
    ...(pending_since !== null && { pending_since: time(pending_since) }),
  }
}

function time(milliseconds: string): string {
  return new Date(Number(milliseconds)).toISOString()
}
