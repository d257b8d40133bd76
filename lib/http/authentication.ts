import type { IncomingMessage } from 'node:http'
import type { Authenticator, Identity } from '../auth/authenticator.js'
import type { FailureBudget } from '../auth/failure-budget.js'
import { ServiceError } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Meter } from '../meter.js'
import type { Caller } from '../service.js'
import { headerValues } from './header-values.js'

/** The scope that every operation wants ("Authentication", 3). */
const SCOPE = 'repo'

export interface AuthenticationParts {
  readonly authenticator: Authenticator
  readonly failures: FailureBudget
  readonly clientAddress: (request: IncomingMessage) => string
  readonly logger: Logger
  readonly meter: Meter
}

/** Who sends a request ("Authentication" of the specification). Cookies are never looked at. */
export class Authentication {
  readonly #parts: AuthenticationParts

  constructor(parts: AuthenticationParts) {
    this.#parts = parts
  }

  /**
   * @returns a caller without a user when the request carries no credentials
   * @throws ServiceError `too_many_failures` (429), `credentials_wrong` (401), `scope_missing` (403)
   */
  caller(request: IncomingMessage): Caller | Promise<Caller> {
    // A host that has authenticated the request itself may have taken the header away.
    return request.headers.authorization === undefined ? {} : this.#authenticated(request)
  }

  async #authenticated(request: IncomingMessage): Promise<Caller> {
    const sent = headerValues(request, 'authorization')
    const address = this.#parts.clientAddress(request)
    this.#refuseAfter(await this.#parts.failures.retryAfter(address))
    const identity = await this.#identity(sent)
    if (!identity) {
      this.#parts.logger.info({ client: address }, 'failed authentication attempt')
      this.#parts.meter.logInFailed()
      this.#refuseAfter(await this.#parts.failures.recordFailure(address))
      throw new ServiceError('credentials_wrong')
    }
    // Others of this client may have failed meanwhile: no more guesses are answered than the budget allows.
    this.#refuseAfter(await this.#parts.failures.retryAfter(address))
    if (!identity.scopes.includes(SCOPE)) throw new ServiceError('scope_missing')
    return { user: identity.user }
  }

  async #identity([credentials = '', ...more]: readonly string[]): Promise<Identity | undefined> {
    // Of two headers, one part of a system may read the first and another the second.
    const [, token] = more.length === 0 ? (/^(?:Bearer|token) +(\S+)$/i.exec(credentials) ?? []) : []
    return token === undefined ? undefined : await this.#parts.authenticator.authenticate(token)
  }

  #refuseAfter(seconds: number): void {
    if (seconds > 0) throw new ServiceError('too_many_failures', { retryAfter: seconds })
  }
}
