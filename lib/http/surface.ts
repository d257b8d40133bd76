import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Request } from 'polka'
import type { ServiceError } from '../errors.js'
import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { RouteName as RouteName } from '../contracts/meter.js'
import type { Answer, PolledAnswer } from './exchange.js'

export type { Request }

export type Operation = (request: Request, response: ServerResponse) => MaybePromise<PolledAnswer>

export interface Route {
  readonly name: RouteName
  readonly method: 'GET' | 'POST'
  readonly path: RegExp
  readonly operation: Operation
  /** Whether a client may wait for another answer: then the path has a group each for `owner`, `repo` and `sha`. */
  readonly mayWait?: true
  /** Whether it is answered under any load, and while the service closes. */
  readonly isAlwaysOpen?: true
}

/** Addresses with errors in a form of their own: the API, one of others, the pages, the measurements. */
export interface Surface {
  /**
   * The address of a request as the routes know it; `undefined`: not of this surface.
   * @param isAlone whether no host is there to answer what no surface does
   */
  addressOf(request: IncomingMessage, isAlone: boolean): string | undefined
  readonly routes: readonly Route[]
  /** Headers of every answer, unless it has others. */
  readonly headers?: OutgoingHttpHeaders
  /** Whether a request for an address that no route has counts against the limit of requests too. */
  readonly countsUnknown?: true
  /** The answer to a refusal or failure. Never throws. */
  refuse(error: ServiceError, request: Request): MaybePromise<Answer>
}
