import { randomBytes } from 'node:crypto'
import type { RepositoryName } from '../domain/repository-name.js'
import { Watcher } from './watchers.js'

/** What followers of a repository get. */
export interface FeedEvent {
  /** `gap`: of what was reported before, something may be missing. */
  readonly name: 'status' | 'gap'
  /** Where a follower is that has it. */
  readonly id: string
  /** JSON. */
  readonly data: string
}

/** The latest events of a repository, and those that follow them. */
export class Feed {
  readonly repository: RepositoryName
  readonly followers = new Set<Follower>()
  /** Part of the ids, and of those of no other feed: an id from before a restart is known to be unknown. */
  readonly #id = randomBytes(9).toString('base64url')
  readonly #kept: Omit<FeedEvent, 'id'>[] = []
  /** How many events are not kept any more. */
  #forgotten = 0

  constructor(repository: RepositoryName) {
    this.repository = repository
  }

  /** How many events there were. */
  get end(): number {
    return this.#forgotten + this.#kept.length
  }

  push(event: Omit<FeedEvent, 'id'>): void {
    this.#kept.push(event)
    for (const follower of this.followers) follower.wake()
  }

  /** Drops the oldest event. @returns how long it was */
  forgetOldest(): number {
    this.#forgotten++
    return this.#kept.splice(0, 1).reduce((sum, { data }) => sum + data.length, 0)
  }

  idOf(position: number): string {
    return `${this.#id}-${position}`
  }

  /** How many events somebody has had who names this id; `undefined`: nobody knows. */
  positionOf(id: string): number | undefined {
    const position = id.startsWith(`${this.#id}-`) ? Number(id.slice(this.#id.length + 1)) : NaN
    return Number.isInteger(position) && position >= this.#forgotten && position <= this.end ? position : undefined
  }

  /** The event behind so many; `undefined`: there is none, or it is not kept any more. */
  behind(position: number): Omit<FeedEvent, 'id'> | undefined {
    return this.#kept[position - this.#forgotten]
  }
}

/** One that follows a repository: a place in its feed. Nothing is queued for it, so a slow one takes no memory. */
export class Follower extends Watcher {
  readonly #feed: Feed
  #position = 0
  #isLost = false

  constructor(feed: Feed, close: () => void) {
    super(close)
    this.#feed = feed
  }

  /** Where it is. */
  get id(): string {
    return this.#feed.idOf(this.#position)
  }

  /** Goes on behind an event that it had before, or else begins with the next one. */
  begin(lastId: string | undefined): void {
    const position = lastId === undefined ? this.#feed.end : this.#feed.positionOf(lastId)
    this.#isLost = position === undefined
    this.#position = position ?? this.#feed.end
  }

  /** The next event, if there is one by now. */
  read(): FeedEvent | undefined {
    const event = this.#isLost ? undefined : this.#feed.behind(this.#position)
    if (event) return { ...event, id: this.#feed.idOf(++this.#position) }
    // It was slower than the feed forgets.
    const isBehind = this.#position < this.#feed.end
    if (!this.#isLost && !isBehind) return undefined
    this.#isLost = false
    this.#position = this.#feed.end
    return { ...gapIn(this.#feed.repository), id: this.id }
  }
}

export function gapIn({ full }: RepositoryName): Omit<FeedEvent, 'id'> {
  return { name: 'gap', data: JSON.stringify({ repository: full }) }
}
