import { existsSync, statSync, type Stats } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AdministrationError } from '../errors.js'
import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
import { SyncWhileFast } from '../concurrency/sync-while-fast.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import { isOwnerName, repositoryName, type RepositoryName } from '../domain/repository-name.js'
import { quickStat } from './stat.js'

/** git's own mark of a repository that everybody may read (git-daemon(1)). */
const EXPORT_MARK = 'git-daemon-export-ok'

/** Ways to look at a file; where there is none, they may throw or say so with `undefined`. */
export interface FileSystem {
  stat(path: string): Promise<Stats>
  statSync(path: string): Stats | undefined
  /** `false` also where it cannot be determined. */
  existsSync(path: string): boolean
}

export const fileSystem: FileSystem = {
  stat: quickStat,
  existsSync,
  statSync: (path) => statSync(path, { throwIfNoEntry: false }),
}

/**
 * The repositories of one folder: `<folder>/<owner>/<repo>.git`, public where `git-daemon-export-ok` stands in them.
 */
export class RepositoryFolder implements MaybeSync<Repositories> {
  readonly #folder: string
  readonly #files: FileSystem
  readonly #reads: SyncWhileFast

  constructor(
    folder: string,
    { files = fileSystem, pace = new SyncWhileFast() }: { files?: FileSystem; pace?: SyncWhileFast } = {},
  ) {
    this.#folder = resolve(folder)
    this.#files = files
    this.#reads = pace
  }

  /** Absolute. */
  get path(): string {
    return this.#folder
  }

  /** Whoever may see public ones only learns of a private one as much, and as fast, as of a missing one. */
  find(name: RepositoryName, only?: 'public'): MaybePromise<Repository | undefined> {
    const directory = this.#directory(name)
    return this.#reads.call(
      () => this.#findSync(directory, only),
      () => this.#findAsync(directory, only),
    )
  }

  /** The names of all that may be repositories, in less time than `list`: none of them is looked at. */
  async names(): Promise<RepositoryName[]> {
    const owners = (await readdir(this.#folder)).filter(isOwnerName)
    const names = owners.map(async (owner) => {
      const entries = await readdir(join(this.#folder, owner)).catch(() => [])
      return entries
        .filter((entry) => entry.endsWith('.git'))
        .flatMap((entry) => repositoryName(owner, entry.slice(0, -'.git'.length)) ?? [])
    })
    return (await Promise.all(names)).flat()
  }

  /**
   * Every repository of the folder, in the order of owner and name.
   * @param onUnreadable called for what stands in the folder and cannot be read, and is left out then; absent: that
   *   rejects
   * @param only those of this owner, or this one alone: no other is looked at
   */
  async *list(
    onUnreadable: (error: unknown) => void = rethrow,
    only?: { readonly owner: string; readonly repository?: RepositoryName },
  ): AsyncGenerator<{ name: RepositoryName; public: boolean }> {
    const report = (error: unknown): undefined => {
      onUnreadable(error)
    }
    const owners = (await readdir(this.#folder)).filter(isOwnerName).sort()
    for (const owner of only ? owners.filter((each) => each === only.owner) : owners) {
      const entries = only?.repository
        ? [`${only.repository.name}.git`]
        : await readdir(join(this.#folder, owner)).catch(whenAbsent([])).catch(report)
      // Sorted without the ending: names may hold what sorts before its dot.
      for (const entry of (entries ?? [])
        .filter((name) => name.endsWith('.git'))
        .map((name) => name.slice(0, -'.git'.length))
        .sort()) {
        const name = repositoryName(owner, entry)
        const found = name && (await this.#findAsync(this.#directory(name)).catch(report))
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
    await (isPublic ? makeMark(mark) : rm(mark, { force: true }))
    return true
  }

  #findSync(directory: string, only?: 'public'): Repository | undefined {
    const mark = `${directory}/${EXPORT_MARK}`
    const isMarked = this.#files.existsSync(mark) || (only !== undefined && isThereOrThrow(this.#lookSync(mark)))
    if (only && !isMarked) return undefined
    const objects = this.#lookSync(`${directory}/objects`)
    const isSure = isMarked && isStats(objects)
    return isSure || isFolder(this.#lookSync(directory)) ? repositoryOf(directory, isMarked, objects) : undefined
  }

  async #findAsync(directory: string, only?: 'public'): Promise<Repository | undefined> {
    if (only && !isThereOrThrow(await this.#lookAsync(`${directory}/${EXPORT_MARK}`))) return undefined
    const [found, marked, objects] = await Promise.all([
      this.#lookAsync(directory),
      this.#lookAsync(`${directory}/${EXPORT_MARK}`),
      this.#lookAsync(`${directory}/objects`),
    ])
    return isFolder(found) ? repositoryOf(directory, isStats(marked), objects) : undefined
  }

  #lookSync(path: string): StatResult {
    try {
      return this.#files.statSync(path)
    } catch (error) {
      return toStatResult(error)
    }
  }

  async #lookAsync(path: string): Promise<StatResult> {
    return await this.#files.stat(path).catch(toStatResult)
  }

  #directory(name: RepositoryName): string {
    // Names hold no separators, and `join` is dear.
    return `${this.#folder}/${name.full}.git`
  }
}

/** Never through a link: root would make or keep a file wherever it leads. */
async function makeMark(mark: string): Promise<void> {
  try {
    await writeFile(mark, '', { flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if (await isThere(mark)) return
    throw new AdministrationError(`${mark} is a link that leads nowhere: remove it first`)
  }
}

function rethrow(error: unknown): never {
  throw error
}

/** What is at a path: something, nothing, or we do not know, and why. */
type StatResult = Stats | undefined | { readonly error: unknown }

function isFolder(look: StatResult): boolean {
  return certain(look)?.isDirectory() ?? false
}

function isThereOrThrow(look: StatResult): boolean {
  return certain(look) !== undefined
}

/** @throws why it cannot be determined */
function certain(look: StatResult): Stats | undefined {
  if (look && 'error' in look) throw look.error
  return look
}

/**
 * Another text for every folder that ever was.
 * @returns `undefined` where the file system does not tell when a folder was made: its number may be given again
 */
export function identityOf({ dev, ino, birthtimeMs }: Stats): string | undefined {
  /* c8 ignore next -- those of the specs tell it */
  return birthtimeMs > 0 ? `${dev} ${ino} ${birthtimeMs}` : undefined
}

/** @param isPublic `false` also where it cannot be determined */
function repositoryOf(directory: string, isPublic: boolean, objects: StatResult): Repository {
  const identity = isStats(objects) ? identityOf(objects) : undefined
  return identity === undefined ? { directory, public: isPublic } : { directory, public: isPublic, identity }
}

function isStats(look: StatResult): look is Stats {
  return look !== undefined && !('error' in look)
}

/** What an error says of what is at a path. */
function toStatResult(error: unknown): StatResult {
  return isAbsence(error) ? undefined : { error }
}

async function isThere(path: string): Promise<boolean> {
  return await quickStat(path).then(() => true, whenAbsent(false))
}

function whenAbsent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isAbsence(error)) return value
    throw error
  }
}

/** ENOENT and ENOTDIR mean that there is nothing; any other error means that we do not know. */
function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
