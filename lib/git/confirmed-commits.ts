import { LRUCache } from 'lru-cache'
import type { ObjectId } from '../object-id.js'
import type { Commits } from './commits.js'
import type { Repository } from './repositories.js'

/** Commits remembered at once: 200 bytes each. */
const MOST_COMMITS = 150_000

/** How long a commit that git has pruned meanwhile may still be confirmed. */
const COMMIT_MILLISECONDS = 60_000

/**
 * Remembers which commits were confirmed: a commit hardly ever goes. It is asked for anew when the repository is
 * another one, deleted and made again or moved. That a commit is not there is not remembered.
 */
export class ConfirmedCommits {
  readonly #commits: Commits
  readonly #confirmed = new LRUCache<string, true>({ max: MOST_COMMITS, ttl: COMMIT_MILLISECONDS })

  constructor(commits: Commits) {
    this.#commits = commits
  }

  /** Whether `id` names a commit of the repository. Throws as `Commits.has`. */
  has({ directory, identity }: Repository, id: ObjectId): boolean | Promise<boolean> {
    if (identity === undefined) return this.#commits.has(directory, id)
    return this.#confirmed.has(`${identity} ${id.hex}`) || this.#confirm(directory, identity, id)
  }

  async #confirm(directory: string, identity: string, id: ObjectId): Promise<boolean> {
    const found = await this.#commits.has(directory, id)
    if (found) this.#confirmed.set(`${identity} ${id.hex}`, true)
    return found
  }
}
