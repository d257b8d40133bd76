import { timingSafeEqual } from 'node:crypto'
import type { Authenticator, Identity } from '../contracts/authenticator.js'
import type { Clock } from '../contracts/clock.js'
import { andThen, type Eventual, type Prompt } from '../concurrency/maybe-promise.js'
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

/** The personal access tokens of this service. */
export class Tokens implements Prompt<Authenticator> {
  readonly #store: TokenStore
  readonly #prefix: string
  readonly #clock: Clock
  readonly #logger: Logger
  /** Token id → when it was used last, for those whose use has not been looked at. */
  readonly #uses = new Map<string, number>()
  /** Token id → hour that was written down last. */
  readonly #noted = new Map<string, string>()
  readonly #timer: NodeJS.Timeout

  /** @param parts.prefix what every token begins with, `_` not included */
  constructor(parts: { store: TokenStore; prefix: string; clock: Clock; logger: Logger }) {
    this.#store = parts.store
    this.#prefix = parts.prefix
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#timer = setInterval(() => void this.noteUses(), NOTE_MILLISECONDS).unref()
  }

  /**
   * Makes a token. What is returned is shown to nobody again; only a digest is stored.
   * The token works, and survives a crash, once this has resolved.
   */
  async create({
    user,
    name,
    scopes,
    expiresAt,
    ...limits
  }: NewToken): Promise<{ token: string; record: TokenRecord }> {
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
    return { token, record }
  }

  authenticate(token: string): Eventual<Identity | undefined> {
    const digest = digestToken(this.#prefix, token)
    return digest && andThen(this.#store.get(digest.id), (record) => this.#identity(digest, record))
  }

  #identity(digest: TokenDigest, record: TokenRecord | undefined): Identity | undefined {
    if (!record || !timingSafeEqual(Buffer.from(record.digest), Buffer.from(digest.digest))) return undefined
    // As it may be of a time when more names could be given.
    if (record.user === HOST_USER) return undefined
    const now = this.#clock.now()
    // Not `now >= …`: of what is no time, that would make a token without an end.
    if (record.expires_at !== null && !(now < Date.parse(record.expires_at))) return undefined
    this.#uses.set(record.id, now)
    return { user: record.user, scopes: record.scopes, tokenId: record.id, ...limitsOf(record) }
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

function hourOf(milliseconds: number): string {
  return new Date(milliseconds - (milliseconds % USE_MILLISECONDS)).toISOString()
}
