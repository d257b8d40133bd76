import { IncomingMessage, type ServerResponse } from 'node:http'
import polka, { type Middleware } from 'polka'
import { ServiceError } from '../errors.js'
import { chain, type MaybePromise } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import type { InFlight } from '../service/in-flight.js'
import { allowing, Exchange, type PolledAnswer } from './exchange.js'
import { originForm } from './request-target.js'
import type { Request, Route, Surface } from './surface.js'
import type { LongPolling } from './long-polling.js'

export interface DispatcherDependencies {
  /** The first that has an address answers it. */
  readonly surfaces: readonly Surface[]
  /** Answers, where there is no `next`, what none of them has. */
  readonly rest: Surface
  readonly inFlight: InFlight
  readonly longPolling: LongPolling
  readonly logger: Logger
  readonly meter: Meter
}

/**
 * Answers a request. With `next`, only what is under the addresses of a surface is answered and `next` is called for
 * the rest; without it, everything is. Never throws and never rejects.
 */
export type Handler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

/** The one way in: from an address to its surface, its route and its operation, and from there to the answer. */
export function createDispatcher(dependencies: DispatcherDependencies): Handler {
  const { inFlight, longPolling } = dependencies

  /** The first check that fails decides; those of the operation come after these. */
  const checked = (route: Route, request: Request, response: ServerResponse): MaybePromise<PolledAnswer> =>
    inFlight.admit(() => {
      refuseMalformedEscapes(request.path) // 400
      refuseTransferCodings(request) // 501
      return route.operation(request, response)
    }) // 503

  const operate = (route: Route, request: Request, response: ServerResponse): MaybePromise<PolledAnswer> => {
    if (route.isAlwaysOpen) return route.operation(request, response)
    const seconds = route.mayWait && request.headers['prefer'] !== undefined ? longPolling.secondsOf(request) : 0
    const first = () => checked(route, request, response)
    if (seconds === 0) return first()
    return longPolling.answer(request, response, seconds, first, () => route.operation(request, response))
  }

  /** What is checked of an address that no route has, or only for other methods. */
  const unknown = (surface: Surface, request: Request): MaybePromise<PolledAnswer> => {
    const refuse = (): MaybePromise<PolledAnswer> => {
      refuseMalformedEscapes(request.path) // 400
      if (surface.countsUnknown) refuseTransferCodings(request) // 501
      const allowed = methodsOf(surface, request.path)
      if (allowed === '') throw new ServiceError('path_unknown') // 404
      const refused = surface.refuse(new ServiceError('method_not_allowed'), request) // 405
      return chain(refused, (answer) => allowing(allowed, answer))
    }
    if (surface.countsUnknown) return inFlight.admit(refuse) // 503
    inFlight.refuseWhenClosing() // 503
    return refuse()
  }

  const appOf = (surface: Surface) => {
    const { logger, meter } = dependencies
    const { headers } = surface
    const answers = { logger, meter, ...(headers && { headers }) }
    const onNoMatch: Middleware = (request, response) =>
      new Exchange(request, response, 'other', answers).answer(
        () => unknown(surface, request),
        (error) => surface.refuse(error, request),
      )
    const app = polka({ onNoMatch })
    for (const route of surface.routes)
      app.add(route.method, route.path, (request, response) =>
        new Exchange(request, response, route.name, answers).answer(
          () => operate(route, request, response),
          (error) => surface.refuse(error, request),
        ),
      )
    return app
  }

  const apps = dependencies.surfaces.map((surface) => ({ surface, app: appOf(surface) }))
  const rest = appOf(dependencies.rest)

  return (request, response, next) => {
    try {
      for (const { surface, app } of apps) {
        const url = surface.addressOf(request, !next)
        if (url === undefined) continue
        serve(app, url, request, response)
        return
      }
      if (!next) {
        serve(rest, originForm(String(request.url)), request, response)
        return
      }
    } catch (error) {
      void new Exchange(request, response, 'other', dependencies).answer(() => {
        throw new Error('the request is not as node:http makes it', { cause: error })
      })
      return
    }
    // Not within: what the host throws is the host's.
    next()
  }
}

function serve(app: ReturnType<typeof polka>, url: string, request: IncomingMessage, response: ServerResponse): void {
  request.url = url
  makeAssignable(request)
  // Polka would call a `next` before any route, so it gets none (its type asks for one).
  Reflect.apply(app.handler, app, [request, response])
}

/** Polka writes to these members; express has some as getters that refuse. */
function makeAssignable(request: IncomingMessage): void {
  if (Object.getPrototypeOf(request) === IncomingMessage.prototype && !('params' in request)) return
  for (const member of ['params', 'path', 'query', 'search']) {
    if (member in request)
      Object.defineProperty(request, member, { value: undefined, writable: true, configurable: true })
  }
}

/** The methods that an address takes, as the header `Allow` has them; empty where nobody knows it. */
function methodsOf({ routes }: Surface, path: string): string {
  const methods = routes.filter((route) => route.path.test(path)).map(({ method }) => method)
  return [...new Set(methods)].map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
}

/** Polka leaves a malformed escape as it is, in silence. */
function refuseMalformedEscapes(path: string): void {
  if (!path.includes('%')) return
  try {
    decodeURIComponent(path)
  } catch (cause) {
    throw new ServiceError('malformed_path', { cause })
  }
}

/** RFC 9112, 6.1; node:http reads the chunks of a body and leaves other codings as they are. */
function refuseTransferCodings({ headers }: IncomingMessage): void {
  const codings = headers['transfer-encoding']
  if (codings !== undefined && codings.trim().toLowerCase() !== 'chunked') {
    throw new ServiceError('transfer_coding_unknown')
  }
}
