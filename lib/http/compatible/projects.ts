import { LRUCache } from 'lru-cache'
import { ServiceError, toServiceError } from '../../errors.js'
import { settle, type MaybePromise } from '../../concurrency/maybe-promise.js'
import { parseRepositoryName, type RepositoryName } from '../../domain/repository-name.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import { projectNumber } from './numbers.js'

/** Numbers that are remembered because they were shown: beside those of the repositories that can be listed. */
const MAX_SHOWN = 10_000

/** How often the repositories are listed: numbers that nobody has would be asked for otherwise. */
const LIST_MILLISECONDS = 10_000

/** Whose folder is looked into where none can be listed. */
const UNLISTED = nameOf('0/0')

/** Lists the names of the repositories that are there, where that is possible. */
export type ListNames = () => Promise<readonly RepositoryName[]>

/** Finds a repository that a caller may read; throws a ServiceError otherwise. */
export type LookAt = (name: RepositoryName) => MaybePromise<VisibleRepository>

export interface ProjectsOptions {
  /** Whose repositories may stand at the top of the folder; absent: nobody's. */
  readonly topOwner?: string | undefined
  /** How often the repositories are listed, at most. */
  readonly milliseconds?: number
}

/** Repositories by their numbers, which some clients know them by. */
export class Projects {
  readonly #list: ListNames
  readonly #milliseconds: number
  readonly #shown = new LRUCache<number, readonly RepositoryName[]>({ max: MAX_SHOWN })
  readonly #topOwner: string | undefined
  /** Some names of each shape that repositories have, or had. */
  #shapes: ReadonlyMap<number, readonly RepositoryName[]> = new Map([[2, [UNLISTED]]])
  #listed: ReadonlyMap<number, readonly RepositoryName[]> = new Map()
  #listing: Promise<void> | undefined
  #listedAt = -Infinity

  constructor(list: ListNames, { topOwner, milliseconds = LIST_MILLISECONDS }: ProjectsOptions = {}) {
    this.#list = list
    this.#topOwner = topOwner
    this.#milliseconds = milliseconds
  }

  /** The number of a repository that a client is shown. */
  numberOf(name: RepositoryName): number {
    const number = projectNumber(name.full)
    const shown = this.#shown.get(number) ?? []
    if (!includes(shown, name)) this.#shown.set(number, [...shown, name])
    if (!this.#shapes.has(this.#shapeOf(name))) this.#shapes = this.#shapesOf([name])
    return number
  }

  /**
   * @param id a number, or `owner/repo`
   * @param lookAt as the caller; called for numbers alone
   * @returns `undefined` for what is no name; of repositories with one number the one that the caller may write, or
   *   where there is none, read
   * @throws ServiceError where there is none, where there are two, and when it cannot be determined
   */
  find(id: string, lookAt: LookAt): MaybePromise<RepositoryName | undefined> {
    return isNumber(id) ? this.#numbered(Number(id), lookAt) : parseRepositoryName(id)
  }

  /** What `find` looks at; nothing as long as it cannot be determined. */
  mayMean(id: string): RepositoryName | undefined | Promise<readonly RepositoryName[]> {
    return isNumber(id) ? this.#allOf(Number(id)) : parseRepositoryName(id)
  }

  async #allOf(number: number): Promise<readonly RepositoryName[]> {
    try {
      await this.#refreshed()
      return this.#candidates(number)
    } catch {
      return []
    }
  }

  async #numbered(number: number, lookAt: LookAt): Promise<RepositoryName> {
    // Whether or not it is known: the time would show who has it.
    await this.#refreshed()
    const look = async (name: RepositoryName) => await settle(() => lookAt(name))
    const looks = await Promise.all(this.#candidates(number).map(look))
    const errors = looks.flatMap((each) => ('error' in each ? [toServiceError(each.error)] : []))
    const failure = errors.find(({ status }) => status >= 500)
    if (failure) throw failure
    const readable = looks.flatMap((each) => ('value' in each ? [each.value] : []))
    const writable = readable.filter(({ access }) => access === 'write')
    const [found, another] = writable.length > 0 ? writable : readable
    if (found && !another) return found.name
    throw errors[0] ?? new ServiceError('repository_not_found')
  }

  /**
   * Two at least of each shape: a private repository, whose number everybody can compute, takes the time of a missing
   * one, also for whoever has made one with the same number.
   */
  #candidates(number: number): readonly RepositoryName[] {
    const listed = this.#listed.get(number) ?? []
    const shown = this.#shown.get(number) ?? []
    const names = [...listed, ...shown.filter((name) => !includes(listed, name))]
    return [...this.#shapes].flatMap(([shape, there]) => {
      const ofShape = names.filter((name) => this.#shapeOf(name) === shape)
      return [...ofShape, ...missing(number, there).slice(ofShape.length)]
    })
  }

  /** Names of one shape are looked for in as many places: see RepositoryFolder. */
  #shapeOf({ owner, name }: RepositoryName): number {
    const parts = name.split('/').length
    return parts === 1 && owner === this.#topOwner ? 1 : parts + 1
  }

  /** What the shapes are with these names: none goes. */
  #shapesOf(names: readonly RepositoryName[]): ReadonlyMap<number, readonly RepositoryName[]> {
    const shapes = new Map<number, RepositoryName[]>()
    for (const name of names) {
      const ofShape = shapes.get(this.#shapeOf(name)) ?? []
      ofShape.push(name)
      shapes.set(this.#shapeOf(name), ofShape)
    }
    return new Map([...this.#shapes, ...shapes])
  }

  #refreshed(): MaybePromise<void> {
    return performance.now() - this.#listedAt < this.#milliseconds ? undefined : this.#refresh()
  }

  async #refresh(): Promise<void> {
    this.#listing ??= this.#read().finally(() => {
      this.#listing = undefined
    })
    await this.#listing
  }

  async #read(): Promise<void> {
    const [names, listed] = [await this.#list(), new Map<number, readonly RepositoryName[]>()]
    for (const name of names) {
      const number = projectNumber(name.full)
      listed.set(number, [...(listed.get(number) ?? []), name])
    }
    this.#shapes = this.#shapesOf(names)
    this.#listed = listed
    this.#listedAt = performance.now()
  }
}

function isNumber(id: string): boolean {
  return /^\d{1,15}$/.test(id)
}

/**
 * Names that no repository may have. They are the number's own, as what is known of a name is found sooner the next
 * time, and in a folder that is there, as it takes longer to look into one than for one.
 */
function missing(number: number, there: readonly RepositoryName[]): readonly RepositoryName[] {
  const { [number % there.length]: { full } = UNLISTED } = there
  return ['a', 'b'].map((letter) => nameOf(full.replace(/[^/]*$/, `${number}${letter}.lock`)))
}

function nameOf(full: string): RepositoryName {
  const [owner = '', ...parts] = full.split('/')
  return { owner, name: parts.join('/'), full, escaped: `${owner}/${parts.join('%2F')}` }
}

function includes(names: readonly RepositoryName[], { full }: RepositoryName): boolean {
  return names.some((name) => name.full === full)
}
