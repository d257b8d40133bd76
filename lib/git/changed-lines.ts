import { LRUCache } from 'lru-cache'
import { cacheShares } from '../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import type { ObjectId } from '../domain/object-id.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'

/** How many lines a commit has added and taken away, beside its first parent. */
export interface LineCounts {
  readonly additions: number
  readonly deletions: number
}

const NONE: LineCounts = { additions: 0, deletions: 0 }

/** About what the lines of one commit take in memory: two numbers, and a place in the cache. */
const COUNT_BYTES = 200

/** How long it is remembered that git could not count them: it may have taken seconds to find out. */
const UNKNOWN_MILLISECONDS = 60_000

/** Files with more are not taken for text. */
const MAX_TEXT = '1m'

/** Counts the lines that commits change, through the installed git. */
export class ChangedLines {
  readonly #git: Pick<GitProcesses, 'read'>
  /** By id: what has the same id is the same. */
  readonly #known: LRUCache<string, LineCounts>

  /** @param cacheBytes of counts that are remembered */
  constructor(git: Pick<GitProcesses, 'read'>, meter: Meter = noopMeter, cacheBytes = cacheShares().lines) {
    this.#git = git
    this.#known = new LRUCache({ maxSize: cacheBytes, sizeCalculation: (_, { length }) => COUNT_BYTES + length })
    meter.cacheSize('lines', () => this.#known.calculatedSize)
  }

  /**
   * @param directory absolute path of a bare repository
   * @param id of a commit in it
   * @param parent its first one; absent for a commit without any
   * @returns zeros where git cannot count them: the parent is not there, or they are more than it compares in time
   * @throws ServiceError `overloaded`
   */
  async count(directory: string, id: ObjectId, parent: string | undefined): Promise<LineCounts> {
    const known = this.#known.get(id.hex)
    if (known) return known
    const counted = await this.#ask(directory, parent === undefined ? ['--root', id.hex] : [parent, id.hex])
    this.#known.set(id.hex, counted ?? NONE, counted ? {} : { ttl: UNKNOWN_MILLISECONDS })
    return counted ?? NONE
  }

  async #ask(directory: string, trees: readonly string[]): Promise<LineCounts | undefined> {
    const diff = ['diff-tree', '--no-commit-id', '--no-ext-diff', '--no-textconv', '--shortstat', ...trees]
    let output = ''
    const take = (chunk: Buffer): undefined => {
      output += chunk.toString()
    }
    try {
      const args = ['-c', `core.bigFileThreshold=${MAX_TEXT}`, ...diff]
      const { code } = await this.#git.read(directory, args, take, { mayTakeLong: true })
      const countOf = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? 0)
      return code === 0 ? { additions: countOf(/(\d+) insertion/), deletions: countOf(/(\d+) deletion/) } : undefined
    } catch (error) {
      if (error instanceof RepositoryUnreadable) return undefined
      throw error
    }
  }
}
