import { existsSync, statSync, type Stats } from 'node:fs'
import { resolve } from 'node:path'
import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
import { SyncWhileFast } from '../concurrency/sync-while-fast.js'
import type { Repositories, Repository } from '../contracts/repositories.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { EXPORT_MARK, setMark } from './export-mark.js'
import { listRepositories, newTurn, type Listing } from './repository-listing.js'
import { isAbsence, quickStat } from './stat.js'

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

export interface RepositoryFolderOptions {
  /** Owns the repositories that stand at the top of the folder. */
  readonly topOwner: string
  readonly files?: FileSystem
  readonly pace?: SyncWhileFast
}

/**
 * The repositories of one folder, public where `git-daemon-export-ok` stands in them. Where two have one name, the
 * first of these is meant:
 * - `<owner>/<repo>.git`
 * - `<repo>.git` of the owner that `topOwner` names
 * - `<owner>/<folder>/…/<repo>.git`
 * - a bare repository in a folder without `.git` at its end
 */
export class RepositoryFolder implements MaybeSync<Repositories> {
  /** Absolute. */
  readonly path: string
  /** Owns the repositories that stand at the top of the folder. */
  readonly topOwner: string
  /** Of its looks: a disk is slow for others too. */
  readonly pace: SyncWhileFast
  readonly #files: FileSystem
  /** Without waiting. */
  readonly #now: Looks
  readonly #turn = newTurn()

