import type { CommitStatus, StoredStatus } from '../../domain/commit-status.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { ReportedStatus, StatusRow } from './status-columns.js'

/** A report as it is saved. */
export interface ReportRow extends ReportedStatus {
  readonly name: RepositoryName
  /** The name as `repositoryText` writes it. */
  readonly repository: string
  readonly at: number
  /** How many contexts its commit may have for it to add one; `Infinity` is no limit. */
  readonly maxContexts: number
}

/** The name with the slash of LevelDB's keys, so that both stores have one order: `hello-2/` is before `hello/`. */
export function repositoryText({ escaped }: RepositoryName): string {
  return `${escaped}/`
}

/** `repositoryText` as it is kept. */
export function repositoryKey(repository: RepositoryName): Buffer {
  return Buffer.from(repositoryText(repository))
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
    ...(reporter_user && { reporter: { user: reporter_user.toString(), token: reporter_token } }),
    ...(pending_since !== null && { pending_since: time(pending_since) }),
  }
}

function time(milliseconds: string): string {
  return new Date(Number(milliseconds)).toISOString()
}
