import {
  commitState,
  type CommitState,
  type Report,
  type State,
  type StoredStatus,
} from '../../domain/commit-status.js'
import type { ObjectId } from '../../domain/object-id.js'
import type { SavedStatus } from '../../contracts/records.js'
import type { RecentStatuses, WholeStatusStore } from '../../contracts/store.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { Meter } from '../../contracts/meter.js'
import { reportSize } from '../bounded-queue.js'
import { StatusIds } from '../status-ids.js'
import type { Connection, Statement } from './connection.js'
import type { PostgresDatabase, RetryPolicy } from './database.js'
import { PostgresLists } from './lists.js'
import { recentStatuses } from './recent-statuses.js'
import { arrays, COLUMNS, IS_SAME, OVERWRITE, PREVIOUS, STATUS, type StatusRow } from './status-columns.js'
import { fromRow, repositoryKey, repositoryText, type ReportRow } from './status-rows.js'
import type { Writers } from './writers.js'

/**
 * One row for each state that a commit has; each commit is looked up apart, as in `LISTS`.
 * @param failed an expression for the contexts of those that failed
 */
const statesOf = (failed: string): string => `SELECT c.at, s.state, s.count, ${failed} AS failed
FROM unnest($2::bytea[]) WITH ORDINALITY AS c (commit, at)
CROSS JOIN LATERAL (SELECT state, count(*)::float8 AS count FROM commit_status.statuses
  WHERE repository = $1 AND sha = c.commit GROUP BY state) AS s`

const STATES_OF: Statement = { name: 'states-of-commits', text: statesOf("'{}'::bytea[]") }

/** States, with the first contexts that failed. */
const STATES_AND_FAILED: Statement = {
  name: 'states-and-failed-of-commits',
  text: statesOf(`ARRAY(SELECT f.context FROM commit_status.statuses AS f
  WHERE s.state IN ('failure', 'error') AND f.repository = $1 AND f.sha = c.commit AND f.state = s.state
  ORDER BY f.context LIMIT $3)`),
}

/** Removes the statuses that are still exactly what is given. */
export const REMOVE_SAME: Statement = {
  name: 'remove-same-statuses',
  text: `DELETE FROM commit_status.statuses AS s USING unnest(${arrays(STATUS, 2)}) AS o (${COLUMNS})
WHERE s.repository = $1 AND ${IS_SAME}`,
}

const ONE: Statement = {
  name: 'one-status',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND sha = $2 AND context = $3`,
}

const MOVE: Statement = {
  name: 'move-statuses',
  text: `INSERT INTO commit_status.statuses (repository, ${COLUMNS}, ${PREVIOUS})
SELECT $2::bytea, ${COLUMNS}, ${PREVIOUS}
FROM commit_status.statuses WHERE repository = $1
ON CONFLICT (repository, sha, context) DO UPDATE SET ${OVERWRITE}
WHERE statuses.updated_at <= EXCLUDED.updated_at`,
}

const REMOVE: Statement = { name: 'remove-statuses', text: 'DELETE FROM commit_status.statuses WHERE repository = $1' }
const REMOVE_OF: Statement = { name: 'remove-statuses-of', text: `${REMOVE.text} AND sha = $2` }
const REMOVE_ONE: Statement = { name: 'remove-status', text: `${REMOVE_OF.text} AND context = $3` }
const COUNT: Statement = {
  name: 'count-statuses',
  text: 'SELECT count(*)::float8 AS count FROM commit_status.statuses WHERE repository = $1',
}

export class PostgresStatuses extends PostgresLists implements WholeStatusStore {
  readonly #database: PostgresDatabase
  readonly #writers: Writers<ReportRow, SavedStatus>
  readonly #ids = new StatusIds()

  /** @param cacheBytes of lists that are kept in memory as they are sent */
  constructor(database: PostgresDatabase, writers: Writers<ReportRow, SavedStatus>, meter: Meter, cacheBytes: number) {
    super(database, meter, cacheBytes)
    this.#database = database
    this.#writers = writers
  }

  async save(
    repository: RepositoryName,
    commit: ObjectId,
    report: Report,
    at: number,
    maxContexts = Infinity,
  ): Promise<SavedStatus> {
    return await this.#writers.apply(repository, {
      key: `${repository.escaped}/${commit.hex}/${report.context}`,
      size: reportSize(report),
      row: {
        ...report,
        id: this.#ids.next(),
        sha: commit.hex,
        name: repository,
        repository: repositoryText(repository),
        at,
        maxContexts,
      },
    })
  }

  async states(
    repository: RepositoryName,
    commits: readonly ObjectId[],
    failed: number | undefined,
  ): Promise<readonly CommitState[]> {
    const shas = commits.map(({ hex }) => Buffer.from(hex, 'hex'))
    const asked = [repositoryKey(repository), shas]
    const rows = await this.#database.keepingOpen(async () =>
      failed === undefined
        ? await this.#database.query<StateRow>(STATES_OF, asked, about(repository))
        : await this.#database.query<StateRow>(STATES_AND_FAILED, [...asked, failed], about(repository)),
    )
    return commits.map((_, index) => {
      // PostgreSQL counts from 1.
      const found = rows.filter(({ at }) => Number(at) === index + 1)
      const statuses = found.reduce((sum, { count }) => sum + count, 0)
      const summary = { ...commitState(found.map(({ state }) => state)), statuses }
      if (failed === undefined) return summary
      const contexts = found.flatMap((row) => row.failed).sort((one, other) => Buffer.compare(one, other))
      return { ...summary, failed: contexts.slice(0, failed).map((context) => context.toString()) }
    })
  }

  async status(repository: RepositoryName, commit: ObjectId, context: string): Promise<StoredStatus | undefined> {
    const key = [repositoryKey(repository), Buffer.from(commit.hex, 'hex'), Buffer.from(context)]
    const [row] = await this.#database.query<StatusRow>(ONE, key, about(repository))
    return row && fromRow(row)
  }

  async recent(repository: RepositoryName, since: number, max: number): Promise<RecentStatuses> {
    return await recentStatuses(this.#database, repository, since, max)
  }

  async remove(repository: RepositoryName, commit: ObjectId, context: string | undefined): Promise<number> {
    const place = [repositoryKey(repository), Buffer.from(commit.hex, 'hex')]
    const [statement, values] =
      context === undefined ? [REMOVE_OF, place] : [REMOVE_ONE, [...place, Buffer.from(context)]]
    // Not twice: nobody would know how many there were, and a report may have come in between.
    return await this.#writers.applyAlone(
      [repository],
      async () => await this.#database.change(statement, values, { ...about(repository), once: true }),
    )
  }

  async count(repository: RepositoryName): Promise<number> {
    const rows = await this.#database.query<{ count: number }>(COUNT, [repositoryKey(repository)], about(repository))
    return rows.reduce((sum, { count }) => sum + count, 0)
  }
}

function about(repository: RepositoryName): RetryPolicy {
  return { repositories: [repositoryText(repository)] }
}

interface StateRow {
  readonly at: string
  readonly state: State
  readonly count: number
  /** Contexts that failed, where they are asked for. */
  readonly failed: readonly Buffer[]
}

/** Moves all statuses of a repository to another name. */
export async function moveStatuses(connection: Connection, from: RepositoryName, to: RepositoryName): Promise<void> {
  await connection.change(MOVE, [repositoryKey(from), repositoryKey(to)])
  await removeStatuses(connection, from)
}

export async function removeStatuses(connection: Connection, name: RepositoryName): Promise<void> {
  await connection.change(REMOVE, [repositoryKey(name)])
}
