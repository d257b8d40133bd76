import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../errors.js'
import { andThen, type Eventual } from '../../concurrency/maybe-promise.js'
import type { Logger } from '../../contracts/logger.js'
import type { Meter } from '../../contracts/meter.js'
import type { InFlight } from '../../service/in-flight.js'
import { STRICT_MOUNT } from '../api-paths.js'
import type { Authentication } from '../authentication.js'
import { Exchange, errorAnswer, type Answer } from '../exchange.js'
import { refuseMalformedEscapes, refuseTransferCodings, type Handler } from '../dispatcher.js'
import type { PublicAddress } from '../public-address.js'
import { originForm, pathOf, queryOf } from '../request-target.js'
import type { CompatibleApi, Refused, Route } from './api.js'
import { actsForAnother } from './credentials.js'

export interface CompatibleHandlerParts {
  readonly apis: readonly CompatibleApi[]
  /** The one that some hosts have under `/api/v1`. */
  readonly ofHosts: CompatibleApi
  /** Those hosts, in lower case. */
  readonly hosts: ReadonlySet<string>
  /** Answers the rest. */
  readonly rest: Handler
  readonly address: PublicAddress
  readonly authentication: Authentication
  readonly inFlight: InFlight
  readonly logger: Logger
  readonly meter: Meter
}

/** An API, and where a request has found it. */
interface Place {
  readonly api: CompatibleApi
  readonly mount: string
  /** Whether it is on a host of its own. */
  readonly isOfHost: boolean
}

/** Answers what is under the mounts of compatible APIs, and hands on the rest. */
export function createCompatibleHandler(parts: CompatibleHandlerParts): Handler {
  const { address, authentication, inFlight, hosts, ofHosts } = parts
  const places = parts.apis.flatMap((api) => api.mounts.map((mount) => ({ api, mount, isOfHost: false })))

  const placeOf = (request: IncomingMessage, url: string): Place | undefined => {
    if (isBelow(url, STRICT_MOUNT))
      return hosts.size > 0 && hosts.has(address.called(request).host)
        ? { api: ofHosts, mount: STRICT_MOUNT, isOfHost: true }
        : undefined
    return places.find(({ mount }) => isBelow(url, mount))
  }

  const answer = ({ api, mount, isOfHost }: Place, request: IncomingMessage, response: ServerResponse): void => {
    const method = request.method === 'HEAD' ? 'GET' : String(request.method)
    const { path, query, route } = targetOf(api, method, originForm(String(request.url)).slice(mount.length))
    const root = isOfHost ? address.ofHost(request) : address.of(request)
    const base = root + mount
    let params: Refused['params'] = {}

    const checked = (): Eventual<Answer> => {
      refuseMalformedEscapes(path) // 400
      refuseTransferCodings(request) // 501
      if (!route) throw new ServiceError(methodsOf(api, path).length > 0 ? 'method_not_allowed' : 'path_unknown')
      params = paramsOf(route, path)
      const authenticate = () => authentication.caller(request, api.credentials)
      return andThen(authenticate(), (caller) => {
        // 401, 403, 429
        if (actsForAnother(request, query)) throw new ServiceError('sudo_denied') // 403
        return route.operation({ request, response, caller, authenticate, params, query, base, root })
      })
    }
    const operation = () => inFlight.entered(checked) // 503
    const refuse = (error: ServiceError): Answer => {
      const { headers } = errorAnswer(error)
      const allow = error.code === 'method_not_allowed' && { Allow: methodsOf(api, path).join(', ') }
      const refused = { ...(route && { route }), params, base }
      return { ...api.errorAnswer(error, refused), headers: { ...headers, ...allow } }
    }
    const { logger, meter } = parts
    const { headers } = api
    void new Exchange(request, response, route?.name ?? 'other', { logger, meter, headers }).answer(operation, refuse)
  }

  return (request, response, next) => {
    const place = placeOf(request, originForm(String(request.url)))
    if (place) answer(place, request, response)
    else parts.rest(request, response, next)
  }
}

function isBelow(url: string, mount: string): boolean {
  if (!url.startsWith(mount)) return false
  const behind = url.charAt(mount.length)
  return behind === '' || behind === '/' || behind === '?'
}

/** What a client asks for. */
interface Target {
  readonly path: string
  readonly query: URLSearchParams
  /** Absent where none fits. */
  readonly route: Route | undefined
}

const noQuery = new URLSearchParams()

function targetOf({ routes }: CompatibleApi, method: string, url: string): Target {
  const path = pathOf(url)
  const query = path.length === url.length ? noQuery : new URLSearchParams(queryOf(url))
  return { path, query, route: routes.find((one) => one.method === method && one.path.test(path)) }
}

function methodsOf({ routes }: CompatibleApi, path: string): string[] {
  const methods = routes.filter((route) => route.path.test(path)).map(({ method }) => method)
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
}

function paramsOf({ path }: Route, text: string): Record<string, string> {
  const params: Record<string, string> = {}
  const groups = path.exec(text)?.groups ?? params
  for (const name in groups) params[name] = decode(String(groups[name]))
  return params
}

function decode(text: string): string {
  return text.includes('%') ? decodeURIComponent(text) : text
}
