import { setImmediate } from 'node:timers/promises'
import type nodegit from 'nodegit'
import { errorMessage, StartError } from '../errors.js'
import { SyncWhileFast } from '../concurrency/sync-while-fast.js'
import type { ObjectFormat, ObjectId } from '../domain/object-id.js'

/** What libgit2 answers when an object is not in the object database (GIT_ENOTFOUND). */
const NOT_FOUND = -3

/** What the bridge answers in place of a commit (GIT_EEXISTS); a libgit2 without it gives the commit. */
const IS_COMMIT = -4

/** What the bridge says, or a libgit2 without it, with NOT_FOUND, of an object that is no commit. */
const NO_COMMIT = ['the object is not a commit', 'the requested type does not match the type in the ODB']

/** libgit2's numbers of the object formats (git_oid_t). */
const FORMATS: Readonly<Record<number, ObjectFormat>> = { 1: 'sha1', 2: 'sha256' }

declare module 'nodegit' {
  interface Repository {
    /** Absent from the published types. */
    oidType(): number
    getNamespace(): string
    headForWorktree(name: string): Promise<unknown>
  }
}

/** What an object database has under an id. */
export type ObjectKind = 'commit' | 'another object' | 'nothing'

/** What the bridge says, and no libgit2 without it, in front of a letter for each of many ids. */
const KINDS = 'the objects are: '

/** Those letters; any other one means that it is not clear. */
const KIND_OF: Readonly<Record<string, ObjectKind>> = { c: 'commit', o: 'another object', '-': 'nothing' }

/** Ids that are looked up together. */
interface Batch {
  readonly ids: string[]
  /** A letter for each; none where each is to be looked up alone. */
  readonly letters: Promise<string>
}

/** Once it is loaded: to import it again takes as long as a look at a file. */
let loaded: { readonly git: typeof nodegit; readonly isBuiltHere: boolean } | undefined

/** Builds the libgit2 that is wanted, wherever this package is installed. */
const SET_UP = 'node_modules/.bin/commit-status set-up'

/**
 * Loads libgit2.
 * @returns what it lacks, in words for the log, with the command that mends it
 * @throws StartError when it has not been built
 */
export async function loadLibgit2(): Promise<{ lacks?: string }> {
  let git: typeof nodegit
  try {
    git = (await import('nodegit')).default
    /* c8 ignore next 3 -- spec/package.test.ts shows it, in a process of its own */
  } catch (cause) {
    throw new StartError(`libgit2 is not built; run: ${SET_UP}`, { cause })
  }
  /* c8 ignore next 7 -- the specs run with the libgit2 that the set-up builds */
  if (knowsSha256(git)) return {}
  return {
    lacks:
      'libgit2 was built without SHA-256: SHA-256 repositories are answered with 503, and named pipes in a ' +
      `repository hold up its look-ups; to mend it, run: ${SET_UP}`,
  }
}

async function load(): Promise<NonNullable<typeof loaded>> {
  const { default: git } = await import('nodegit')
  return (loaded = { git, isBuiltHere: knowsSha256(git) })
}

/** As the libgit2 that the set-up builds does, and no other one of nodegit. */
function knowsSha256(git: typeof nodegit): boolean {
  try {
    git.Oid.fromString('1'.repeat(64))
    return true
    /* c8 ignore next 3 -- the specs run with it */
  } catch {
    return false
  }
}

/** A bare repository held open by libgit2. The one place where nodegit is used. */
export class OpenRepository {
  readonly #git: typeof nodegit
  readonly #repository: nodegit.Repository
  readonly #format: ObjectFormat | undefined
  /** What was looked up with the opening. */
  #first: { readonly id: string; readonly letter: string } | undefined
  #next: Batch | undefined
  #closed = false

  private constructor(git: typeof nodegit, repository: nodegit.Repository, first: ObjectId | undefined) {
    this.#git = git
    if (first) this.#first = { id: first.hex, letter: repository.getNamespace() }
    this.#repository = repository
    // Asked once, as it waits for whatever else is under way on this repository.
    this.#format = FORMATS[repository.oidType()]
  }

