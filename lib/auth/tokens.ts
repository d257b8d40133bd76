import { timingSafeEqual } from 'node:crypto'
import { TokenLimitReached } from '../errors.js'
import type { Authenticator, Identity } from '../contracts/authenticator.js'
import type { Clock } from '../contracts/clock.js'
import type { MaybePromise, MaybeSync } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'
import type { TokenRecord } from '../contracts/records.js'
import { limitsOf, type TokenLimits } from '../contracts/token-limits.js'
import type { TokenStore } from '../contracts/store.js'
import { HOST_USER } from '../domain/repository-name.js'
import { digestToken, makeToken, type TokenDigest } from './token.js'

/** The last use of a token is kept to the hour, and written down this often. */
const USE_MILLISECONDS = 60 * 60 * 1000
const NOTE_MILLISECONDS = 60 * 1000

export interface NewToken extends TokenLimits {
  readonly user: string
  /** What the user calls it. */
  readonly name: string
  readonly scopes: readonly string[]
  /** Milliseconds since 1970 UTC; `null`: never. */
  readonly expiresAt: number | null
}

/** A token that was just made. */
export interface NewlyMade {
  readonly token: string
  readonly record: TokenRecord
  /** Tokens of the user that had expired, and made room for it. */
  readonly removed: readonly TokenRecord[]
}

/** The personal access tokens of this service. */
export class Tokens implements MaybeSync<Authenticator> {
  readonly #store: TokenStore
  readonly #prefix: string
  readonly #maxTokens: number
  readonly #clock: Clock
  readonly #logger: Logger
  /** Token id → when it was used last, for those whose use has not been looked at. */
  readonly #uses = new Map<string, number>()
  /** Token id → hour that was written down last. */
  readonly #noted = new Map<string, string>()
  /** User → the latest of the creations that are under way. */
  readonly #creating = new Map<string, Promise<NewlyMade>>()
  readonly #timer: NodeJS.Timeout

  /**
   * @param dependencies.prefix what every token begins with, `_` not included
   * @param dependencies.maxTokens how many a user may have
   */
  constructor(dependencies: { store: TokenStore; prefix: string; maxTokens: number; clock: Clock; logger: Logger }) {
    this.#store = dependencies.store
    this.#prefix = dependencies.prefix
    this.#maxTokens = dependencies.maxTokens
    this.#clock = dependencies.clock
    this.#logger = dependencies.logger
    this.#timer = setInterval(() => void this.noteUses(), NOTE_MILLISECONDS).unref()
  }

  /**
   * Makes a token. What is returned is shown to nobody again; only a digest is stored.
   * The token works, and survives a crash, once this has resolved.
   * @throws TokenLimitReached
   */
  async create(wanted: NewToken): Promise<NewlyMade> {
    const { user } = wanted
    // One after the other: of those that come together at the limit, all would be refused below.
    const before = this.#creating.get(user) ?? Promise.resolve()
    const creation = before.then(
      async () => await this.#create(wanted),
      async () => await this.#create(wanted),
    )
    this.#creating.set(user, creation)
    try {
      return await creation
    } finally {
      if (this.#creating.get(user) === creation) this.#creating.delete(user)
    }
  }

  async #create({ user, name, scopes, expiresAt, ...limits }: NewToken): Promise<NewlyMade> {
    const removed = await this.#makeRoom(user)
    const token = makeToken(this.#prefix)
    const digest = digestToken(this.#prefix, token)
    if (!digest || (await this.#store.get(digest.id)))
      throw new Error('a new token must have a digest that no other has')
    const record: TokenRecord = {
      ...digest,
      user,
      name,
      scopes,
      created_at: new Date(this.#clock.now()).toISOString(),
      expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      ...limitsOf(limits),
    }
    await this.#store.add(record)
    // Other processes may add to the same store: whoever comes to see too many takes back what nobody knows yet, so
    // that there are never more once all have ended.
    if ((await this.#store.list(user)).length > this.#maxTokens) {
      await this.#store.remove(record.id)
      throw new TokenLimitReached(user, this.#maxTokens)
    }
    return { token, record, removed }
  }

  /**
   * Removes of what has expired, the longest ago first, as many as it takes for one more.
   * @returns what it has removed
   */
  async #makeRoom(user: string): Promise<readonly TokenRecord[]> {
    const tokens = await this.#store.list(user)
    const surplus = tokens.length + 1 - this.#maxTokens
    if (surplus <= 0) return []
    const now = this.#clock.now()
    const expired = tokens
      .filter((token) => hasExpired(token, now))
      .sort((one, other) => expiryOf(one) - expiryOf(other))
      .slice(0, surplus)
    if (expired.length < surplus) throw new TokenLimitReached(user, this.#maxTokens)
    for (const { id } of expired) await this.#store.remove(id)
    return expired
  }

  authenticate(token: string): MaybePromise<Identity | undefined> {
    const digest = this.digestOf(token)
    if (!digest) return undefined
    const known = this.#store.get(digest.id)
    return known instanceof Promise
      ? known.then((record) => this.identityOf(digest, record))
      : this.identityOf(digest, known)
  }

  /** What a token is looked up, listed and revoked by, as far as a text can be one. */
  digestOf(token: string): TokenDigest | undefined {
    return digestToken(this.#prefix, token)
  }

  /** @param record the token of this id, where there is one now */
  identityOf(digest: TokenDigest, record: TokenRecord | undefined): Identity | undefined {
    if (!record || !timingSafeEqual(Buffer.from(record.digest), Buffer.from(digest.digest))) return undefined
    // As it may be of a time when more names could be given.
    if (record.user === HOST_USER) return undefined
    const now = this.#clock.now()
    if (hasExpired(record, now)) return undefined
    this.#uses.set(record.id, now)
    const { id: tokenId, user, scopes, repositories, contexts, access } = record
    const isLimited = (repositories ?? contexts ?? access) !== undefined
    return { user, scopes, tokenId, ...(isLimited && limitsOf(record)) }
  }

  /**
   * Writes down which tokens were used; called now and then, and at the end. After a failure, which is logged, the next
   * call tries again.
   */
  async noteUses(): Promise<void> {
    const used = new Map(this.#uses)
    this.#uses.clear()
    const uses = new Map(
      [...used].map(([id, at]) => [id, hourOf(at)] as const).filter(([id, hour]) => this.#noted.get(id) !== hour),
    )
    if (uses.size === 0) return
    try {
      await this.#store.noteUse(uses)
      for (const [id, hour] of uses) this.#noted.set(id, hour)
      const latest = [...uses.values()].reduce((one, other) => (one > other ? one : other))
      for (const [id, hour] of this.#noted) if (hour < latest) this.#noted.delete(id)
    } catch (error) {
      for (const [id, at] of used) if (!this.#uses.has(id)) this.#uses.set(id, at)
      this.#logger.warn({ err: error }, 'the last use of tokens could not be noted')
    }
  }

  /** Stops noting uses, after a last time. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.noteUses()
  }
}

function hasExpired(token: TokenRecord, now: number): boolean {
  // Not `now >= …`: of what is no time, that would make a token without an end.
  return !(now < expiryOf(token))
}

function expiryOf({ expires_at }: TokenRecord): number {
  return expires_at === null ? Infinity : Date.parse(expires_at)
}

function hourOf(milliseconds: number): string {
  return new Date(milliseconds - (milliseconds % USE_MILLISECONDS)).toISOString()
}
