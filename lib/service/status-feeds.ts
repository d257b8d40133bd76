import type { Clock } from '../contracts/clock.js'
import type { StatusStore } from '../contracts/store.js'
import { Semaphore } from '../concurrency/semaphore.js'
import { toApiStatus, type CommitStatus, type State } from '../domain/commit-status.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { ServiceError } from '../errors.js'
import { Feed, Follower, gapIn, type FeedEvent } from './feed.js'
import { RecentReports } from './recent-reports.js'
import type { StatusEvent, StatusEvents } from './status-events.js'
import { stored } from './status-lists.js'
import type { Watchers } from './watchers.js'

const BOUNDS = {
  /** How often it is looked what was reported through other instances; less often where that takes long. */
  lookMilliseconds: 900,
  /** What a look reads of a repository at most. */
  maxRecent: 5_000,
  /** How long the events of a repository are kept that nobody follows any more: for those that come back. */
  lingerMilliseconds: 10 * 60_000,
  /** Characters of the events that are kept, of all repositories. */
  keptCharacters: 4_000_000,
  /** Repositories whose events are kept. */
  feeds: 10_000,
}

/** Looks at a time. */
const MAX_LOOKS = 4

/** Of the time, what looks may take: one part in so many. */
const SHARE = 10

export interface StatusFeedsDependencies {
  readonly events: Pick<StatusEvents, 'on'>
  readonly watchers: Pick<Watchers, 'enter'>
  readonly statuses: Pick<StatusStore, 'recent'>
  readonly clock: Clock
}

/** A feed, and what belongs to it. */
interface Kept {
  readonly feed: Feed
  /** Where other processes may report, too. */
  readonly recent: RecentReports | undefined
  looking: Promise<void> | undefined
  lingering: NodeJS.Timeout | undefined
}

/**
 * What is reported of repositories, for those who follow one: what comes in here at once, and what comes in through
 * other instances about a second later, as it is then. There is a feed only where somebody follows, or did lately:
 * other reports cost nothing.
 */
export class StatusFeeds {
  readonly #dependencies: StatusFeedsDependencies
  readonly #bounds: typeof BOUNDS
  readonly #feeds = new Map<string, Kept>()
  readonly #turns = new Semaphore(MAX_LOOKS, Infinity)
  /** The feed of each event that is kept, the oldest first. */
  readonly #order: Feed[] = []
  #characters = 0
  #timer: NodeJS.Timeout | undefined
  #stopListening: (() => void) | undefined

  constructor(dependencies: StatusFeedsDependencies, bounds: Partial<typeof BOUNDS> = {}) {
    this.#dependencies = dependencies
    this.#bounds = { ...BOUNDS, ...bounds }
  }

