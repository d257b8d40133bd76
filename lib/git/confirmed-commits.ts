import { LRUCache } from 'lru-cache'
import { idleMeter, type Meter } from '../meter.js'
import type { ObjectId } from '../object-id.js'
import type { Commits } from './commits.js'
import type { Repository } from './repositories.js'

/** Commits remembered at once, about 150 bytes each, and the repositories that they are of. */
const MOST_COMMITS = 150_000
const MOST_REPOSITORIES = 10_000

/** How long a commit that git has pruned meanwhile may still be confirmed. */
const COMMIT_MILLISECONDS = 600_000

/**
 * Remembers which commits were confirmed: a commit hardly ever goes. It is asked for anew when the repository is
 * another one, deleted and made again or moved. That a commit is not there is not remembered.
 */
export class ConfirmedCommits {
  readonly #commits: Commits
  readonly #meter: Meter
  readonly #confirmed = new LRUCache<string, true>({ max: MOST_COMMITS, ttl: COMMIT_MILLISECONDS })
  /** By directory: a number for every repository that was there, since there are many commits of each. */
  readonly #numbers = new LRUCache<string, { identity: string; number: number }>({ max: MOST_REPOSITORIES })
  #latestNumber = 0

  constructor(commits: Commits, meter: Meter = idleMeter) {
    this.#commits = commits
    this.#meter = meter
  }

  /** Whether `id` names a commit of the repository. Throws as `Commits.has`. */
  has({ directory, identity }: Repository, id: ObjectId): boolean | Promise<boolean> {
    if (identity === undefined) return this.#commits.has(directory, id)
    const key = `${this.#numberOf(directory, identity)} ${id.hex}`
    const isKnown = this.#confirmed.has(key)
    this.#meter.cacheAsked('commits', isKnown)
    return isKnown || this.#confirm(key, directory, id, identity)
  }

  /** To be called when repositories were deleted or renamed. */
  forget(): void {
    this.#confirmed.clear()
    this.#numbers.clear()
  }

  async #confirm(key: string, directory: string, id: ObjectId, identity: string): Promise<boolean> {
    const found = await this.#commits.has(directory, id, identity)
    if (found) this.#confirmed.set(key, true)
    return found
  }

  #numberOf(directory: string, identity: string): number {
    const known = this.#numbers.get(directory)
    if (known?.identity === identity) return known.number
    this.#numbers.set(directory, { identity, number: ++this.#latestNumber })
    return this.#latestNumber
  }
}
