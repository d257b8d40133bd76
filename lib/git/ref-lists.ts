import { LRUCache } from 'lru-cache'
import { cacheShares } from '../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import type { Repository } from '../contracts/repositories.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'
import { hiddenRefs } from './hidden-refs.js'
import { REF_FORMAT, RefListBuilder, type RefList } from './ref-list.js'
import { RefStamp } from './ref-stamp.js'

/** How long a list may be remembered although nothing shows a change: somebody may write into a file of git's. */
const LIST_MILLISECONDS = 60_000

/** Of what git prints: about a million refs. */
const MAX_BYTES = 128 * 1024 * 1024

/** The most branches that people are shown. */
export const MAX_BRANCHES = 50

/** The name of a branch, as somebody pushed it, and the id of its latest commit. */
export interface Branch {
  readonly name: string
  readonly sha: string
}

/** A list, and what shows that it is still the one. */
interface KnownList {
  readonly list: RefList
  readonly stamp: RefStamp
}

/**
 * Lists the refs of bare repositories that git shows to who fetches, through the installed git: it knows every way to
 * store them.
 */
export class RefLists {
  readonly #git: Pick<GitProcesses, 'read' | 'run'>
  readonly #known: LRUCache<string, KnownList>
  readonly #reading = new Map<string, Promise<RefList>>()

  /** @param cacheBytes of lists that are remembered */
  constructor(git: Pick<GitProcesses, 'read' | 'run'>, meter: Meter = noopMeter, cacheBytes = cacheShares().refLists) {
    this.#git = git
    this.#known = new LRUCache({
      maxSize: cacheBytes,
      sizeCalculation: ({ list }, key) => list.bytes + key.length,
      ttl: LIST_MILLISECONDS,
    })
    meter.cacheSize('refLists', () => this.#known.calculatedSize)
  }

  /**
   * The refs as they are now. One that leads to what is not there is none.
   * @throws RepositoryUnreadable when it cannot be determined, also for more than about a million; ServiceError
   *   `overloaded`
   */
  async of({ directory, identity }: Repository): Promise<RefList> {
    const key = `${identity ?? ''}\n${directory}`
    const known = this.#known.get(key)
    if (known && (await known.stamp.isCurrent())) return known.list
    const underWay = this.#reading.get(key)
    if (underWay) return await underWay
    const reading = this.#read(directory, identity === undefined ? undefined : key).finally(() => {
      this.#reading.delete(key)
    })
    this.#reading.set(key, reading)
    return await reading
  }

  /** Branches in the order of their names, the first of them. Throws as `of`. */
  async branches(repository: Repository): Promise<readonly Branch[]> {
    const prefix = 'refs/heads/'
    const { refs } = await (await this.of(repository)).page({ prefix, skip: 0, limit: MAX_BRANCHES })
    return refs.map(({ name, id }) => ({ name: name.slice(prefix.length), sha: id }))
  }

  async #read(directory: string, key: string | undefined): Promise<RefList> {
    const stamp = key === undefined ? undefined : await RefStamp.take(directory)
    const builder = new RefListBuilder(await hiddenRefs(this.#git, directory))
    let length = 0
    const take = (chunk: Buffer): string | undefined => {
      length += chunk.length
      if (length > MAX_BYTES) return `git printed more than ${MAX_BYTES} bytes`
      builder.take(chunk)
      return undefined
    }
    const { code, error } = await this.#git.read(directory, ['for-each-ref', REF_FORMAT], take, { mayTakeLong: true })
    if (code !== 0) throw new RepositoryUnreadable(directory, new Error(`git for-each-ref: ${error}`))
    const list = builder.list()
    if (key !== undefined && stamp) this.#known.set(key, { list, stamp })
    return list
  }
}
