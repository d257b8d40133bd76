import { LRUCache } from 'lru-cache'
import { andThen, type Eventual } from '../../parts/eventual.js'
import { parseRepositoryName, type RepositoryName } from '../../repository-name.js'
import { nameNumber } from './numbers.js'

/** Numbers that are remembered because they were shown: beside those of the repositories that can be listed. */
const MAX_SHOWN = 10_000

/** How often the repositories are listed, at most: numbers that nobody has would be asked for otherwise. */
const LIST_MILLISECONDS = 10_000

/**
 * What a number that nobody has stands for: no repository may be called so. It is looked up as any other, so that it
 * takes the time of a private one, whose number everybody can tell from its name.
 */
const NOBODYS: RepositoryName = { owner: '0', name: 'missing.lock', full: '0/missing.lock' }

/** Lists the names of the repositories that are there, where that is possible. */
export type ListNames = () => Promise<readonly RepositoryName[]>

/** Repositories by their numbers, which some clients know them by. */
export class Projects {
  readonly #list: ListNames
  readonly #milliseconds: number
  readonly #shown = new LRUCache<number, string>({ max: MAX_SHOWN })
  /** By number; `undefined` where two repositories have it. */
  #listed: ReadonlyMap<number, string | undefined> = new Map()
  #listing: Promise<void> | undefined
  #listedAt = -Infinity

  constructor(list: ListNames, milliseconds = LIST_MILLISECONDS) {
    this.#list = list
    this.#milliseconds = milliseconds
  }

  /** The number of a repository that a client is shown. */
  numberOf({ full }: RepositoryName): number {
    const number = nameNumber(full)
    this.#shown.set(number, full)
    return number
  }

  /**
   * @param id a number, or `owner/repo`
   * @returns `undefined` for what is no name; the name of no repository for a number that nobody has or two have
   */
  find(id: string): Eventual<RepositoryName | undefined> {
    if (!/^\d{1,10}$/.test(id)) return parseRepositoryName(id)
    // Whether or not it is known: who waits would tell who has it.
    return andThen(this.#refreshed(), () => this.#known(Number(id)))
  }

  #known(number: number): RepositoryName {
    return parseRepositoryName(this.#listed.has(number) ? this.#listed.get(number) : this.#shown.get(number)) ?? NOBODYS
  }

  #refreshed(): Eventual<void> {
    return performance.now() - this.#listedAt < this.#milliseconds ? undefined : this.#refresh()
  }

  async #refresh(): Promise<void> {
    this.#listing ??= this.#read().finally(() => {
      this.#listing = undefined
    })
    await this.#listing
  }

  async #read(): Promise<void> {
    const listed = new Map<number, string | undefined>()
    for (const { full } of await this.#list()) {
      const number = nameNumber(full)
      listed.set(number, listed.has(number) ? undefined : full)
    }
    this.#listed = listed
    this.#listedAt = performance.now()
  }
}
