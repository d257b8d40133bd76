import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { ObjectId } from '../object-id.js'
import { RepositoryUnreadable, type Commits } from './commits.js'
import { OpenRepository } from './nodegit.js'
import { ObjectDatabase } from './object-database.js'

/** A handle keeps the packs it has seen open, deleted ones too: hence a bound in number and in age. */
const MOST_HANDLES = 64
const HANDLE_MILLISECONDS = 15_000

/** How long a deleted or replaced repository may go unnoticed. */
const IDENTITY_MILLISECONDS = 500

/** How often a look-up is begun again while packs come and go under it, and how long it waits before that. */
const MOST_ATTEMPTS = 6
const PAUSE_MILLISECONDS = 25

/** Commits of bare repositories, confirmed through libgit2. */
export class CommitFinder implements Commits {
  readonly #inFlight = new Map<string, Promise<boolean>>()
  readonly #handles = new LRUCache<string, Handle>({
    max: MOST_HANDLES,
    ttl: HANDLE_MILLISECONDS,
    ttlAutopurge: true,
    fetchMethod: async (directory) => await Handle.open(directory),
    dispose: (handle) => {
      handle.repository.close()
    },
  })

  has(directory: string, id: ObjectId): Promise<boolean> {
    // A miss reads the pack folder: a flood of equal look-ups becomes one.
    const key = `${id.hex} ${directory}`
    let answer = this.#inFlight.get(key)
    if (!answer) {
      answer = this.#find(directory, id).finally(() => this.#inFlight.delete(key))
      this.#inFlight.set(key, answer)
    }
    return answer
  }

  close(): void {
    this.#handles.clear()
  }

  async #find(directory: string, id: ObjectId): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        const handle = await this.#handle(directory)
        if (await handle.repository.hasCommit(id)) return true
        if (await handle.isMissing(id)) return false
      } catch (error) {
        if (attempt === MOST_ATTEMPTS) throw new RepositoryUnreadable(directory, error)
      }
      if (attempt === MOST_ATTEMPTS) throw new RepositoryUnreadable(directory, new Error('its packs keep changing'))
      this.#handles.delete(directory)
      // The first attempt may have met a handle from before a repack: the second one needs no pause.
      if (attempt > 1) await setTimeout(PAUSE_MILLISECONDS)
    }
  }

  async #handle(directory: string): Promise<Handle> {
    const cached = this.#handles.peek(directory)
    if (cached && !(await cached.isCurrent())) this.#handles.delete(directory)
    const handle = await this.#handles.fetch(directory)
    if (!handle) throw new Error('the handle was closed while it was opened')
    return handle
  }
}

/** An open repository together with what it was when it was opened. */
class Handle {
  readonly repository: OpenRepository
  readonly #directory: string
  readonly #database: ObjectDatabase
  readonly #identity: string
  readonly #stamp: string | undefined
  #checkedAt = performance.now()

  private constructor(directory: string, repository: OpenRepository, database: ObjectDatabase, identity: string, stamp: string | undefined) {
    this.#directory = directory
    this.repository = repository
    this.#database = database
    this.#identity = identity
    this.#stamp = stamp
  }

  static async open(directory: string): Promise<Handle> {
    const [identity, database] = await Promise.all([identityOf(directory), ObjectDatabase.open(directory)])
    const stamp = await database.stamp()
    return new Handle(directory, await OpenRepository.open(directory), database, identity, stamp)
  }

  /** Whether the folder is still the one that was opened. */
  async isCurrent(): Promise<boolean> {
    if (performance.now() - this.#checkedAt < IDENTITY_MILLISECONDS) return true
    this.#checkedAt = performance.now()
    return (await identityOf(this.#directory).catch(() => undefined)) === this.#identity
  }

  /**
   * Whether an object that this handle does not find does not exist: no pack may have come or gone since before it
   * was opened, and all of them must be readable. Otherwise only another look tells.
   */
  async isMissing(id: ObjectId): Promise<boolean> {
    if (this.#stamp === undefined) return false
    await this.#database.proveReadable(id, this.#stamp)
    return (await this.#database.stamp()) === this.#stamp
  }
}

async function identityOf(directory: string): Promise<string> {
  const { dev, ino, birthtimeNs } = await stat(join(directory, 'objects'), { bigint: true })
  return `${dev}.${ino}.${birthtimeNs}`
}
