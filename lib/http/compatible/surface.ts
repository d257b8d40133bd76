import type { IncomingMessage } from 'node:http'
import { chain } from '../../concurrency/maybe-promise.js'
import { ServiceError } from '../../errors.js'
import { STRICT_MOUNT } from '../api-paths.js'
import type { Authentication } from '../authentication.js'
import { errorAnswer } from '../exchange.js'
import type { PublicAddress } from '../public-address.js'
import { originForm, queryOf } from '../request-target.js'
import type { Operation, Request, Surface } from '../surface.js'
import type { CompatibleApi, CompatibleRoute } from './api.js'
import { actsForAnother } from './credentials.js'

export interface CompatibleDependencies {
  readonly address: PublicAddress
  readonly authentication: Authentication
  /** What the paths of pages begin with. */
  readonly pagesBase: string
}

/** A compatible API under each of its mounts. */
export function compatibleSurfaces(api: CompatibleApi, dependencies: CompatibleDependencies): Surface[] {
  return api.mounts.map((mount) =>
    surfaceOf(
      api,
      mount,
      dependencies,
      () => true,
      (request) => dependencies.address.of(request),
    ),
  )
}

/**
 * A compatible API in the place of the strict one, for clients that call one of some hosts.
 * @param hosts in lower case; without a port, for every port
 */
export function hostSurface(
  api: CompatibleApi,
  hosts: ReadonlySet<string>,
  dependencies: CompatibleDependencies,
): Surface {
  const { address } = dependencies
  const isOfHost = (request: IncomingMessage): boolean => {
    const { host } = address.called(request)
    return hosts.has(host) || hosts.has(host.replace(/:\d+$/, ''))
  }
  return surfaceOf(api, STRICT_MOUNT, dependencies, isOfHost, (request) => address.ofHost(request))
}

/**
 * @param isMeant whether a request below the mount is for this API
 * @param rootOf absolute address of the service
 */
function surfaceOf(
  api: CompatibleApi,
  mount: string,
  { authentication, pagesBase }: CompatibleDependencies,
  isMeant: (request: IncomingMessage) => boolean,
  rootOf: (request: IncomingMessage) => string,
): Surface {
  const routes = api.routes.map((route) => ({ ...route, path: below(mount, route.path) }))
  const aboutOf: CompatibleApi['aboutOf'] = authentication.findsRights ? api.aboutOf : () => undefined

  const operationOf =
    (route: CompatibleRoute): Operation =>
    (request, response) => {
      const params = paramsOf(route, request)
      const authenticate = () => authentication.caller(request, aboutOf(params), api.credentials)
      return chain(authenticate(), (caller) => {
        // 401, 403, 429
        const query = request.search === '' ? noQuery : new URLSearchParams(queryOf(request.url))
        if (actsForAnother(request, query)) throw new ServiceError('sudo_denied') // 403
        const root = rootOf(request)
        return route.operation({
          request,
          response,
          caller,
          authenticate,
          params,
          query,
          base: root + mount,
          root,
          pages: root + pagesBase,
        })
      })
    }

  return {
    addressOf(request) {
      const url = originForm(String(request.url))
      return isBelow(url, mount) && isMeant(request) ? url : undefined
    },
    headers: api.headers,
    countsUnknown: true,
    routes: routes.map((route) => ({ ...route, name: route.name ?? 'other', operation: operationOf(route) })),
    refuse(error, request) {
      const method = request.method === 'HEAD' ? 'GET' : request.method
      const route = routes.find((one) => one.method === method && one.path.test(request.path))
      // Of a path that has been checked: what is malformed cannot be decoded.
      const params = route && error.code === 'commit_not_found' ? paramsOf(route, request) : {}
      const refused = { ...(route && { route }), params, base: rootOf(request) + mount }
      return { ...api.errorAnswer(error, refused), headers: { ...errorAnswer(error).headers } }
    },
  }
}

/** The pattern of a whole path. */
function below(mount: string, path: RegExp): RegExp {
  return new RegExp(path.source.replace('^', `^${mount}`))
}

function isBelow(url: string, mount: string): boolean {
  if (!url.startsWith(mount)) return false
  const behind = url.charAt(mount.length)
  return behind === '' || behind === '/' || behind === '?'
}

const noQuery = new URLSearchParams()

/** Those of the route alone: polka has those of every route that fits. */
function paramsOf({ path }: CompatibleRoute, request: Request): Record<string, string> {
  const params: Record<string, string> = {}
  const groups = path.exec(request.path)?.groups ?? params
  for (const name in groups) params[name] = decode(String(groups[name]))
  return params
}

function decode(text: string): string {
  return text.includes('%') ? decodeURIComponent(text) : text
}