  /**
   * Follows a repository: every report that begins after this has resolved comes. To be closed.
   * @param lastId of the last event that the follower had before
   * @throws ServiceError `overloaded` when too many wait and follow; `store_unavailable`
   */
  async follow(repository: RepositoryName, lastId: string | undefined): Promise<Follower> {
    const leave = this.#dependencies.watchers.enter(() => {
      follower.end()
    })
    if (!leave) throw new ServiceError('overloaded')
    const kept = this.#feeds.get(repository.full) ?? this.#open(repository)
    const follower = new Follower(kept.feed, () => {
      kept.feed.followers.delete(follower)
      if (kept.feed.followers.size === 0) this.#linger(kept)
      leave()
    })
    clearTimeout(kept.lingering)
    kept.feed.followers.add(follower)
    try {
      await stored(this.#look(kept))
    } catch (error) {
      follower.close()
      throw error
    }
    follower.begin(lastId)
    this.#scheduleLooks(0)
    return follower
  }

  /** To be called when a repository was renamed or deleted: whoever has its name next is another one. */
  forget(repository: string): void {
    const kept = this.#feeds.get(repository)
    if (!kept) return
    this.#feeds.delete(repository)
    clearTimeout(kept.lingering)
    for (const follower of kept.feed.followers) follower.end()
    if (this.#feeds.size === 0) this.#stopListening?.()
  }

  /** Ends everything; to be called when nobody can come any more. */
  close(): void {
    for (const repository of [...this.#feeds.keys()]) this.forget(repository)
    clearTimeout(this.#timer)
  }

  #open(repository: RepositoryName): Kept {
    if (this.#feeds.size === 0)
      this.#stopListening = this.#dependencies.events.on((event) => {
        this.#reported(event)
      })
    const { maxRecent, feeds } = this.#bounds
    for (const { feed } of this.#feeds.values()) {
      if (this.#feeds.size < feeds) break
      if (feed.followers.size === 0) this.forget(feed.repository.full)
    }
    const { statuses } = this.#dependencies
    const recent = statuses.recent?.bind(statuses, repository)
    const kept = {
      feed: new Feed(repository),
      recent: recent && new RecentReports(recent, maxRecent),
      looking: undefined,
      lingering: undefined,
    }
    this.#feeds.set(repository.full, kept)
    return kept
  }

  #linger(kept: Kept): void {
    const { full } = kept.feed.repository
    if (this.#feeds.get(full) !== kept) return
    kept.lingering = setTimeout(() => {
      this.forget(full)
    }, this.#bounds.lingerMilliseconds).unref()
  }

  #reported({ repository, status, previous }: StatusEvent): void {
    const kept = this.#feeds.get(repository)
    if (!kept || kept.recent?.note(status) === false) return
    this.#push(kept.feed, status, previous?.state)
    // Nobody looks while nobody follows, and so nothing is forgotten.
    if (kept.feed.followers.size === 0 && (kept.recent?.size ?? 0) > this.#bounds.maxRecent) this.forget(repository)
  }

  #push(feed: Feed, status: CommitStatus, previous: State | undefined): void {
    const event = {
      repository: feed.repository.full,
      status: toApiStatus(status),
      previous_state: previous ?? null,
    }
    this.#keep(feed, { name: 'status', data: JSON.stringify(event) }, Date.parse(status.updated_at))
  }

  #keep(feed: Feed, event: Omit<FeedEvent, 'id'>, at: number): void {
    feed.push(event, at)
    this.#order.push(feed)
    this.#characters += event.data.length
    while (this.#characters > this.#bounds.keptCharacters)
      for (const oldest of this.#order.splice(0, 1)) this.#characters -= oldest.forgetOldest()
  }

  async #look(kept: Kept): Promise<void> {
    const { recent } = kept
    if (!recent) return
    kept.looking ??= this.#found(kept, recent).finally(() => {
      kept.looking = undefined
    })
    await kept.looking
  }

  async #found({ feed }: Kept, recent: RecentReports): Promise<void> {
    await this.#turns.enter()
    try {
      const now = this.#dependencies.clock.now()
      const { news, before, isCut, isReplaced } = await recent.look(now)
      if (isReplaced) {
        this.forget(feed.repository.full)
        return
      }
      if (isCut) this.#keep(feed, gapIn(feed.repository), now)
      if (before) Object.assign(feed, { completeSince: before.since, version: before.version ?? '' })
      for (const { status, previousState } of before?.statuses ?? news) this.#push(feed, status, previousState)
      feed.time = now
    } finally {
      this.#turns.leave()
    }
  }

  #scheduleLooks(took: number): void {
    const followed = [...this.#feeds.values()].filter(({ feed, recent }) => recent && feed.followers.size > 0)
    if (followed.length === 0) return
    const pause = Math.max(this.#bounds.lookMilliseconds, took * (SHARE - 1))
    this.#timer ??= setTimeout(() => void this.#lookAtAll(), pause).unref()
  }

  async #lookAtAll(): Promise<void> {
    const begun = performance.now()
    const followed = [...this.#feeds.values()].filter(({ feed }) => feed.followers.size > 0)
    // What cannot be read now will be, and nothing of it is missed.
    await Promise.all(followed.map(async (kept) => await this.#look(kept).catch(() => undefined)))
    this.#timer = undefined
    this.#scheduleLooks(performance.now() - begun)
  }
}
