import { hash } from 'node:crypto'
import type { RecentStatus, RecentStatuses } from '../contracts/store.js'
import { toApiStatus, type CommitStatus } from '../domain/commit-status.js'

/**
 * How far back is looked behind the last look, in milliseconds: reports take their time until they are saved, and the
 * clocks of instances differ.
 */
export const OVERLAP = 60_000

/** How far back the first look goes, for those who have followed another instance. */
const BEFORE = 10 * 60_000

/** How many of them are handed over at the most. */
const MAX_BEFORE = 500

interface Seen {
  readonly updated_at: string
  /** The same for the same status. */
  readonly digest: string
}

/** What a look has found. */
export interface Found {
  /** What was reported through other instances, the oldest first. */
  readonly news: readonly RecentStatus[]
  /** Of the first look: what was reported before, the oldest first, and since when it is all of it. */
  readonly before?: RecentStatuses & { readonly since: number }
  /** Whether more was reported than could be read. */
  readonly isCut: boolean
  /** Whether all that the repository has is that of another one now: it was renamed, deleted or merged into. */
  readonly isReplaced: boolean
}

/** Finds what was reported of a repository through other instances: by what was updated last, now and then. */
export class RecentReports {
  readonly #read: (since: number, max: number) => Promise<RecentStatuses>
  readonly #max: number
  /** The latest version of what was reported lately. */
  #seen = new Map<string, Seen>()
  /** What was reported here while a look is under way, which may or may not see it. */
  #meanwhile: Set<string> | undefined
  #last: { readonly at: number; readonly version: string | null } | undefined

  /** @param max how many statuses are read at once */
  constructor(read: (since: number, max: number) => Promise<RecentStatuses>, max: number) {
    this.#read = read
    this.#max = max
  }

  /** How many statuses it remembers. */
  get size(): number {
    return this.#seen.size
  }

  /** Notes a report through this instance. @returns whether it is news: a look may have found it before */
  note(status: CommitStatus): boolean {
    const key = keyOf(status)
    const known = this.#seen.get(key)
    const seen = seenOf(status)
    this.#meanwhile?.add(key)
    if (known && (known.digest === seen.digest || known.updated_at > seen.updated_at)) return false
    this.#seen.set(key, seen)
    return true
  }

  /** Looks what was reported since the last look, at the first one before. Not to be called again meanwhile. */
  async look(now: number): Promise<Found> {
    const last = this.#last
    const meanwhile = new Set<string>()
    this.#meanwhile = meanwhile
    // A clock that was set back is below what was there before.
    const since = last ? Math.min(now, last.at) - OVERLAP : now - BEFORE
    const { version, statuses } = await this.#read(since, this.#max)
    this.#meanwhile = undefined
    const isReplaced = last !== undefined && last.version !== version
    const others = statuses.filter(({ status }) => !meanwhile.has(keyOf(status)))
    const isNews = ({ status }: RecentStatus): boolean => this.#seen.get(keyOf(status))?.digest !== digestOf(status)
    const news = last ? others.filter(isNews) : []
    const oldest = statuses[this.#max - 1]
    // Else it is what was known, or late.
    const isCut = last && oldest && news.includes(oldest) ? timeOf(oldest) > last.at : false
    const kept = [...this.#seen].filter(([key]) => meanwhile.has(key))
    this.#seen = new Map([...others.map(({ status }): [string, Seen] => [keyOf(status), seenOf(status)]), ...kept])
    this.#last = { at: now, version }
    const left = others[MAX_BEFORE] ?? oldest
    const before = { statuses: others.slice(0, MAX_BEFORE).reverse(), since: left ? timeOf(left) + 1 : since, version }
    return { news: news.reverse(), ...(!last && { before }), isCut, isReplaced }
  }
}

function timeOf({ status }: RecentStatus): number {
  return Date.parse(status.updated_at)
}

function keyOf({ sha, context }: CommitStatus): string {
  return `${sha}/${context}`
}

function seenOf(status: CommitStatus): Seen {
  return { updated_at: status.updated_at, digest: digestOf(status) }
}

function digestOf(status: CommitStatus): string {
  return hash('sha256', JSON.stringify(toApiStatus(status)), 'base64url').slice(0, 22)
}
