import nodegit from 'nodegit'
import type { ObjectFormat, ObjectId } from '../object-id.js'

/** What libgit2 answers when an object is not in the object database (GIT_ENOTFOUND). */
const NOT_FOUND = -3

/** What the bridge says, with NOT_FOUND, when it has read the object's header and it is no commit. */
const NO_COMMIT = 'the object is not a commit'

/** libgit2's numbers of the object formats (git_oid_t). */
const FORMATS: Readonly<Record<number, ObjectFormat>> = { 1: 'sha1', 2: 'sha256' }

declare module 'nodegit' {
  interface Repository {
    /** Absent from the published types. */
    oidType(): number
  }
}

/** What an object database has under an id. */
export type Found = 'commit' | 'another object' | 'nothing'

/** A bare repository held open by libgit2. The one place where nodegit is used. */
export class OpenRepository {
  readonly #repository: nodegit.Repository
  readonly #format: ObjectFormat | undefined
  #readers = 0
  #closing = false

  private constructor(repository: nodegit.Repository) {
    this.#repository = repository
    // Asked once, as it waits for whatever else is under way on this repository.
    this.#format = FORMATS[repository.oidType()]
  }

  /** Opens without looking at who owns the files: the admin chose the folder. Rejects with libgit2's error. */
  static async open(directory: string): Promise<OpenRepository> {
    return new OpenRepository(await nodegit.Repository.openBare(directory))
  }

  /**
   * What the object database has under this id. The check of the object's header in
   * scripts/set-up/libgit2-bridge.h keeps this from inflating anything but commits.
   * Rejects with libgit2's error when it cannot be told.
   */
  async find(id: ObjectId): Promise<Found> {
    // For an id of the other format, libgit2 1.9 writes past the end of a buffer as long as its own ids.
    if (id.format !== this.#format) return 'nothing'
    this.#readers++
    try {
      await nodegit.Commit.lookup(this.#repository, nodegit.Oid.fromString(id.hex))
      return 'commit'
    } catch (error) {
      if (isNotFound(error)) return error.message === NO_COMMIT ? 'another object' : 'nothing'
      throw error
    } finally {
      this.#readers--
      if (this.#closing) this.close()
    }
  }

  /** Lets go of the files once the last look-up under way has ended; one that begins later does so again. */
  close(): void {
    this.#closing = true
    if (this.#readers > 0) return
    // What the garbage collector would do later; nothing is lost when libgit2 refuses.
    this.#repository.cleanup().catch(() => undefined)
  }
}

function isNotFound(error: unknown): error is Error {
  return error instanceof Error && 'errno' in error && error.errno === NOT_FOUND
}