  constructor(folder: string, { topOwner, files = fileSystem, pace = new SyncWhileFast() }: RepositoryFolderOptions) {
    this.path = resolve(folder)
    this.topOwner = topOwner
    this.#files = files
    this.pace = pace
    this.#now = {
      isThere: (path) => files.existsSync(path),
      at(path) {
        try {
          return files.statSync(path)
        } catch (error) {
          return toStatResult(error)
        }
      },
    }
  }

  /** @throws when the folder itself cannot be looked at */
  async check(): Promise<undefined> {
    await this.#files.stat(this.path)
  }

  /** Whoever may see public ones only learns of a private one as much, and as fast, as of a missing one. */
  find(name: RepositoryName, only?: 'public'): MaybePromise<Repository | undefined> {
    return this.pace.call(
      () => this.#findSync(name, only),
      () => this.#findAsync(name, only),
    )
  }

  /**
   * Every repository of the folder, and what looks like one.
   * @param onUnreadable called for what cannot be read, and is left out then; absent: that rejects
   * @param owner whose repositories alone are listed
   */
  async listing(onUnreadable = rethrow, owner?: string): Promise<Listing> {
    return await listRepositories(this.path, { topOwner: this.topOwner, owner, onUnreadable, turn: this.#turn })
  }

  /** `false` also where it cannot be determined. */
  async isPublic({ directory }: Pick<Repository, 'directory'>): Promise<boolean> {
    return isStats(await this.#lookAsync(`${directory}/${EXPORT_MARK}`))
  }

  /** Whether there is one, even inside another one or a working tree, where it is not served. */
  async exists(name: RepositoryName): Promise<boolean> {
    const places = [this.#firstPlace(name), ...this.#otherPlaces(name)].map((place) => ({ ...place, isInside: false }))
    return locate(places, [], await this.#looks(places.flatMap(pathsOf)), undefined) !== undefined
  }

  /** The names of all repositories, in less time than `list`: none of them is looked at. */
  async names(): Promise<RepositoryName[]> {
    return (await this.listing(() => undefined)).found.map(({ name }) => name)
  }

  /** Every repository of the folder, in the order of owner and name. Throws as `listing`. */
  async *list(onUnreadable?: (error: unknown) => void): AsyncGenerator<{ name: RepositoryName; public: boolean }> {
    for (const found of (await this.listing(onUnreadable)).found)
      yield { name: found.name, public: await this.isPublic(found) }
  }

  /**
   * Makes a repository public or private.
   * @returns whether there is such a repository
   */
  async setPublic(name: RepositoryName, isPublic: boolean): Promise<boolean> {
    const found = await this.find(name)
    if (!found) return false
    await setMark(found.directory, isPublic)
    return true
  }

  #findSync(name: RepositoryName, only?: 'public'): Repository | undefined {
    const first = this.#firstPlace(name)
    const found = repositoryAt(first, this.#now, only)
    if (!found) return locate([first, ...this.#otherPlaces(name, only)], this.#above(name), this.#now, only)
    return first.isInside && isInRepository(this.#above(name), this.#now) ? undefined : found
  }

  async #findAsync(name: RepositoryName, only?: 'public'): Promise<Repository | undefined> {
    const [first, above] = [this.#firstPlace(name), this.#above(name)]
    const found = repositoryAt(first, await this.#looks(pathsOf(first)), only)
    if (found && !first.isInside) return found
    const places = [first, ...this.#otherPlaces(name, only)]
    const looks = await this.#looks([...above.flatMap(pathsAbove), ...places.flatMap(pathsOf)])
    return locate(places, above, looks, only)
  }

  /** What is at each path, asked for at once. */
  async #looks(paths: readonly string[]): Promise<Looks> {
    const known = new Map<string, StatResult>()
    await Promise.all([...new Set(paths)].map(async (path) => known.set(path, await this.#lookAsync(path))))
    return { isThere: (path) => isStats(known.get(path)), at: (path) => known.get(path) }
  }

  async #lookAsync(path: string): Promise<StatResult> {
    return await this.#files.stat(path).catch(toStatResult)
  }

  #firstPlace({ name, full }: RepositoryName): Place {
    return this.#place(`${full}.git`, name.includes('/'), true)
  }

  /** With `only` as many for every name: the time of an answer must not show what others there are. */
  #otherPlaces({ owner, name, full }: RepositoryName, only?: 'public'): readonly Place[] {
    const bare = this.#place(full, true, false)
    const isTop = owner === this.topOwner && !name.includes('/')
    if (isTop) return [this.#place(`${name}.git`, false, true), bare, this.#place(name, false, false)]
    const nothing = this.#place(`${owner}/.none`, false, true)
    return only ? [bare, nothing, nothing] : [bare]
  }

  #place(path: string, isInside: boolean, isNamed: boolean): Place {
    // No part of a name leads elsewhere, and `join` is dear.
    return { path, directory: `${this.path}/${path}`, isInside, isNamed }
  }

  /** The folders between that of all repositories and one. */
  #above({ full }: RepositoryName): string[] {
    const above: string[] = []
    for (let end = full.indexOf('/'); end !== -1; end = full.indexOf('/', end + 1))
      above.push(`${this.path}/${full.slice(0, end)}`)
    return above
  }
}

const rethrow = (error: unknown): void => {
  throw error
}

/** A folder that may be a repository. */
interface Place {
  /** Below that of all repositories. */
  readonly path: string
  readonly directory: string
  /** Whether a folder that it stands in might be a repository, in which there is no other. */
  readonly isInside: boolean
  /** Whether `.git` at its end says that it is one; else what is in it has to. */
  readonly isNamed: boolean
}

/** What is at paths. */
interface Looks {
  /** `false` also where it cannot be determined. */
  isThere(path: string): boolean
  at(path: string): StatResult
}

/**
 * Looks for a repository in places, the first of which counts.
 * @param above the folders that those stand in which may be inside a repository
 */
function locate(
  places: readonly Place[],
  above: readonly string[],
  looks: Looks,
  only: 'public' | undefined,
): Repository | undefined {
  let isIn: boolean | undefined
  const counts = ({ isInside }: Place): boolean => !isInside || !(isIn ??= isInRepository(above, looks))
  for (const [index, place] of places.entries()) {
    const found = repositoryAt(place, looks, only)
    if (!found || !counts(place)) continue
    // A private one hides it, which nobody has asked for before.
    const hiding = only ? places.slice(0, index) : []
    return hiding.some((other) => repositoryAt(other, looks) && counts(other)) ? undefined : found
  }
  return undefined
}

/** With `only` what is private is asked for as what is missing: for the mark alone. */
function repositoryAt(place: Place, looks: Looks, only?: 'public'): Repository | undefined {
  const { directory, isNamed } = place
  const mark = `${directory}/${EXPORT_MARK}`
  const isMarked = looks.isThere(mark) || (only !== undefined && certain(looks.at(mark)) !== undefined)
  if (only && !isMarked) return undefined
  const objects = looks.at(`${directory}/objects`)
  const isThere = isNamed
    ? (isMarked && isStats(objects)) || (certain(looks.at(directory))?.isDirectory() ?? false)
    : [objects, looks.at(`${directory}/HEAD`), looks.at(`${directory}/refs`)].every((look) => certain(look))
  return isThere ? repositoryOf(place, isMarked, objects) : undefined
}

function isInRepository(above: readonly string[], looks: Looks): boolean {
  return above.some(
    (folder) =>
      looks.isThere(`${folder}/.git`) ||
      (looks.isThere(`${folder}/HEAD`) && looks.isThere(`${folder}/objects`) && looks.isThere(`${folder}/refs`)),
  )
}

/** All that may be asked of a place. */
function pathsOf({ directory, isNamed }: Place): string[] {
  const inside = [EXPORT_MARK, 'objects', ...(isNamed ? [] : ['HEAD', 'refs'])]
  return [...(isNamed ? [directory] : []), ...inside.map((name) => `${directory}/${name}`)]
}

/** All that may be asked of a folder that others stand in. */
function pathsAbove(folder: string): string[] {
  return ['.git', 'HEAD', 'objects', 'refs'].map((name) => `${folder}/${name}`)
}

/** What is at a path: something, nothing, or we do not know, and why. */
type StatResult = Stats | undefined | { readonly error: unknown }

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
function repositoryOf({ directory, path }: Place, isPublic: boolean, objects: StatResult): Repository {
  const identity = isStats(objects) ? identityOf(objects) : undefined
  return identity === undefined
    ? { directory, path, public: isPublic }
    : { directory, path, public: isPublic, identity }
}

function isStats(look: StatResult): look is Stats {
  return look !== undefined && !('error' in look)
}

/** What an error says of what is at a path. */
function toStatResult(error: unknown): StatResult {
  return isAbsence(error) ? undefined : { error }
}
