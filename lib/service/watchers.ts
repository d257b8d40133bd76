import type { StatusStore } from '../contracts/store.js'
import { Semaphore } from '../concurrency/semaphore.js'
import type { ObjectId } from '../domain/object-id.js'
import type { RepositoryName } from '../domain/repository-name.js'

/** How often the digests of all that is watched are read: reports come in through other instances, too. */
const LOOK_MILLISECONDS = 900

/** Watchers that look again at a time, however many a change concerns. */
const MAX_AT_ONCE = 64

/** The watchers of one commit. */
interface Watched {
  readonly repository: RepositoryName
  readonly commit: ObjectId
  readonly watchers: Set<Watcher>
  /** Tells the list that was seen last from any other; absent before the first look. */
  digest: string | undefined
}

/**
 * Watchers of the statuses of commits. Each is a key and a timer: it holds no list, no repository and no
 * place among the requests.
 */
export class Watchers {
  readonly #max: number
  readonly #digests: StatusStore['digests']
  readonly #lookMilliseconds: number
  readonly #watched = new Map<string, Watched>()
  /** What ends those who follow a repository. */
  readonly #streams = new Set<() => void>()
  readonly #turns = new Semaphore(MAX_AT_ONCE, Infinity)
  #open = 0
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #closing = false
  #whenNone: (() => void) | undefined

  /** @param max how many there may be */
  constructor(max: number, statuses: StatusStore, lookMilliseconds = LOOK_MILLISECONDS) {
    this.#max = max
    this.#lookMilliseconds = lookMilliseconds
    this.#digests = statuses.digests?.bind(statuses)
  }

  get size(): number {
    return this.#open
  }

  /**
   * Begins to watch: to be called before the first look, so that nothing is missed between that and the first `next`.
   * @returns `undefined` when there are too many, or at the closing: then nobody waits
   */
  begin(repository: RepositoryName, commit: ObjectId): Watcher | undefined {
    if (this.#closing || this.#open >= this.#max) return undefined
    const key = keyOf(repository, commit)
    const watched = this.#watched.get(key) ?? { repository, commit, watchers: new Set(), digest: undefined }
    this.#watched.set(key, watched)
    const watcher = new Watcher(() => {
      if (!watched.watchers.delete(watcher)) return
      if (watched.watchers.size === 0) this.#watched.delete(key)
      this.#ended()
    })
    watched.watchers.add(watcher)
    this.#open++
    if (this.#digests) this.#timer ??= setInterval(() => void this.#look(), this.#lookMilliseconds).unref()
    return watcher
  }

  /**
   * Takes a place among those who wait, for one who follows a repository.
   * @param end called at the closing
   * @returns gives the place back; `undefined` when there are too many, or at the closing
   */
  enter(end: () => void): (() => void) | undefined {
    if (this.#closing || this.#open >= this.#max) return undefined
    this.#streams.add(end)
    this.#open++
    return () => {
      if (this.#streams.delete(end)) this.#ended()
    }
  }

  /** To be called when a status of a commit has changed. */
  changed(repository: RepositoryName, commit: ObjectId): void {
    if (this.#watched.size > 0) wake(this.#watched.get(keyOf(repository, commit)))
  }

  /** To be called when statuses of any repository, or of one, may have changed. */
  anyChanged(repository?: string): void {
    for (const watched of [...this.#watched.values()])
      if (repository === undefined || watched.repository.full === repository) wake(watched)
  }

  /** Looks again on behalf of a watcher: when thousands are woken at once, they take turns. */
  async inTurn<T>(look: () => Promise<T>): Promise<T> {
    await this.#turns.enter()
    try {
      return await look()
    } finally {
      this.#turns.leave()
    }
  }

  /** Ends every watch, which is answered with what is there then; resolves when all are. */
  async close(): Promise<void> {
    this.#closing = true
    clearInterval(this.#timer)
    for (const { watchers } of [...this.#watched.values()]) for (const watcher of [...watchers]) watcher.end()
    for (const end of [...this.#streams]) end()
    if (this.#open > 0) await new Promise<void>((resolve) => (this.#whenNone = resolve))
  }

  #ended(): void {
    this.#open--
    if (this.#open > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#whenNone?.()
  }

  /** A store that cannot be read now will be read by those who wait, at their end. */
  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const all = [...this.#watched.values()]
    const digests = await this.#digests?.(all).catch(() => undefined)
    this.#isLooking = false
    if (!digests) return
    for (const [index, watched] of all.entries()) {
      const digest = digests[index]
      if (digest === undefined) continue
      // At the first look nobody knows what the list was when the wait began.
      if (watched.digest !== digest) wake(watched)
      watched.digest = digest
    }
  }
}

function keyOf(repository: RepositoryName, commit: ObjectId): string {
  return `${repository.full}/${commit.hex}`
}

function wake(watched: Watched | undefined): void {
  for (const watcher of [...(watched?.watchers ?? [])]) watcher.wake()
}

/** One that waits for a change. */
export class Watcher {
  readonly #close: () => void
  #isChanged = false
  #isOver = false
  #resume: (() => void) | undefined

  constructor(close: () => void) {
    this.#close = close
  }

  /** Whether it is no use to wait any longer. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Resolves at the next change, also one since it resolved last; when the time is over, or when it is to end. */
  async next(milliseconds: number): Promise<void> {
    if (!this.#isChanged && !this.#isOver) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, milliseconds))
        this.#resume = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#resume = undefined
    this.#isChanged = false
  }

  wake(): void {
    this.#isChanged = true
    this.#resume?.()
  }

  end(): void {
    this.#isOver = true
    this.#resume?.()
  }

  /** To be called when all is over; harmless again. */
  close(): void {
    this.#close()
  }
}
