import { combinedState } from '../combined-state.js'
import type { CommitStatus } from '../commit-status.js'
import { inPieces, type Work } from '../work.js'

/** The statuses of a commit, for an admin. */
export interface ReportedCommit {
  readonly sha: string
  readonly state: ReturnType<typeof combinedState>
  /** Time of the latest report. */
  readonly updated_at: string
  /** Ordered by the UTF-8 bytes of `context`. */
  readonly statuses: readonly CommitStatus[]
}

/**
 * The commits that were reported on last, the latest first. Holds no more than these in memory, and one other.
 * @param statuses ordered by commit, as a store scans them
 * @param limit how many commits at the most
 */
export async function* latestCommits(statuses: AsyncIterable<CommitStatus>, limit: number): Work<ReportedCommit[]> {
  const latest: ReportedCommit[] = []
  let current: CommitStatus[] = []
  const take = (): void => {
    const commit = reportedCommit(current)
    if (!commit) return
    const last = latest[limit - 1]
    if (last && last.updated_at >= commit.updated_at) return
    const place = latest.findIndex((other) => other.updated_at < commit.updated_at)
    latest.splice(place === -1 ? latest.length : place, 0, commit)
    latest.length = Math.min(latest.length, limit)
  }
  let done = 0
  for await (const piece of inPieces(statuses)) {
    for (const status of piece) {
      if (status.sha !== current[0]?.sha) {
        take()
        current = []
      }
      current.push(status)
    }
    done += piece.length
    yield { progress: { phase: 'reading', done } }
  }
  take()
  return latest
}

/** @param statuses of one commit; `undefined` when there are none */
export function reportedCommit(statuses: readonly CommitStatus[]): ReportedCommit | undefined {
  const [first] = statuses
  if (!first) return undefined
  // Times of this form sort as text.
  const updated_at = statuses.reduce((latest, status) => (status.updated_at > latest ? status.updated_at : latest), first.updated_at)
  return { sha: first.sha, state: combinedState(statuses.map(({ state }) => state)), updated_at, statuses }
}
