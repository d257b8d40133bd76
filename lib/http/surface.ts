import type { ServerResponse } from 'node:http'
import type { Request } from 'polka'
import type { ServiceError } from '../errors.js'
import type { Eventual } from '../concurrency/maybe-promise.js'
import type { Route as RouteName } from '../contracts/meter.js'
import type { Answer } from './exchange.js'

export type { Request }

export type Operation = (request: Request, response: ServerResponse) => Eventual<Answer>

export interface Route {
  readonly name: RouteName
  readonly method: 'GET' | 'POST'
  readonly path: RegExp
  readonly operation: Operation
}

/** Addresses beside the API, with errors in a form of their own. */
export interface Room {
  /** The address as the routes know it; `undefined` for one that is not of this room. */
  addressOf(url: string): string | undefined
  readonly routes: readonly Route[]
  /** Whether it has a server of ours alone: then it tells people of addresses that nobody knows. */
  readonly isAlone: boolean
  /** How it tells a refusal. */
  refuse(error: ServiceError, request: Request): Promise<Answer>
}
