import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { KnownRight } from '../contracts/access-policy.js'
import type { Identity } from '../contracts/authenticator.js'
import type { StoredFailureBudget } from '../contracts/failure-budget.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { knownRight } from './grants.js'
import type { TokenDigest } from './token.js'
import type { Tokens } from './tokens.js'

/** The repository that a request is about, or those of which it may be one; as a promise, one that never rejects. */
export type About = MaybePromise<RepositoryName | readonly RepositoryName[] | undefined>

/** Who logs in with a token. */
export interface LogIn {
  /** As `FailureBudget.retryAfter`, at the moment when the rest was found. */
  readonly retryAfter: number
  /** As `Authenticator.authenticate`. */
  readonly identity: Identity | undefined
  /** On the repositories that were asked for, where grants decide on that. */
  readonly rights: readonly KnownRight[]
  /** As `FailureBudget.retryAfter`, with those who have failed here meanwhile. */
  readonly latest: () => MaybePromise<number>
}

/** Finds in one go who logs in, where failures, tokens and grants are kept together. */
export class LogIns {
  readonly #budget: StoredFailureBudget
  readonly #tokens: Tokens
  readonly #hasGrants: boolean

  /** @param hasGrants whether grants decide on rights */
  constructor(budget: StoredFailureBudget, tokens: Tokens, hasGrants: boolean) {
    this.#budget = budget
    this.#tokens = tokens
    this.#hasGrants = hasGrants
  }

  /**
   * @param about of which the rights are wanted
   * @returns `undefined` for a text that cannot be a token: for that, nothing needs to be looked up
   */
  find(token: string, address: string, about: About): Promise<LogIn> | undefined {
    const digest = this.#tokens.digestOf(token)
    if (!digest) return undefined
    return this.#find(digest, address, this.#hasGrants ? about : undefined)
  }

  async #find(digest: TokenDigest, address: string, about: About): Promise<LogIn> {
    const names = [(await about) ?? []].flat()
    const { retryAfter, token, granted, latest } = await this.#budget.logIn(address, digest.id, names)
    const identity = this.#tokens.identityOf(digest, token)
    if (!identity) return { retryAfter, identity, rights: [], latest }
    const rights = granted.map(({ repository, grants }) => knownRight(identity.user, repository, grants))
    return { retryAfter, identity, rights, latest }
  }
}
