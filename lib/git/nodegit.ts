import nodegit from 'nodegit'
import type { ObjectId } from '../object-id.js'

/** What libgit2 answers when an object is not in the object database (GIT_ENOTFOUND). */
const NOT_FOUND = -3

/** A bare repository held open by libgit2. The one place where nodegit is used. */
export class OpenRepository {
  readonly #repository: nodegit.Repository
  #readers = 0
  #closing = false

  private constructor(repository: nodegit.Repository) {
    this.#repository = repository
  }

  /** Opens without looking at who owns the files: the admin chose the folder. Rejects with libgit2's error. */
  static async open(directory: string): Promise<OpenRepository> {
    return new OpenRepository(await nodegit.Repository.openBare(directory))
  }

  /**
   * Whether the object database has a commit of this id. The check of the object's header in
   * scripts/set-up/libgit2-bridge.h keeps this from inflating anything but commits.
   * Rejects with libgit2's error when it cannot be told.
   */
  async hasCommit(id: ObjectId): Promise<boolean> {
    this.#readers++
    try {
      const commit = await nodegit.Commit.lookup(this.#repository, nodegit.Oid.fromString(id.hex))
      // A libgit2 without SHA-256 reads the first 40 digits of a longer id.
      return commit.sha() === id.hex
    } catch (error) {
      if (isNotFound(error)) return false
      throw error
    } finally {
      this.#readers--
      if (this.#closing) this.close()
    }
  }

  /** Lets go of the files once the last look-up under way has ended. */
  close(): void {
    this.#closing = true
    if (this.#readers > 0) return
    // What the garbage collector would do later; nothing is lost when libgit2 refuses.
    this.#repository.cleanup().catch(() => undefined)
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && error.errno === NOT_FOUND
}
