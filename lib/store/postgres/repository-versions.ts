import { randomBytes } from 'node:crypto'
import { StoreUnavailable } from '../../errors.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { Connection, Statement } from './connection.js'
import type { Snapshot } from './database.js'

const TABLE = 'commit_status.repository_changes'
const READ: Statement = { name: 'read-change', text: `SELECT change FROM ${TABLE} WHERE repository = $1` }
const INSERT = `INSERT INTO ${TABLE} (repository, change) SELECT r.repository, $2::text FROM unnest($1::bytea[]) AS r
  (repository)
ON CONFLICT (repository) DO UPDATE SET change = EXCLUDED.change`
const NOTE: Statement = { name: 'note-change', text: INSERT }
const NOTE_AFTER: Statement = { name: 'note-change-after', text: `${INSERT} WHERE repository_changes.change = $3` }

/** What is versioned: a repository, by its full name, or something whose name has no slash. */
type Versioned = Pick<RepositoryName, 'full'>

/** All hooks together. */
export const ALL_HOOKS = { full: 'hooks' } satisfies Versioned

/** An expression for the version of all hooks. */
export const HOOKS_VERSION = `(SELECT change FROM ${TABLE} WHERE repository = '${ALL_HOOKS.full}')`

/** The last change to all that a repository had; `null`: none that is known. */
export async function versionOf(database: Pick<Snapshot, 'query'>, repository: Versioned): Promise<string | null> {
  const rows = await database.query<{ change: string }>(READ, [Buffer.from(repository.full)])
  return rows.reduce<string | null>((_, { change }) => change, null)
}

/**
 * Notes that repositories are renamed or deleted: one after the other, over all instances, until the transaction ends.
 */
export async function bumpVersion(connection: Connection, ...repositories: readonly Versioned[]): Promise<void> {
  // The order is the same everywhere, so that no two wait for each other.
  await connection.change(NOTE, [
    repositories
      .map(({ full }) => full)
      .sort()
      .map((full) => Buffer.from(full)),
    newVersion(),
  ])
}

/**
 * Notes as `bumpVersion`, if `last` is still the last change.
 * @throws StoreUnavailable
 */
export async function bumpVersionFrom(
  connection: Connection,
  repository: RepositoryName,
  last: string | null,
): Promise<void> {
  const noted = await connection.change(NOTE_AFTER, [[Buffer.from(repository.full)], newVersion(), last])
  if (noted === 0)
    throw new StoreUnavailable(`${repository.full} was not changed: it was renamed, deleted or merged into meanwhile`)
}

function newVersion(): string {
  return randomBytes(9).toString('base64url')
}
