import type { StoredStatus } from '../../domain/commit-status.js'
import type { Grant } from '../../contracts/records.js'
import type { RepositoryMerge } from '../../contracts/store-administration.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { Connection, Statement } from './connection.js'
import type { PostgresDatabase, Snapshot } from './database.js'
import { grantsOn, mergeGrants } from './grants.js'
import { bumpVersionFrom, versionOf } from './repository-versions.js'
import { PAGE_ROWS } from './list-statements.js'
import { REMOVE_SAME } from './statuses.js'
import { arrays, COLUMNS, STATUS, values, type StatusRow } from './status-columns.js'
import { fromRow, keyOf, repositoryKey, repositoryText } from './status-rows.js'

const FIND: Statement = {
  name: 'find-statuses',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses
JOIN unnest($2::bytea[], $3::bytea[]) AS k (sha, context) USING (sha, context) WHERE repository = $1`,
}

const TAKE_SAME: Statement = { name: 'take-same-statuses', text: `${REMOVE_SAME.text} RETURNING s.sha, s.context` }

const INSERT: Statement = {
  name: 'insert-statuses',
  text: `INSERT INTO commit_status.statuses (repository, ${COLUMNS}) SELECT $1::bytea, ${COLUMNS}
FROM unnest(${arrays(STATUS, 2)}) AS o (${COLUMNS}) ON CONFLICT (repository, sha, context) DO NOTHING`,
}

interface Merged {
  readonly status: StoredStatus
  /** What was in its place when the merge began. */
  readonly there: StoredStatus | undefined
}

/** What was there when a merge began, and what tells whether the repository was renamed or deleted since. */
interface Beginning {
  readonly snapshot: Snapshot
  readonly change: string | null
  readonly grants: readonly Grant[]
}

/**
 * A merge, kept here until its commit, which is one transaction: it puts in what stands where nothing has changed since
 * the merge began, whichever instance may have changed it. Reports of those statuses wait for it.
 */
export class PostgresMerge implements RepositoryMerge {
  readonly #repository: RepositoryName
  readonly #database: PostgresDatabase
  readonly #ended: () => void
  readonly #beginning: Promise<Beginning>
  readonly #statuses = new Map<string, Merged>()
  readonly #grants = new Map<string, Grant>()

  /** @param ended is called once it has been let go of */
  constructor(repository: RepositoryName, database: PostgresDatabase, ended: () => void) {
    this.#repository = repository
    this.#database = database
    this.#ended = ended
    this.#beginning = this.#begin()
    // Whoever adds or commits gets the failure.
    this.#beginning.catch(() => undefined)
  }

  async add(statuses: readonly StoredStatus[], grants: readonly Grant[]): Promise<number> {
    const { snapshot } = await this.#beginning
    const [shas, contexts] = values(STATUS, statuses)
    const rows = await snapshot.query<StatusRow>(FIND, [repositoryKey(this.#repository), shas, contexts])
    const known = new Map(rows.map(fromRow).map((status) => [keyOf(status), status]))
    let added = 0
    for (const status of statuses) {
      const there = known.get(keyOf(status))
      // Times of this form sort as text.
      const other = this.#statuses.get(keyOf(status))
      const latest = other?.status ?? there
      if (latest && latest.updated_at >= status.updated_at) continue
      this.#statuses.set(keyOf(status), { status, there })
      if (!other) added++
    }
    for (const grant of grants) this.#grants.set(grant.user, grant)
    return added
  }

  async commit(): Promise<void> {
    const beginning = await this.#beginning
    const merged = [...this.#statuses.values()].sort(inOrder)
    await this.#database.transaction(
      async (connection) => {
        await bumpVersionFrom(connection, this.#repository, beginning.change)
        for (let start = 0; start < merged.length; start += PAGE_ROWS)
          await this.#put(connection, merged.slice(start, start + PAGE_ROWS))
        await mergeGrants(connection, [...this.#grants.values()], beginning.grants)
      },
      [repositoryText(this.#repository)],
    )
  }

  async discard(): Promise<void> {
    this.#ended()
    await this.#beginning.then(
      ({ snapshot }) => {
        snapshot.close()
      },
      () => undefined,
    )
  }

  async #begin(): Promise<Beginning> {
    const snapshot = await this.#database.snapshot(repositoryText(this.#repository))
    try {
      return {
        snapshot,
        change: await versionOf(snapshot, this.#repository),
        grants: await grantsOn(snapshot, this.#repository),
      }
    } catch (error) {
      snapshot.close()
      throw error
    }
  }

  async #put(connection: Connection, merged: readonly Merged[]): Promise<void> {
    const repository = repositoryKey(this.#repository)
    const replaced = merged.flatMap(({ there }) => there ?? [])
    const taken = await connection.query<Pick<StatusRow, 'sha' | 'context'>>(TAKE_SAME, [
      repository,
      ...values(STATUS, replaced),
    ])
    const free = new Set(
      taken.map(({ sha, context }) => keyOf({ sha: sha.toString('hex'), context: context.toString() })),
    )
    const placed = merged.flatMap(({ status, there }) => (!there || free.has(keyOf(status)) ? status : []))
    await connection.change(INSERT, [repository, ...values(STATUS, placed)])
  }
}

/** Compares by key, the order of all statements: so that no two wait for each other. */
function inOrder({ status: one }: Merged, { status: other }: Merged): number {
  return Buffer.compare(Buffer.from(keyOf(one)), Buffer.from(keyOf(other)))
}
