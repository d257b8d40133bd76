import { parseRepositoryName, type RepositoryName } from '../domain/repository-name.js'

/** A repository of the folder. */
export interface ListedName {
  readonly name: RepositoryName
  readonly public: boolean
}

/** A list of the whole folder is used for as long as it took to make, and not longer than that. */
const MAX_MILLISECONDS = 5_000

/** Rights that are asked for at once: each by itself, or all together. */
const MAX_ASKED = 32
const MAX_ASKED_TOGETHER = 4096

/** Which repositories somebody may read, by name. */
export class ReadableRepositories {
  readonly #list: () => AsyncIterable<ListedName>
  readonly #readable: (user: string, names: readonly RepositoryName[]) => Promise<readonly boolean[]>
  readonly #isTogether: boolean
  #known: { readonly all: Promise<readonly ListedName[]>; until: number } | undefined

  /**
   * @param readable which of some repositories a user may read
   * @param isTogether whether it is less to ask for the rights on many than for each: then those on public ones are
   *   asked for too, since they are needed for what is shown
   */
  constructor(
    list: () => AsyncIterable<ListedName>,
    readable: (user: string, names: readonly RepositoryName[]) => Promise<readonly boolean[]>,
    isTogether = false,
  ) {
    this.#list = list
    this.#readable = readable
    this.#isTogether = isTogether
  }

  /**
   * @param user absent: what everybody may read
   * @param asked.text what is in the name, in any letter case
   * @param asked.after the name before the first one, whether or not there is such a repository
   * @returns one more than `limit` when there are more
   */
  async find(
    user: string | undefined,
    { text, after, limit }: { text: string; after: string; limit: number },
  ): Promise<readonly ListedName[]> {
    const wanted = text.toLowerCase()
    const before = parseRepositoryName(after)
    // By its place in the order: where the name itself is looked for, the answer shows whether it is there.
    const candidates = (await this.#all())
      .filter(({ name }) => !before || isBehind(name, before))
      .filter((each) => (each.public || user !== undefined) && each.name.full.toLowerCase().includes(wanted))
    const found: ListedName[] = []
    const maxAsked = this.#isTogether ? MAX_ASKED_TOGETHER : MAX_ASKED
    for (let at = 0; at < candidates.length && found.length <= limit; at += maxAsked) {
      const some = candidates.slice(at, at + maxAsked)
      const asked = some.filter((each) => this.#isTogether || !each.public).map(({ name }) => name)
      const readable = user === undefined || asked.length === 0 ? [] : await this.#readable(user, asked)
      const shown = new Set(asked.filter((_, index) => readable[index]))
      found.push(...some.filter((each) => each.public || shown.has(each.name)))
    }
    return found.slice(0, limit + 1)
  }

  /** Whoever asks while the folder is read shares the answer. */
  async #all(): Promise<readonly ListedName[]> {
    const begun = performance.now()
    if (this.#known && begun < this.#known.until) return await this.#known.all
    const known = { all: collect(this.#list()), until: Infinity }
    this.#known = known
    try {
      return await known.all
    } finally {
      const ended = performance.now()
      known.until = ended + Math.min(MAX_MILLISECONDS, ended - begun)
    }
  }
}

/** In the order of the list: by owner, then by name. */
function isBehind(one: RepositoryName, other: RepositoryName): boolean {
  return one.owner === other.owner ? one.name > other.name : one.owner > other.owner
}

async function collect(names: AsyncIterable<ListedName>): Promise<ListedName[]> {
  const all: ListedName[] = []
  for await (const each of names) all.push(each)
  return all
}
