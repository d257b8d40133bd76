import { LRUCache } from 'lru-cache'
import { ServiceError, toServiceError } from '../../errors.js'
import { settle, type MaybePromise } from '../../concurrency/maybe-promise.js'
import { parseRepositoryName, type RepositoryName } from '../../domain/repository-name.js'
import type { VisibleRepository } from '../../service/repository-access.js'
import { projectNumber } from './numbers.js'

/** Numbers that are remembered because they were shown: beside those of the repositories that can be listed. */
const MAX_SHOWN = 10_000

/** How often the repositories are listed, at most: numbers that nobody has would be asked for otherwise. */
const LIST_MILLISECONDS = 10_000

/** Lists the names of the repositories that are there, where that is possible. */
export type ListNames = () => Promise<readonly RepositoryName[]>

/** Finds a repository that a caller may read; throws a ServiceError otherwise. */
export type LookAt = (name: RepositoryName) => MaybePromise<VisibleRepository>

/** Repositories by their numbers, which some clients know them by. */
export class Projects {
  readonly #list: ListNames
  readonly #milliseconds: number
  readonly #shown = new LRUCache<number, readonly RepositoryName[]>({ max: MAX_SHOWN })
  #names: readonly RepositoryName[] = []
  #listed: ReadonlyMap<number, readonly RepositoryName[]> = new Map()
  #listing: Promise<void> | undefined
  #listedAt = -Infinity

  constructor(list: ListNames, milliseconds = LIST_MILLISECONDS) {
    this.#list = list
    this.#milliseconds = milliseconds
  }

  /** The number of a repository that a client is shown. */
  numberOf(name: RepositoryName): number {
    const number = projectNumber(name.full)
    const shown = this.#shown.get(number) ?? []
    if (!includes(shown, name)) this.#shown.set(number, [...shown, name])
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
    return /^\d{1,15}$/.test(id) ? this.#numbered(Number(id), lookAt) : parseRepositoryName(id)
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
   * Two at least: a private repository, whose number everybody can compute, takes the time of a missing one,
   * also for whoever has made one with the same number.
   */
  #candidates(number: number): readonly RepositoryName[] {
    const listed = this.#listed.get(number) ?? []
    const shown = this.#shown.get(number) ?? []
    const names = [...listed, ...shown.filter((name) => !includes(listed, name))]
    return [...names, ...this.#missing(number).slice(names.length)]
  }

  /**
   * Names that no repository may have. They are the number's own, as what is known of a name is found sooner the next
   * time, and of an owner that is there, as it takes longer to look into a folder than for one.
   */
  #missing(number: number): readonly RepositoryName[] {
    const owner = this.#names[number % this.#names.length]?.owner ?? '0'
    return ['a', 'b'].map((letter) => {
      const name = `${number}${letter}.lock`
      const full = `${owner}/${name}`
      return { owner, name, full, escaped: full }
    })
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
    this.#names = names
    this.#listed = listed
    this.#listedAt = performance.now()
  }
}

function includes(names: readonly RepositoryName[], { full }: RepositoryName): boolean {
  return names.some((name) => name.full === full)
}
