import { readdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isOwnerName, repositoryName, type RepositoryName } from '../repository-name.js'
import { fileStatus } from './file-status.js'
import type { Repositories, Repository } from './repositories.js'

/** git's own mark of a repository that everybody may read (git-daemon(1)). */
const EXPORT_MARK = 'git-daemon-export-ok'

interface LookUp {
  readonly found: Promise<Repository | undefined>
  /** Whether it began in this turn of the event loop. */
  isNew: boolean
  /** The one after it, for those who ask while it is under way. */
  next?: Promise<Repository | undefined>
}

/** The repositories of one folder: `<folder>/<owner>/<repo>.git`, public where `git-daemon-export-ok` stands in them. */
export class RepositoryFolder implements Repositories {
  readonly #folder: string
  /** One for each name is under way at a time: the more requests arrive, the more of them share one. */
  readonly #lookUps = new Map<string, LookUp>()

  constructor(folder: string) {
    this.#folder = resolve(folder)
  }

  find(name: RepositoryName): Promise<Repository | undefined> {
    const known = this.#lookUps.get(name.full)
    if (!known) return this.#begin(name)
    if (known.isNew) return known.found
    const again = (): Promise<Repository | undefined> => this.find(name)
    return (known.next ??= known.found.then(again, again))
  }

  /**
   * Every repository of the folder, in the order of owner and name.
   * @param onUnreadable told of what stands in the folder and cannot be read, and is left out then; absent: that rejects
   */
  async *list(onUnreadable: (error: unknown) => void = rethrow): AsyncGenerator<{ name: RepositoryName; public: boolean }> {
    const tell = (error: unknown): undefined => {
      onUnreadable(error)
    }
    for (const owner of (await readdir(this.#folder)).filter(isOwnerName).sort()) {
      const entries = await readdir(join(this.#folder, owner)).catch(whenAbsent([])).catch(tell)
      // Sorted without the ending: names may hold what sorts before its dot.
      for (const entry of (entries ?? []).filter((name) => name.endsWith('.git')).map((name) => name.slice(0, -'.git'.length)).sort()) {
        const name = repositoryName(owner, entry)
        const found = name && (await this.find(name).catch(tell))
        if (name && found) yield { name, public: found.public }
      }
    }
  }

  /**
   * Makes a repository public or private.
   * @returns whether there is such a repository
   */
  async setPublic(name: RepositoryName, isPublic: boolean): Promise<boolean> {
    if (!(await this.find(name))) return false
    const mark = join(this.#directory(name), EXPORT_MARK)
    await (isPublic ? writeFile(mark, '', { flag: 'a' }) : rm(mark, { force: true }))
    this.#lookUps.delete(name.full)
    return true
  }

  #begin(name: RepositoryName): Promise<Repository | undefined> {
    const lookUp: LookUp = { found: this.#look(name), isNew: true }
    const end = (): void => {
      if (this.#lookUps.get(name.full) === lookUp) this.#lookUps.delete(name.full)
    }
    this.#lookUps.set(name.full, lookUp)
    setImmediate(() => {
      lookUp.isNew = false
    })
    lookUp.found.then(end, end)
    return lookUp.found
  }

  async #look(name: RepositoryName): Promise<Repository | undefined> {
    const directory = this.#directory(name)
    // All are always asked for: a private repository takes as long as a missing one.
    const [exists, marked, identity] = await Promise.allSettled([isDirectory(directory), isThere(join(directory, EXPORT_MARK)), identityOf(join(directory, 'objects'))])
    if (exists.status === 'rejected') throw exists.reason
    if (!exists.value) return undefined
    const isPublic = marked.status === 'fulfilled' && marked.value
    return { directory, public: isPublic, ...(identity.status === 'fulfilled' && identity.value !== undefined && { identity: identity.value }) }
  }

  #directory(name: RepositoryName): string {
    return join(this.#folder, name.owner, `${name.name}.git`)
  }
}

function rethrow(error: unknown): never {
  throw error
}

async function isDirectory(path: string): Promise<boolean> {
  return await fileStatus(path).then((found) => found.isDirectory(), whenAbsent(false))
}

/** `undefined` where the file system does not tell when the folder was made: its number may be given again. */
async function identityOf(path: string): Promise<string | undefined> {
  const { dev, ino, birthtimeMs } = await fileStatus(path)
  /* c8 ignore next -- those of the specs tell it */
  return birthtimeMs > 0 ? `${dev} ${ino} ${birthtimeMs}` : undefined
}

async function isThere(path: string): Promise<boolean> {
  return await fileStatus(path).then(() => true, whenAbsent(false))
}

/** ENOENT and ENOTDIR mean that there is nothing; any other error means that we do not know. */
function whenAbsent<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return value
    throw error
  }
}
