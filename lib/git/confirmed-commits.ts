import { LRUCache } from 'lru-cache'
import type { ObjectId } from '../domain/object-id.js'
import { cacheShares } from '../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import type { Repository } from '../contracts/repositories.js'
import type { Commits } from './commits.js'

/** About what a commit that is remembered takes in memory, besides the characters of its key. */
const COMMIT_BYTES = 400

/** How long a commit that git has pruned meanwhile may still be confirmed. */
const COMMIT_MILLISECONDS = 600_000

/**
 * Remembers which commits were confirmed: a commit hardly ever goes. It is asked for anew when the repository is
 * another one, deleted and made again or moved. That a commit is not there is not remembered.
 */
export class ConfirmedCommits {
  readonly #commits: Commits
  readonly #meter: Meter
  readonly #confirmed: LRUCache<string, true>

  /** @param cacheBytes of commits that are remembered */
  constructor(commits: Commits, meter: Meter = noopMeter, cacheBytes = cacheShares().commits) {
    this.#commits = commits
    this.#meter = meter
    this.#confirmed = new LRUCache({
      maxSize: cacheBytes,
      sizeCalculation: (_, key) => COMMIT_BYTES + key.length,
      ttl: COMMIT_MILLISECONDS,
      // To look at the clock is dear.
      ttlResolution: 1000,
    })
    meter.cacheSize('commits', () => this.#confirmed.calculatedSize)
  }

  /** Whether `id` names a commit of the repository. Throws as `Commits.has`. */
  has({ directory, identity }: Repository, id: ObjectId): boolean | Promise<boolean> {
    if (identity === undefined) return this.#commits.has(directory, id)
    const key = `${id.hex} ${identity} ${directory}`
    const isKnown = this.#confirmed.has(key)
    this.#meter.cacheLookup('commits', isKnown)
    return isKnown || this.#confirm(key, directory, id, identity)
  }

  /** To be called when repositories were deleted or renamed: what is held open of them is forgotten, too. */
  forget(): void {
    this.#commits.forget()
    this.#confirmed.clear()
  }

  async #confirm(key: string, directory: string, id: ObjectId, identity: string): Promise<boolean> {
    const found = await this.#commits.has(directory, id, identity)
    if (found) this.#confirmed.set(key, true)
    return found
  }
}
