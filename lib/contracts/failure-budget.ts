import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { Grant, TokenRecord } from './records.js'

/**
 * How many wrong log-ins a client may make. git and the API share one budget for each client. A success gives nothing
 * back; failures expire with their window. Replaceable by a host that counts in another place.
 */
export interface FailureBudget {
  /**
   * @param address IP address of the client; IPv4-mapped IPv6 counts as IPv4, IPv6 by /64
   * @returns whole seconds until credentials of this client are looked at again, 0 when they are
   */
  retryAfter(address: string): Promise<number>

  /**
   * Counts a log-in with wrong credentials.
   * @returns 0 when the failure was within the budget, else as `retryAfter`: of failures that were under way at the
   *   same time, those past the budget are refused
   */
  recordFailure(address: string): Promise<number>
}

/** Who logs in with a token, as it was known at one moment. */
export interface StoredLogIn {
  /** As `FailureBudget.retryAfter`; where it is not 0, nothing is said of the rest. */
  readonly retryAfter: number
  /** Absent: there is none of this id. */
  readonly token?: TokenRecord
  /** What grants give the token's user on each of the repositories. */
  readonly granted: readonly {
    readonly repository: RepositoryName
    readonly grants: readonly Pick<Grant, 'access'>[]
  }[]
  /** As `retryAfter`, later: at once, unless some of those who have failed here had not been counted at that moment. */
  readonly latest: () => MaybePromise<number>
}

/** A budget that is kept beside tokens and grants, so that all it takes to know who asks is read in one go. */
export interface StoredFailureBudget extends FailureBudget {
  /**
   * Reads the failures of a client, a token, and the grants of the token's user.
   * @param repositories on which there may be grants
   * @throws StoreUnavailable
   */
  logIn(address: string, tokenId: string, repositories: readonly RepositoryName[]): Promise<StoredLogIn>
}
