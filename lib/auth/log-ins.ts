import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { KnownRight } from '../contracts/access-policy.js'
import type { Identity } from '../contracts/authenticator.js'
import type { StoredFailureBudget } from '../contracts/failure-budget.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { knownRight } from './grants.js'
import type { Tokens } from './tokens.js'

/** Who logs in with a token. */
export interface LogIn {
  /** As `FailureBudget.retryAfter`, at the moment when the rest was found. */
  readonly retryAfter: number
  /** As `Authenticator.authenticate`. */
  readonly identity: Identity | undefined
  /** On the repository that was asked for, where grants decide on that. */
  readonly right?: KnownRight
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
   * @param repository that the request is about
   * @returns `undefined` for a text that cannot be a token: for that, nothing needs to be looked up
   */
  find(token: string, address: string, repository: RepositoryName | undefined): Promise<LogIn> | undefined {
    const digest = this.#tokens.digestOf(token)
    if (!digest) return undefined
    const asked = this.#hasGrants ? repository : undefined
    return this.#budget.logIn(address, digest.id, asked).then(({ retryAfter, token, granted, latest }) => {
      const identity = this.#tokens.identityOf(digest, token)
      const right = identity && asked && knownRight(identity.user, asked, granted)
      return { retryAfter, identity, ...(right && { right }), latest }
    })
  }
}
