import type { RecentStatuses } from '../../contracts/store.js'
import type { State } from '../../domain/commit-status.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { Statement } from './connection.js'
import type { PostgresDatabase } from './database.js'
import { versionOf } from './repository-versions.js'
import { COLUMNS, type StatusRow } from './status-columns.js'
import { fromRow, repositoryKey, repositoryText } from './status-rows.js'

/** Reads all rows of the repository, in the time of any statement: an index would be one more write of each report. */
const RECENT: Statement = {
  name: 'recent-statuses',
  text: `SELECT ${COLUMNS}, previous_state FROM commit_status.statuses
WHERE repository = $1 AND updated_at >= $2 ORDER BY updated_at DESC LIMIT $3`,
}

/** The statuses of a repository that were updated last, the latest first. */
export async function recentStatuses(
  database: PostgresDatabase,
  repository: RepositoryName,
  since: number,
  max: number,
): Promise<RecentStatuses> {
  // The version first: what changes it in between is found by the next look.
  const version = await versionOf(database, repository)
  const asked = [repositoryKey(repository), since, max]
  const rows = await database.query<StatusRow & { previous_state: State | null }>(RECENT, asked, {
    repositories: [repositoryText(repository)],
  })
  return {
    version,
    statuses: rows.map((row) => ({ status: fromRow(row), previousState: row.previous_state ?? undefined })),
  }
}
