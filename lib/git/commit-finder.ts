import { join } from 'node:path'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { ObjectId } from '../domain/object-id.js'
import { RepositoryUnreadable, type Commits } from './commits.js'
import { OpenRepository } from './nodegit.js'
import { ObjectDatabase } from './object-database.js'
import { identityOf, quickStat } from './stat.js'

/** A handle keeps the packs it has seen open, deleted ones too: hence a bound in number and in age. */
const MAX_HANDLES = 64
const HANDLE_MILLISECONDS = 15_000

/** How long a deleted or replaced repository may go unnoticed. */
const IDENTITY_MILLISECONDS = 500

/**
 * How often a look-up is begun again, while packs come and go under it, and how long the handle that failed is kept
 * before that: whatever many callers ask for, one repository is not opened more often.
 */
const MAX_ATTEMPTS = 6
const PAUSE_MILLISECONDS = 25

/** After this, a look-up is answered whatever it waits for, such as a network disk; clients get it within 5 s. */
const DEADLINE_MILLISECONDS = 4000

/** Where a repository is, and by what its handle is known. */
interface Place {
  readonly directory: string
  readonly key: string
  /** Of the repository that is asked about, where it can be compared. */
  readonly identity: string | undefined
}

/** Commits of bare repositories, confirmed through libgit2. */
export class CommitFinder implements Commits {
  readonly #lookUps = new Map<string, Promise<boolean>>()
  readonly #handles: LRUCache<string, Handle>
  readonly #deadlineMilliseconds: number
  readonly #comparesIdentities: boolean
  #closed = false

  /** @param options.comparesIdentities whether it is asked with identities of RepositoryFolder; a host has others */
  constructor({
    handles = MAX_HANDLES,
    handleMilliseconds = HANDLE_MILLISECONDS,
    deadlineMilliseconds = DEADLINE_MILLISECONDS,
    comparesIdentities = false,
  }: {
    handles?: number
    handleMilliseconds?: number
    deadlineMilliseconds?: number
    comparesIdentities?: boolean
  } = {}) {
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
  async #share(place: Place, id: ObjectId): Promise<boolean> {
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

  async #find(place: Place, id: ObjectId): Promise<boolean> {
    let reason: unknown
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const handle = await this.#hold(place)
      try {
        const answer = await handle.has(id)
        // What another repository has, that was put in its place, is not reported of this one.
        if (answer === true && !(await handle.isOf(place.identity))) throw new Error('another one is in its place')
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
  async #hold({ directory, key }: Place): Promise<Handle> {
    const known = this.#handles.get(key)
    if (known) {
      known.hold()
      if (await known.isCurrent()) return known
      known.release()
      this.#drop(key, known)
    }
    const handle = new Handle(directory)
    handle.hold()
    if (this.#closed) handle.retire()
    else this.#handles.set(key, handle)
    return handle
  }

  /** Only this very handle: another look-up may have put a newer one in its place. */
  #drop(key: string, handle: Handle): void {
    if (this.#handles.peek(key) === handle) this.#handles.delete(key)
  }

  /** Those of the repositories that have packs in common with this one. */
  #dropSharers(handle: Handle): void {
    for (const [key, other] of [...this.#handles]) if (other.sharesWith(handle)) this.#drop(key, other)
  }
}

interface Opened {
  readonly repository: OpenRepository
  readonly database: ObjectDatabase
  /** What the database's `stamp()` was before libgit2 saw it. */
  readonly stamp: string | undefined
  readonly identity: string
}

/** A repository held open, from the beginning of its opening. */
class Handle {
  readonly openedAt = performance.now()
  readonly #directory: string
  readonly #opened: Promise<Opened>
  #database: ObjectDatabase | undefined
  #checkedAt = this.openedAt
  #holders = 0
  #retired = false

  constructor(directory: string) {
    this.#directory = directory
    this.#opened = open(directory)
    this.#opened.then(
      ({ database }) => {
        this.#database = database
      },
      // Each user meets the error; there may be none at the moment.
      () => undefined,
    )
  }

  /** Whether the folder is still the one that was opened. */
  async isCurrent(): Promise<boolean> {
    if (performance.now() - this.#checkedAt < IDENTITY_MILLISECONDS) return true
    this.#checkedAt = performance.now()
    const [now, opened] = await Promise.allSettled([folderOf(this.#directory), this.#opened])
    return now.status === 'fulfilled' && opened.status === 'fulfilled' && now.value === opened.value.identity
  }

  /** Whether it is the repository of this identity that was opened. */
  async isOf(identity: string | undefined): Promise<boolean> {
    return identity === undefined || (await this.#opened).identity === identity
  }

  /** Whether both have packs in common; none that is not open yet has. */
  sharesWith(other: Handle): boolean {
    return this.#database !== undefined && other.#database !== undefined && this.#database.sharesWith(other.#database)
  }

  /**
   * Whether the repository has this commit.
   * @returns `undefined` when only another handle can determine it
   * @throws any error that keeps it from being determined
   */
  async has(id: ObjectId): Promise<boolean | undefined> {
    const { repository, database, stamp, identity } = await this.#opened
    const found = await repository.find(id)
    // libgit2 reads by paths, under which there may be another repository meanwhile.
    if (found === 'commit') return (await folderOf(this.#directory)) === identity || undefined
    if (found !== 'nothing') return false
    // It is not there if no pack has come or gone since before the opening, and all of them are readable.
    if (stamp === undefined) return undefined
    await database.proveReadable(id, async (other) => await repository.find(other))
    return (await database.stamp()) === stamp ? false : undefined
  }

  /** Keeps the files, until `release()` is called as often. No handle that is retired may be held. */
  hold(): void {
    this.#holders++
  }

  release(): void {
    this.#holders--
    if (this.#retired) this.retire()
  }

  /** Lets go of the files once nobody holds the handle. */
  retire(): void {
    this.#retired = true
    if (this.#holders > 0) return
    this.#opened.then(
      ({ repository }) => {
        repository.close()
      },
      () => undefined,
    )
  }
}

async function open(directory: string): Promise<Opened> {
  const [identity, database] = await Promise.all([folderOf(directory), ObjectDatabase.open(directory)])
  const stamp = await database.stamp()
  const repository = await OpenRepository.open(directory)
  /* c8 ignore next 4 -- it takes a change within the millisecond of an opening */
  if ((await folderOf(directory)) !== identity) {
    repository.close()
    throw new Error('another one was put in its place')
  }
  return { repository, database, stamp, identity }
}

/** Which folder of objects is there. */
async function folderOf(directory: string): Promise<string> {
  const stats = await quickStat(join(directory, 'objects'))
  /* c8 ignore next -- the file systems of the specs report when a folder was made */
  return identityOf(stats) ?? `${stats.dev} ${stats.ino}`
}
