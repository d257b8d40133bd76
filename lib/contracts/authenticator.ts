import type { TokenLimits } from './token-limits.js'

/** Who a token speaks for, and what it may be used for. */
export interface Identity extends TokenLimits {
  /** Not `host`, which is the program that the service lives in. */
  readonly user: string
  /** The API wants `repo` among them. */
  readonly scopes: readonly string[]
  /** Names the token where a reporter is shown; never the token itself. */
  readonly tokenId?: string
}

/** Knows tokens. Replaceable by a host that has its own. */
export interface Authenticator {
  /**
   * Asked for every request that carries a token, so that a token taken back is refused at once.
   * @returns `undefined` for a token that is unknown, expired or revoked
   * @throws any error when that cannot be determined; the request is then refused
   */
  authenticate(token: string): Promise<Identity | undefined>
}
