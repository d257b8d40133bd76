import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { About } from '../../auth/log-ins.js'
import type { ServiceError } from '../../errors.js'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import type { RouteName as RouteName } from '../../contracts/meter.js'
import type { Caller } from '../../service/repository-access.js'
import type { ReadCredentials } from '../authentication.js'
import type { Answer } from '../exchange.js'

/** What the addresses in an answer begin with. */
export interface Addresses {
  /** Absolute address of the API, without a slash at the end. */
  readonly base: string
  /** Absolute address of the service. */
  readonly root: string
  /** What the absolute addresses of pages begin with. */
  readonly pages: string
}

/** One request to a compatible API, its caller known. */
export interface Call extends Addresses {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: Caller
  /** Reads the credentials once more, where the request has taken a while. */
  readonly authenticate: () => MaybePromise<Caller>
  /** What the pattern of the route has found in the path, unescaped. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

export interface CompatibleRoute {
  /** For the measurements; absent: `other`. */
  readonly name?: RouteName
  readonly method: 'GET' | 'POST'
  /** Of the path below the mount, as it was sent. */
  readonly path: RegExp
  readonly operation: (call: Call) => MaybePromise<Answer>
  /** What is answered where the commit is not there, when it is not 404. */
  readonly missingCommit?: 422
}

/** What an error answer may repeat of the request. */
export interface Refused {
  /** Absent where no route fits. */
  readonly route?: CompatibleRoute
  readonly params: Readonly<Record<string, string>>
  readonly base: string
}

/**
 * An API of others, over our service: its addresses, forms and words. The rules are the service's own, and so is the
 * order of the checks.
 */
export interface CompatibleApi {
  /** The paths that it is under; the first is the one that absolute links of a host of its own have. */
  readonly mounts: readonly string[]
  readonly routes: readonly CompatibleRoute[]
  readonly credentials: ReadCredentials
  /** What a path is about: who asks is asked together with what they may do there. Never throws or rejects. */
  readonly aboutOf: (params: Call['params']) => About
  /** Of every answer. */
  readonly headers: OutgoingHttpHeaders
  /** The status and body of a refusal or failure: nothing of ours is in it but a message that is made for clients. */
  readonly errorAnswer: (error: ServiceError, refused: Refused) => { readonly status: number; readonly body: object }
}
