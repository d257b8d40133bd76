import { IncomingMessage, type ServerResponse } from 'node:http'
import polka, { type Middleware, type Request } from 'polka'
import { ServiceError } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Meter, Route as RouteName } from '../meter.js'
import { repositoryName, type RepositoryName } from '../repository-name.js'
import type { RunningOperations } from '../running-operations.js'
import type { StatusService } from '../service.js'
import { Exchange, otherMethod, refusal, type Answer } from './answer.js'
import type { Authentication } from './authentication.js'
import { readJson } from './body.js'

export interface HandlerParts {
  readonly service: StatusService
  readonly authentication: Authentication
  readonly running: RunningOperations
  /** `undefined` when the service accepts reports, else the reason. */
  readonly trouble: () => string | undefined
  /** Throws `shutting_down` once the service is closing. */
  readonly refuseWhenClosed: () => void
  readonly logger: Logger
  readonly meter: Meter
}

/**
 * Answers a request. With `next`, only what is under `/api/v1/` is answered and `next` is called for the rest;
 * without it, everything is, `/healthz` included. Never throws and never rejects.
 */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

type Operation = (request: Request, response: ServerResponse) => Promise<Answer> | Answer

interface Route {
  readonly name: RouteName
  readonly method: 'GET' | 'POST'
  readonly path: RegExp
  readonly operation: Operation
}

/** The HTTP edge: addresses and methods to operations, refusals and failures to answers. */
export function createHandler({ service, authentication, running, trouble, refuseWhenClosed, logger, meter }: HandlerParts): Handler {
  const parts = { logger, meter }
  // Patterns, since polka's own would take any letter case and a slash at the end. The most used first: each is tried.
  const routes: readonly Route[] = [
    {
      name: 'list',
      method: 'GET',
      path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/commits\/(?<sha>[^/]+)\/statuses$/,
      operation: (request) =>
        running.request(async () => {
          const caller = await authentication.caller(request)
          const { bytes, etag } = await service.list(caller, ...commitOf(request))
          return { status: 200, body: bytes, etag }
        }),
    },
    {
      name: 'report',
      method: 'POST',
      path: /^\/api\/v1\/repos\/(?<owner>[^/]+)\/(?<repo>[^/]+)\/statuses\/(?<sha>[^/]+)$/,
      operation: (request, response) =>
        running.request(async () => {
          const caller = await authentication.caller(request)
          const readBody = async () => await running.arrival(readJson(request, response))
          return { status: 201, body: await service.report(caller, ...commitOf(request), readBody) }
        }),
    },
    {
      name: 'healthz',
      method: 'GET',
      path: /^\/healthz$/,
      operation: () => {
        const reason = trouble()
        return reason === undefined ? { status: 200, body: { status: 'ok' } } : { status: 503, body: { status: reason } }
      },
    },
  ]

  const answering =
    (name: RouteName, operation: Operation): Middleware =>
    (request, response) =>
      new Exchange(request, response, name, parts).answer(() => {
        refuseWhenClosed()
        checkEscapes(request.path)
        return operation(request, response)
      })

  const app = polka({
    onNoMatch: answering('other', (request) => {
      const known = routes.find(({ path }) => path.test(request.path))
      return known ? otherMethod(known.method === 'GET' ? 'GET, HEAD' : known.method) : refusal(new ServiceError('path_unknown'))
    }),
  })
  for (const { name, method, path, operation } of routes) app.add(method, path, answering(name, operation))

  return (request, response, next) => {
    if (next && !isOurs(request)) {
      next()
      return
    }
    try {
      makeAssignable(request)
      // Polka would call a `next` before any route, so it gets none (its type asks for one).
      Reflect.apply(app.handler, app, [request, response])
    } catch (error) {
      void new Exchange(request, response, 'other', parts).answer(() => {
        throw new Error('the request is not as node:http makes it', { cause: error })
      })
    }
  }
}

function isOurs({ url = '' }: IncomingMessage): boolean {
  return /^\/api\/v1(?:[/?]|$)/.test(originForm(url))
}

/** A target may stand in absolute form, which a server must accept (RFC 9112, 3.2.2). */
export function originForm(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')
}

/** Polka writes to these members; express has some as getters that refuse. */
function makeAssignable(request: IncomingMessage): void {
  request.url = originForm(String(request.url))
  if (Object.getPrototypeOf(request) === IncomingMessage.prototype && !('params' in request)) return
  for (const member of ['params', 'path', 'query', 'search']) {
    if (member in request) Object.defineProperty(request, member, { value: undefined, writable: true, configurable: true })
  }
}

/** Polka leaves a malformed escape as it is, in silence. */
function checkEscapes(path: string): void {
  if (!path.includes('%')) return
  try {
    decodeURIComponent(path)
  } catch (cause) {
    throw new ServiceError('malformed_path', { cause })
  }
}

function commitOf({ params }: Request): [name: RepositoryName | undefined, sha: string] {
  const { owner = '', repo = '', sha = '' } = params
  return [repositoryName(owner, repo), sha]
}
