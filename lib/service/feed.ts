import { randomBytes } from 'node:crypto'
import type { RepositoryName } from '../domain/repository-name.js'
import { OVERLAP } from './recent-reports.js'
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

interface KeptEvent extends Omit<FeedEvent, 'id'> {
  /** The `time` of the feed when it came. */
  readonly time: number
  /** When it was reported. */
  readonly at: number
}

/** The latest events of a repository, and those that follow them. */
export class Feed {
  readonly repository: RepositoryName
  readonly followers = new Set<Follower>()
  /** What comes later was reported no more than `OVERLAP` before this time: part of the ids, for other instances. */
  time = 0
  /** Of what the repository has, for other instances: see `RecentStatuses`. */
  version = ''
  /** What was reported since this time is kept, whoever it came in through. */
  completeSince = Infinity
  /** Part of the ids, and of those of no other feed: one of another instance, or from before a restart, is seen. */
  readonly #id = randomBytes(9).toString('base64url')
  readonly #kept: KeptEvent[] = []
  /** How many events are not kept any more. */
  #forgotten = 0

  constructor(repository: RepositoryName) {
    this.repository = repository
  }

  /** How many events there were. */
  get end(): number {
    return this.#forgotten + this.#kept.length
  }

  /** @param at when it was reported */
  push(event: Omit<FeedEvent, 'id'>, at: number): void {
    this.#kept.push({ ...event, at, time: this.time })
    for (const follower of this.followers) follower.wake()
  }

  /** Drops the oldest event. @returns how long it was */
  forgetOldest(): number {
    let length = 0
    for (const { data, at } of this.#kept.splice(0, 1)) {
      this.#forgotten++
      this.completeSince = Math.max(this.completeSince, at + 1)
      length = data.length
    }
    return length
  }

  /** @param position how many events somebody has had who has this id */
  idOf(position: number): string {
    return [this.#id, position, this.behind(position)?.time ?? this.time, this.version].join('.')
  }

  /** How many events somebody has had who names this id; `undefined`: nobody knows. */
  positionOf(id: string): number | undefined {
    const [feed, position, time, version] = id.split('.')
    const had = Number(position)
    if (feed === this.#id) return had >= this.#forgotten && had <= this.end ? had : undefined
    // Of another instance, or from before a restart.
    const since = Number(time) - OVERLAP
    if (version !== this.version || !(since >= this.completeSince)) return undefined
    const first = this.#kept.findIndex(({ at }) => at >= since)
    return first === -1 ? this.end : this.#forgotten + first
  }

  /** The event behind so many; `undefined`: there is none, or it is not kept any more. */
  behind(position: number): KeptEvent | undefined {
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
    if (event) {
      this.#position++
      return { name: event.name, id: this.id, data: event.data }
    }
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