  /**
   * Opens without looking at who owns the files: the admin chose the folder. scripts/set-up/libgit2-bridge.h has it
   * open the object database alone, in the object format that the repository's own config names.
   * Rejects with libgit2's error.
   * @param directory its absolute path
   * @param first an id that is looked up at the same time
   */
  static async open(directory: string, first?: ObjectId): Promise<OpenRepository> {
    // Here, so that what needs no libgit2 runs without it.
    const { git, isBuiltHere } = loaded ?? (await load())
    /* c8 ignore next -- the specs run with the libgit2 that the set-up builds */
    const wanted = isBuiltHere ? first : undefined
    return new OpenRepository(git, await git.Repository.openBare(`${wanted?.hex ?? ''}${directory}`), wanted)
  }

  /** What was found under this id with the opening, to be asked once; `undefined` where that is not known. */
  takeFirst(id: ObjectId): ObjectKind | undefined {
    const first = this.#first
    this.#first = undefined
    // Of an id of the other format its first half was looked up.
    return first?.id === id.hex && id.format === this.#format ? KIND_OF[first.letter] : undefined
  }

  /**
   * What the object database has under this id. Look-ups of one turn of the event loop are made together. The check of
   * the object's header in scripts/set-up/libgit2-bridge.h keeps this from inflating the object.
   * Rejects with libgit2's error when it cannot be determined.
   */
  async find(id: ObjectId): Promise<ObjectKind> {
    // For an id of the other format, libgit2 1.9 writes past the end of a buffer as long as its own ids.
    if (id.format !== this.#format) return 'nothing'
    if (this.#closed) throw new Error('the repository was closed')
    const { [await this.#letterOf(id.hex)]: kind } = KIND_OF
    return kind ?? (await this.#findAlone(id))
  }

  async #letterOf(id: string): Promise<string> {
    if (!this.#next) {
      const ids: string[] = []
      this.#next = { ids, letters: this.#look(ids) }
    }
    const { ids, letters } = this.#next
    const at = ids.push(id) - 1
    return (await letters).charAt(at)
  }

  /** @param ids may become more until the turn of the event loop ends */
  async #look(ids: readonly string[]): Promise<string> {
    await setImmediate()
    this.#next = undefined
    if (ids.length === 1) return ''
    const outcome: unknown = await this.#repository.headForWorktree(ids.join('')).catch((error: unknown) => error)
    const [, letters = ''] = errorMessage(outcome).split(KINDS)
    return letters
  }

  async #findAlone(id: ObjectId): Promise<ObjectKind> {
    const outcome: unknown = await this.#git.Commit.lookup(this.#repository, this.#git.Oid.fromString(id.hex)).catch(
      (error: unknown) => error,
    )
    if (outcome instanceof this.#git.Commit || hasCode(outcome, IS_COMMIT)) return 'commit'
    if (hasCode(outcome, NOT_FOUND)) return NO_COMMIT.includes(outcome.message) ? 'another object' : 'nothing'
    throw outcome
  }

  /**
   * Lets go of the files. No look-up may be under way; one that begins later rejects.
   * @param pace of the disk that they are on
   */
  close(pace = new SyncWhileFast()): void {
    this.#closed = true
    // What the garbage collector would do later; nothing is lost when libgit2 refuses.
    const wait = async (): Promise<void> => {
      await this.#repository.cleanup().catch(() => undefined)
    }
    /* c8 ignore next -- the specs run with the libgit2 that the set-up builds */
    if (!loaded?.isBuiltHere) return void wait()
    // The bridge cleans up in place of what this is for: to hand it to another thread takes longer.
    void pace.call(() => this.#repository.setNamespace(''), wait)
  }
}

function hasCode(outcome: unknown, code: number): outcome is Error {
  return outcome instanceof Error && 'errno' in outcome && outcome.errno === code
}
