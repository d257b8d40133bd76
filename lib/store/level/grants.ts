import { idleMeter, type Meter } from '../../meter.js'
import { parseRepositoryName, type RepositoryName } from '../../repository-name.js'
import type { Grant, GrantKey, GrantStore } from '../store.js'
import type { Database, Operation } from './database.js'
import { ReadCache } from './read-cache.js'
import { contentOf, decode, encode, rekeyed } from './record.js'
import type { Writer } from './writer.js'

/**
 * Keys as those of a sublevel `grants`: `owner//user` for all repositories of an owner, `owner/repo/user` for one.
 * A name never holds a slash, so neither can be taken for the other.
 */
const GRANTS = '!grants!'

type Stored = Pick<Grant, 'access'>

const isStored = contentOf<Stored>({ access: { enum: ['read', 'write'] } })

/** Users and repositories whose grants are kept in memory. */
const MOST_PAIRS = 10_000

export class LevelGrants implements GrantStore {
  readonly #database: Database
  readonly #writer: Writer
  readonly #known: ReadCache<readonly Grant[]>

  constructor(database: Database, writer: Writer, meter: Meter = idleMeter) {
    this.#database = database
    this.#writer = writer
    this.#known = new ReadCache({ name: 'grants', most: MOST_PAIRS, meter })
    database.onReopen(() => {
      this.#known.clear()
    })
  }

  async of(user: string, repository: RepositoryName): Promise<readonly Grant[]> {
    return await this.#known.get(`${user} ${repository.full}`, async () => await this.#read(user, repository))
  }

  /** To be called when grants of whole repositories have moved or gone. */
  forgetAll(): void {
    this.#known.clear()
  }

  async #read(user: string, repository: RepositoryName): Promise<Grant[]> {
    const keys = [keyOf({ owner: repository.owner, user }), keyOf({ owner: repository.owner, repository, user })]
    const values = await this.#database.read(keys)
    return keys.flatMap((key, index) => {
      const value = values[index]
      return value === undefined ? [] : [fromStored(key, value)]
    })
  }

  async set(grant: Grant): Promise<void> {
    const { key, value } = entryOf(grant)
    await this.#writer.apply({ size: key.length + value.length, reads: [], decide: () => ({ operations: [{ type: 'put', key, value }], result: undefined }) })
    // One on an owner is about every repository of it.
    this.#known.clear()
  }

  async remove(grant: GrantKey): Promise<boolean> {
    const key = keyOf(grant)
    const removed = await this.#writer.apply({
      size: key.length,
      reads: [key],
      decide: ([value]) => ({ operations: value === undefined ? [] : [{ type: 'del', key }], result: value !== undefined }),
    })
    this.#known.clear()
    return removed
  }

  async list(owner?: string, repository?: RepositoryName): Promise<Grant[]> {
    const prefix = repository ? `${repository.full}/` : owner === undefined ? '' : `${owner}/`
    const found = await this.#database.all(GRANTS + prefix)
    return found.sort(([one], [other]) => (sortable(one) < sortable(other) ? -1 : 1)).map(([key, value]) => fromStored(key, value))
  }

  /** What moves every grant on a repository to another name, in place of the grants there. */
  async *moves(from: RepositoryName, to: RepositoryName): AsyncGenerator<Operation> {
    yield* this.removals(to)
    for await (const [key, value] of this.#database.scan(grantsOn(from))) {
      const newKey = `${GRANTS}${to.full}${key.slice(GRANTS.length + from.full.length)}`
      yield { type: 'del', key }
      yield { type: 'put', key: newKey, value: rekeyed(key, newKey, value) }
    }
  }

  /** What removes every grant on a repository. */
  async *removals(name: RepositoryName): AsyncGenerator<Operation> {
    for await (const [key] of this.#database.scan(grantsOn(name))) yield { type: 'del', key }
  }
}

/** Whether this is the key of a grant. Throws as `isStatus`. */
export function isGrant(key: string, value: string): boolean {
  if (!key.startsWith(GRANTS)) return false
  decode(key, value, isStored)
  return true
}

/** A grant as it is kept: its key and value. */
export function entryOf(grant: Grant): { key: string; value: string } {
  const key = keyOf(grant)
  return { key, value: encode(key, { access: grant.access } satisfies Stored) }
}

/** The beginning of the keys of all grants on a repository. */
export function grantsOn(repository: RepositoryName): string {
  return `${GRANTS}${repository.full}/`
}

/** In the order of the keys `a-b` stands before `a`, and `a/b-c` before `a/b`: names may hold what sorts before a slash. */
function sortable(key: string): string {
  return key.replaceAll('/', ' ')
}

function keyOf({ owner, repository, user }: GrantKey): string {
  return `${GRANTS}${owner}/${repository?.name ?? ''}/${user}`
}

function fromStored(key: string, value: string): Grant {
  const [owner = '', name = '', user = ''] = key.slice(GRANTS.length).split('/')
  const repository = parseRepositoryName(`${owner}/${name}`)
  return { owner, ...(repository && { repository }), user, access: decode(key, value, isStored).access }
}
