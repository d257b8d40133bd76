import type { ObjectId } from '../domain/object-id.js'
import { OpenRepository } from './nodegit.js'
import { ObjectDatabase } from './object-database.js'
import type { PacedFiles } from './paced-files.js'
import { identityOf } from './repository-folder.js'

/** How long a deleted or replaced repository may go unnoticed. */
const IDENTITY_MILLISECONDS = 500

interface Opened {
  readonly repository: OpenRepository
  readonly database: ObjectDatabase
  /** What the database's `stamp()` was before libgit2 saw it. */
  readonly stamp: string | undefined
  readonly identity: string
}

/** A repository held open, from the beginning of its opening. */
export class RepositoryHandle {
  readonly openedAt = performance.now()
  readonly #directory: string
  readonly #files: PacedFiles
  readonly #opened: Promise<Opened>
  #database: ObjectDatabase | undefined
  #checkedAt = this.openedAt
  #holders = 0
  #retired = false

  /**
   * @param first the id that will be asked for first
   * @param identity of the repository that is meant, which was there just now; absent: whichever is there
   */
  constructor(directory: string, files: PacedFiles, first: ObjectId, identity?: string) {
    this.#directory = directory
    this.#files = files
    this.#opened = open(directory, files, first, identity)
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
    const [now, opened] = await Promise.allSettled([folderOf(this.#directory, this.#files), this.#opened])
    return now.status === 'fulfilled' && opened.status === 'fulfilled' && now.value === opened.value.identity
  }

  /** Whether both have packs in common; none that is not open yet has. */
  sharesWith(other: RepositoryHandle): boolean {
    return this.#database !== undefined && other.#database !== undefined && this.#database.sharesWith(other.#database)
  }

  /**
   * Whether the repository has this commit.
   * @returns `undefined` when only another handle can tell
   * @throws any error that keeps it from being told
   */
  async has(id: ObjectId): Promise<boolean | undefined> {
    const { repository, database, stamp, identity } = await this.#opened
    const first = repository.takeFirst(id)
    // The folder has been looked at since.
    if (first === 'commit') return true
    const found = first ?? (await repository.find(id))
    // libgit2 reads by paths, under which there may be another repository meanwhile.
    if (found === 'commit') return (await folderOf(this.#directory, this.#files)) === identity || undefined
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
        repository.close(this.#files.pace)
      },
      () => undefined,
    )
  }
}

async function open(directory: string, files: PacedFiles, first: ObjectId, meant?: string): Promise<Opened> {
  const identity = meant ?? (await folderOf(directory, files))
  const database = await ObjectDatabase.open(directory, files)
  const stamp = await database.stamp()
  const repository = await OpenRepository.open(directory, first)
  if ((await folderOf(directory, files)) !== identity) {
    repository.close(files.pace)
    throw new Error('another one was put in its place')
  }
  return { repository, database, stamp, identity }
}

/** Which folder of objects is there. */
async function folderOf(directory: string, files: PacedFiles): Promise<string> {
  const stats = await files.stat(`${directory}/objects`)
  if (!stats) throw new Error('it has no objects')
  /* c8 ignore next -- the file systems of the specs tell when a folder was made */
  return identityOf(stats) ?? `${stats.dev} ${stats.ino}`
}
