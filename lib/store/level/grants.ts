import { cacheShares } from '../../contracts/cache-shares.js'
import { chain, type MaybePromise } from '../../concurrency/maybe-promise.js'
import { noopMeter, type Meter } from '../../contracts/meter.js'
import { grantMembers, type Grant, type GrantKey } from '../../contracts/records.js'
import type { GrantStore } from '../../contracts/store.js'
import { parseEscapedName, type RepositoryName } from '../../domain/repository-name.js'
import type { BatchOperation } from './batch.js'
import type { LevelDatabase } from './database.js'
import { ReadCache } from './read-cache.js'
import { contentCheck, decode, encode, rekeyed } from './record.js'
import type { LevelWriter } from './writer.js'

/**
 * Keys as those of a sublevel `grants`: `owner//user` for all repositories of an owner, `owner/repo/user` for one.
 * A name never holds a slash, so neither can be taken for the other.
 */
const GRANTS = '!grants!'

type Stored = Pick<Grant, 'access'>

const isStored = contentCheck<Stored>(grantMembers)

/** About what is taken in memory of the grants of a user on a repository, and each of them. */
const PAIR_BYTES = 350
const GRANT_BYTES = 150

export class LevelGrants implements GrantStore {
  readonly #database: LevelDatabase
  readonly #writer: LevelWriter
  readonly #cache: ReadCache<readonly Grant[]>

  /** @param cacheBytes of grants that are kept in memory */
  constructor(
    database: LevelDatabase,
    writer: LevelWriter,
    meter: Meter = noopMeter,
    cacheBytes = cacheShares().grants,
  ) {
    this.#database = database
    this.#writer = writer
    const sizeOf = (grants: readonly Grant[]): number => PAIR_BYTES + grants.length * GRANT_BYTES
    this.#cache = new ReadCache({ name: 'grants', maxSize: cacheBytes, sizeOf, meter })
    database.onReopen(() => {
      this.#cache.clear()
    })
  }

  of(user: string, repository: RepositoryName): MaybePromise<readonly Grant[]> {
    return this.#cache.get(`${user} ${repository.full}`, () => this.#read(user, repository))
  }

  /** To be called when grants of whole repositories have moved or gone. */
  forgetAll(): void {
    this.#cache.clear()
  }

  #read(user: string, repository: RepositoryName): MaybePromise<Grant[]> {
    const keys = [keyOf({ owner: repository.owner, user }), keyOf({ owner: repository.owner, repository, user })]
    return chain(this.#database.readSmall(keys), (values) =>
      keys.flatMap((key, index) => {
        const value = values[index]
        return value === undefined ? [] : [fromStored(key, value)]
      }),
    )
  }

  async set(grant: Grant): Promise<void> {
    const { key, value } = toEntry(grant)
    await this.#writer.apply({
      size: key.length + value.length,
      reads: [],
      decide: () => ({ operations: [{ type: 'put', key, value }], result: undefined }),
    })
    // One on an owner is about every repository of it.
    this.#cache.clear()
  }

  async remove(grant: GrantKey): Promise<boolean> {
    const key = keyOf(grant)
    const removed = await this.#writer.apply({
      size: key.length,
      reads: [key],
      decide: ([value]) => ({
        operations: value === undefined ? [] : [{ type: 'del', key }],
        result: value !== undefined,
      }),
    })
    this.#cache.clear()
    return removed
  }

  async list(owner?: string, repository?: RepositoryName): Promise<Grant[]> {
    const prefix = repository ? `${repository.escaped}/` : owner === undefined ? '' : `${owner}/`
    const found = await this.#database.all(GRANTS + prefix)
    return found
      .sort(([one], [other]) => (sortable(one) < sortable(other) ? -1 : 1))
      .map(([key, value]) => fromStored(key, value))
  }

  /** What moves every grant on a repository to another name, in place of the grants there. */
  async *moves(from: RepositoryName, to: RepositoryName): AsyncGenerator<BatchOperation> {
    yield* this.removals(to)
    for await (const [key, value] of this.#database.scan(grantsOn(from))) {
      const newKey = `${GRANTS}${to.escaped}${key.slice(GRANTS.length + from.escaped.length)}`
      yield { type: 'del', key }
      yield { type: 'put', key: newKey, value: rekeyed(key, newKey, value) }
    }
  }

  /** What removes every grant on a repository. */
  async *removals(name: RepositoryName): AsyncGenerator<BatchOperation> {
    for await (const key of this.#database.keys(grantsOn(name))) yield { type: 'del', key }
  }
}

/** Whether this is the key of a grant. Throws as `isStatus`. */
export function isGrant(key: string, value: string): boolean {
  if (!key.startsWith(GRANTS)) return false
  decode(key, value, isStored)
  return true
}

/** A grant as it is kept: its key and value. */
export function toEntry(grant: Grant): { key: string; value: string } {
  const key = keyOf(grant)
  return { key, value: encode(key, { access: grant.access } satisfies Stored) }
}

/** The beginning of the keys of all grants on a repository. */
export function grantsOn(repository: RepositoryName): string {
  return `${GRANTS}${repository.escaped}/`
}

/**
 * By owner, name and user. In the order of the keys `a-b` stands before `a`, and `a/b-c` before `a/b`: names may hold
 * what sorts before a slash.
 */
function sortable(key: string): string {
  return key.replaceAll('/', ' ').replaceAll('%2F', '/')
}

function keyOf({ owner, repository, user }: GrantKey): string {
  return `${GRANTS}${repository?.escaped ?? `${owner}/`}/${user}`
}

function fromStored(key: string, value: string): Grant {
  const [owner = '', name = '', user = ''] = key.slice(GRANTS.length).split('/')
  const repository = parseEscapedName(`${owner}/${name}`)
  return { owner, ...(repository && { repository }), user, access: decode(key, value, isStored).access }
}
