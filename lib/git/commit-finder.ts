import { setTimeout as pauseFor } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { SyncWhileFast } from '../concurrency/sync-while-fast.js'
import type { ObjectId } from '../domain/object-id.js'
import { RepositoryUnreadable, type Commits } from './commits.js'
import { PacedFiles } from './paced-files.js'
import { RepositoryHandle } from './repository-handle.js'

/** A handle keeps the packs it has seen open, deleted ones too: hence a bound in number and in age. */
const MAX_HANDLES = 64
const HANDLE_MILLISECONDS = 15_000

/**
 * How often a look-up is begun again, while packs come and go under it, and how long the handle that failed is kept
 * before that: whatever many callers ask for, one repository is not opened more often.
 */
const MAX_ATTEMPTS = 6
const PAUSE_MILLISECONDS = 25

/** After this, a look-up is answered whatever it waits for, such as a network disk; clients get it within 5 s. */
const DEADLINE_MILLISECONDS = 4000

/** Where a repository is, and by what its handle is known. */
interface HandleKey {
  readonly directory: string
  readonly key: string
  /** Identity of the repository that is asked about, where it can be compared. */
  readonly identity: string | undefined
}

/** Commits of bare repositories, confirmed through libgit2. */
export class CommitFinder implements Commits {
  readonly #lookUps = new Map<string, Promise<boolean>>()
  readonly #handles: LRUCache<string, RepositoryHandle>
  readonly #deadlineMilliseconds: number
  readonly #comparesIdentities: boolean
  readonly #files: PacedFiles
  #closed = false

  /**
   * @param options.comparesIdentities whether it is asked with identities of RepositoryFolder; a host has others
   * @param options.pace of who else looks at the same disk
   */
  constructor({
    handles = MAX_HANDLES,
    handleMilliseconds = HANDLE_MILLISECONDS,
    deadlineMilliseconds = DEADLINE_MILLISECONDS,
    comparesIdentities = false,
    pace,
  }: {
    handles?: number
    handleMilliseconds?: number
    deadlineMilliseconds?: number
    comparesIdentities?: boolean
    pace?: SyncWhileFast | undefined
  } = {}) {
    this.#files = new PacedFiles(pace)
    this.#deadlineMilliseconds = deadlineMilliseconds
    this.#comparesIdentities = comparesIdentities
    this.#handles = new LRUCache({
      max: handles,
      ttl: handleMilliseconds,
      ttlAutopurge: true,
      dispose: (handle) => {
        handle.retire()
      },
    })
  }

  async has(directory: string, id: ObjectId, identity = ''): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const seconds = this.#deadlineMilliseconds / 1000
        reject(new RepositoryUnreadable(directory, new Error(`it has not answered for ${seconds} s`)))
      }, this.#deadlineMilliseconds)
    })
    const compared = this.#comparesIdentities && identity !== '' ? identity : undefined
    const place = { directory, key: `${identity} ${directory}`, identity: compared }
    try {
      return await Promise.race([this.#share(place, id), tooLate])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Repositories that are held open. */
  get open(): number {
    return this.#handles.size
  }

  forget(): void {
    this.#lookUps.clear()
    this.#handles.clear()
  }

  close(): void {
    this.#closed = true
    this.forget()
  }

  /** One look-up for all who ask the same at the same time. */
  async #share(place: HandleKey, id: ObjectId): Promise<boolean> {
    // A miss reads the pack folder: of a flood of equal look-ups, one at a time is made.
    const key = `${id.hex} ${place.key}`
    // What one that began before this call did not find may have been pushed in between: only its yes counts here.
    if (await this.#lookUps.get(key)?.catch(() => false)) return true
    const later = this.#lookUps.get(key)
    if (later) return await later
    const lookUp: Promise<boolean> = this.#find(place, id).finally(() => {
      if (this.#lookUps.get(key) === lookUp) this.#lookUps.delete(key)
    })
    this.#lookUps.set(key, lookUp)
    return await lookUp
  }

  async #find(place: HandleKey, id: ObjectId): Promise<boolean> {
    let reason: unknown
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const handle = await this.#hold(place, id)
      try {
        const answer = await handle.has(id)
        if (answer !== undefined) return answer
        reason = new Error('its packs keep changing')
      } catch (error) {
        reason = error
      } finally {
        handle.release()
      }
      // No pause for a handle that may be from before a repack or a push.
      const pause = handle.openedAt + PAUSE_MILLISECONDS - performance.now()
      if (pause > 0) await pauseFor(pause)
      this.#drop(place.key, handle)
      // Nor is it the fault of an old handle only: what another one keeps open may be in the way.
      if (attempt > 1) this.#dropSharers(handle)
    }
    throw new RepositoryUnreadable(place.directory, reason)
  }

  /** @returns a handle that keeps its files until its `release()` */
  async #hold({ directory, key, identity }: HandleKey, id: ObjectId): Promise<RepositoryHandle> {
    const known = this.#handles.get(key)
    if (known) {
      known.hold()
      if (await known.isCurrent()) return known
      known.release()
      this.#drop(key, known)
    }
    const handle = new RepositoryHandle(directory, this.#files, id, identity)
    handle.hold()
    if (this.#closed) handle.retire()
    else this.#handles.set(key, handle)
    return handle
  }

  /** Only this very handle: another look-up may have put a newer one in its place. */
  #drop(key: string, handle: RepositoryHandle): void {
    if (this.#handles.peek(key) === handle) this.#handles.delete(key)
  }

  /** Those of the repositories that have packs in common with this one. */
  #dropSharers(handle: RepositoryHandle): void {
    for (const [key, other] of [...this.#handles]) if (other.sharesWith(handle)) this.#drop(key, other)
  }
}
