import { combinedState, type CommitStatus, type State, type StoredStatus } from '../domain/commit-status.js'
import { batches, type Task } from '../concurrency/task.js'

/** A commit that has statuses, for an admin. */
export interface ReportedCommit {
  readonly sha: string
  readonly state: ReturnType<typeof combinedState>
  /** Time of the latest report. */
  readonly updated_at: string
}

/** What a list of commits is made of: a commit, and then its statuses, ordered by the UTF-8 bytes of `context`. */
export type ReportedItem = { readonly commit: ReportedCommit } | { readonly status: StoredStatus }

/**
 * The commits that were reported on last, the latest first. However many statuses a commit has, none is kept in memory.
 * @param statuses ordered by commit, as a store scans them
 * @param limit how many commits at the most
 */
export async function* latestCommits(statuses: AsyncIterable<CommitStatus>, limit: number): Task<ReportedCommit[]> {
  const latest: ReportedCommit[] = []
  let current: CommitTally | undefined
  const take = (): void => {
    if (!current) return
    const commit = current.commit
    const last = latest[limit - 1]
    if (last && last.updated_at >= commit.updated_at) return
    const place = latest.findIndex((other) => other.updated_at < commit.updated_at)
    latest.splice(place === -1 ? latest.length : place, 0, commit)
    latest.length = Math.min(latest.length, limit)
  }
  let done = 0
  for await (const batch of batches(statuses)) {
    for (const status of batch) {
      if (status.sha !== current?.sha) {
        take()
        current = new CommitTally(status.sha)
      }
      current.add(status)
    }
    done += batch.length
    yield { progress: { phase: 'reading', done } }
  }
  take()
  return latest
}

/** What a commit comes to, a status after the other. */
class CommitTally {
  readonly sha: string
  readonly #states = new Set<State>()
  #updatedAt = ''

  constructor(sha: string) {
    this.sha = sha
  }

  get commit(): ReportedCommit {
    return { sha: this.sha, state: combinedState([...this.#states]), updated_at: this.#updatedAt }
  }

  add({ state, updated_at }: CommitStatus): void {
    this.#states.add(state)
    // Times of this form sort as text.
    if (updated_at > this.#updatedAt) this.#updatedAt = updated_at
  }
}
