import type { IncomingMessage } from 'node:http'
import { FailedLogIn, ServiceError } from '../errors.js'
import type { Authenticator, Identity } from '../contracts/authenticator.js'
import type { About, LogIn, LogIns } from '../auth/log-ins.js'
import { chain, type MaybePromise, type MaybeSync } from '../concurrency/maybe-promise.js'
import type { FailureBudget } from '../contracts/failure-budget.js'
import type { Meter } from '../contracts/meter.js'
import { limitsOf } from '../contracts/token-limits.js'
import type { Caller } from '../service/repository-access.js'
import { headerValues } from './header-values.js'

/** The scope that every operation wants ("Authentication", 3). */
const SCOPE = 'repo'

/**
 * Tells what a request carries to authenticate itself: `undefined` for nothing, without a token when it is of no form
 * that is known.
 */
export type ReadCredentials = (request: IncomingMessage) => { readonly token?: string } | undefined

export interface AuthenticationDependencies {
  readonly authenticator: MaybeSync<Authenticator>
  readonly failures: MaybeSync<FailureBudget>
  /** In place of asking the two above, where all of it is found at once. */
  readonly logIns?: LogIns | undefined
  readonly clientAddress: (request: IncomingMessage) => string
  /** The id of what is a token of ours by its form, though it may have expired, be revoked or another service's. */
  readonly tokenId?: ((token: string) => string | undefined) | undefined
  readonly meter: Meter
}

/** Who sends a request ("Authentication" of the specification). Cookies are never looked at. */
export class Authentication {
  readonly #dependencies: AuthenticationDependencies

  constructor(dependencies: AuthenticationDependencies) {
    this.#dependencies = dependencies
  }

  /** Whether it matters what a request is about. */
  get findsRights(): boolean {
    return this.#dependencies.logIns !== undefined
  }

  /**
   * @param about the repository that the request is about, or those of which it may be one
   * @returns a caller without a user when the request carries no credentials
   * @throws ServiceError `too_many_failures` (429), `credentials_wrong` (401), `scope_missing` (403)
   */
  caller(request: IncomingMessage, about: About, read: ReadCredentials = bearer): MaybePromise<Caller> {
    const sent = read(request)
    return sent ? this.#authenticated(request, sent.token, about) : {}
  }

  #authenticated(request: IncomingMessage, token: string | undefined, about: About): MaybePromise<Caller> {
    const { clientAddress, logIns } = this.#dependencies
    const address = clientAddress(request)
    const found = token === undefined ? undefined : logIns?.find(token, address, about)
    if (found) return found.then((logIn) => this.#found(address, token, logIn))
    const within = this.#refuseWithoutBudget(address)
    return within ? within.then(() => this.#asked(address, token)) : this.#asked(address, token)
  }

  #asked(address: string, token: string | undefined): MaybePromise<Caller> {
    const known = token === undefined ? undefined : this.#dependencies.authenticator.authenticate(token)
    return known instanceof Promise
      ? known.then((identity) => this.#told(address, token, identity))
      : this.#told(address, token, known)
  }

  #told(address: string, token: string | undefined, identity: Identity | undefined): MaybePromise<Caller> {
    if (!identity) return this.#refused(address, token)
    // Others of this client may have failed meanwhile: no more guesses are answered than the budget allows.
    const within = this.#refuseWithoutBudget(address)
    return within ? within.then(() => scoped(identity)) : scoped(identity)
  }

  #found(address: string, token: string | undefined, logIn: LogIn): MaybePromise<Caller> {
    const { retryAfter, identity, rights, latest } = logIn
    refuseAfter(retryAfter)
    if (!identity) return this.#refused(address, token)
    // As above: of those that were looked up together, the failures of the first count for the last.
    return chain(latest(), (seconds) => {
      refuseAfter(seconds)
      return { ...scoped(identity), rights }
    })
  }

  /** @returns nothing where it is known at once that the client may go on */
  #refuseWithoutBudget(address: string): Promise<void> | undefined {
    const seconds = this.#dependencies.failures.retryAfter(address)
    if (seconds instanceof Promise) return seconds.then(refuseAfter)
    refuseAfter(seconds)
    return undefined
  }

  #refused(client: string, sent: string | undefined): MaybePromise<never> {
    this.#dependencies.meter.logInFailed()
    const token = sent === undefined ? undefined : this.#dependencies.tokenId?.(sent)
    return chain(this.#dependencies.failures.recordFailure(client), (seconds) => {
      throw new FailedLogIn({ client, ...(token !== undefined && { token }) }, seconds)
    })
  }
}

/** @param seconds of a failure budget; 0: the client may go on */
export function refuseAfter(seconds: number): void {
  if (seconds > 0) throw new ServiceError('too_many_failures', { retryAfter: seconds })
}

/** Whom an identity lets in, and how far. */
export function callerOf(identity: Identity): Caller {
  const { user, tokenId, repositories, contexts, access } = identity
  const isLimited = (repositories ?? contexts ?? access) !== undefined
  return { user, ...(tokenId !== undefined && { tokenId }), ...(isLimited && { limits: limitsOf(identity) }) }
}

function scoped(identity: Identity): Caller {
  if (!identity.scopes.includes(SCOPE)) throw new ServiceError('scope_missing')
  return callerOf(identity)
}

/** A personal access token in the one header `Authorization`, as `Bearer` or `token`. */
const bearer: ReadCredentials = (request) => {
  // A host that has authenticated the request itself may have taken the header away.
  if (request.headers.authorization === undefined) return undefined
  const [credentials = '', ...more] = headerValues(request, 'authorization')
  // Of two headers, one part of a system may read the first and another the second.
  const token = more.length === 0 ? tokenOf(credentials) : undefined
  return token === undefined ? {} : { token }
}

/** What stands behind the scheme. */
export function tokenOf(credentials: string): string | undefined {
  return /^(?:Bearer|token) +(\S+)$/i.exec(credentials)?.[1]
}
