import { cacheShares } from '../../contracts/cache-shares.js'
import { chain, type MaybePromise } from '../../concurrency/maybe-promise.js'
import { noopMeter, type Meter } from '../../contracts/meter.js'
import { tokenMembers, tokenUseMembers, type TokenRecord, type TokenUse } from '../../contracts/records.js'
import type { TokenStore } from '../../contracts/store.js'
import { fromStored, limitedSchema, toStored, type StoredToken } from '../limited-token.js'
import type { LevelDatabase } from './database.js'
import { ReadCache } from './read-cache.js'
import { contentCheck, decode, encode } from './record.js'
import type { LevelWriter } from './writer.js'

/**
 * Keys as those of a sublevel `tokens`; when a token was used last stands apart, so that noting it cannot revive one.
 */
const TOKENS = '!tokens!'
const USES = '!token-uses!'

/** About what the last use of a token takes. */
const USE_CHARACTERS = 120

const isToken = contentCheck<StoredToken, 'limited'>(tokenMembers, { limited: limitedSchema })
const isUse = contentCheck<TokenUse>(tokenUseMembers)

/** About what a token takes in memory, and each repository and context that it is limited to. */
const TOKEN_BYTES = 600
const LIMIT_BYTES = 300

export class LevelTokens implements TokenStore {
  readonly #database: LevelDatabase
  readonly #writer: LevelWriter
  readonly #cache: ReadCache<TokenRecord>

  /** @param cacheBytes of tokens that are kept in memory */
  constructor(
    database: LevelDatabase,
    writer: LevelWriter,
    meter: Meter = noopMeter,
    cacheBytes = cacheShares().tokens,
  ) {
    this.#database = database
    this.#writer = writer
    this.#cache = new ReadCache({ name: 'tokens', maxSize: cacheBytes, sizeOf, meter })
    database.onReopen(() => {
      this.#cache.clear()
    })
  }

  get(id: string): MaybePromise<TokenRecord | undefined> {
    return this.#cache.get(id, () =>
      chain(this.#database.readSmall([TOKENS + id]), ([value]) =>
        value === undefined ? undefined : fromStored(decode(TOKENS + id, value, isToken)),
      ),
    )
  }

  async add(record: TokenRecord): Promise<void> {
    const key = TOKENS + record.id
    const value = encode(key, toStored(record))
    await this.#writer.apply({
      size: key.length + value.length,
      reads: [],
      decide: () => ({ operations: [{ type: 'put', key, value }], result: undefined }),
    })
    this.#cache.forget(record.id)
  }

  async remove(id: string): Promise<boolean> {
    const removed = await this.#writer.apply({
      size: id.length,
      reads: [TOKENS + id],
      decide: ([value]) => ({
        operations:
          value === undefined
            ? []
            : [
                { type: 'del', key: TOKENS + id },
                { type: 'del', key: USES + id },
              ],
        result: value !== undefined,
      }),
    })
    this.#cache.forget(id)
    return removed
  }

  async list(user?: string): Promise<(TokenRecord & TokenUse)[]> {
    // Those of others, of which there may be many, are passed over without being taken apart.
    const needle = user === undefined ? '' : `"user":${JSON.stringify(user)}`
    const records: TokenRecord[] = []
    for await (const [key, value] of this.#database.scan(TOKENS))
      if (value.includes(needle)) records.push(fromStored(decode(key, value, isToken)))
    const wanted = records.filter((record) => user === undefined || record.user === user)
    const uses = await this.#database.read(wanted.map((record) => USES + record.id))
    return wanted
      .map((record, index) => ({ ...record, ...readUse(USES + record.id, uses[index]) }))
      .sort(
        (one, other) =>
          compare(one.user, other.user) || compare(one.created_at, other.created_at) || compare(one.id, other.id),
      )
  }

  async noteUse(uses: ReadonlyMap<string, string>): Promise<void> {
    const ids = [...uses.keys()]
    await this.#writer.apply({
      size: ids.length * USE_CHARACTERS,
      reads: ids.map((id) => TOKENS + id),
      decide: (tokens) => ({
        operations: [...uses]
          .filter((_, index) => tokens[index] !== undefined)
          .map(([id, last_used_at]) => ({ type: 'put', key: USES + id, value: encode(USES + id, { last_used_at }) })),
        result: undefined,
      }),
    })
  }
}

/** Whether this is the key of a token. Throws as `isStatus`. */
export function isTokenRecord(key: string, value: string): boolean {
  if (!key.startsWith(TOKENS)) return false
  decode(key, value, isToken)
  return true
}

/** Whether this is the key of when a token was used last. Throws as `isStatus`. */
export function isTokenUse(key: string, value: string): boolean {
  if (!key.startsWith(USES)) return false
  decode(key, value, isUse)
  return true
}

function readUse(key: string, value: string | undefined): TokenUse {
  return value === undefined ? { last_used_at: null } : decode(key, value, isUse)
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function sizeOf({ repositories = [], contexts = [] }: TokenRecord): number {
  return TOKEN_BYTES + (repositories.length + contexts.length) * LIMIT_BYTES
}
