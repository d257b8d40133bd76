import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { originForm, pathname } from '../http/request-target.js'
import { errorAnswer } from '../http/exchange.js'
import { repositoryIn } from '../http/page-paths.js'
import type { Request, Route, Surface } from '../http/surface.js'
import { errorPage } from './error-page.js'
import { assets, robots } from './assets/assets.js'
import { badgeRoutes } from './badge-routes.js'
import { commitRoutes } from './commit-routes.js'
import { homeRoutes } from './home-routes.js'
import { redirect, type Visitor } from './html/layout.js'
import { frameOf, signInUrlOf, type PageContext } from './context.js'
import { repositoryRoutes } from './repository-routes.js'
import { sessionRoutes } from './session-routes.js'
import { tokenRoutes } from './token-routes.js'
import { webhookRoutes } from './webhook-routes.js'
import { NOBODY, type Visitors } from './visitor.js'

/** What is below the base; the rest is the API's, or the host's. */
const OURS = /^\/(?:$|(?:repos|settings|sign-in|sign-out)(?:\/|$)|(?:style\.css|icon\.svg|marks\.js)$)/

/** The pages for people: thin, over the same service as the API. */
export function createPages(given: PageContext): Surface {
  const pageContext = { ...given, visitors: memoised(given.visitors) }
  const { base, title: site, isBaseOptional } = pageContext
  const routes = [
    ...commitRoutes(pageContext),
    ...repositoryRoutes(pageContext),
    ...webhookRoutes(pageContext),
    ...badgeRoutes(pageContext),
    ...homeRoutes(pageContext),
    ...tokenRoutes(pageContext),
    ...sessionRoutes(pageContext),
  ]
  return {
    addressOf(request) {
      const url = wholeUrl(request)
      const path = pathname(url)
      const isBelow = path === base || path.startsWith(`${base}/`)
      if (!isBelow && !isBaseOptional) return undefined
      const inside = (isBelow ? path.slice(base.length) : path) || '/'
      return OURS.test(inside) || (isBaseOptional && inside === '/robots.txt')
        ? inside + url.slice(path.length)
        : undefined
    },
    routes: [
      ...routes,
      ...trailingSlashRedirects(base, routes),
      ...assets(pageContext),
      ...(isBaseOptional ? [robots(pageContext)] : []),
    ],
    async refuse(error, request) {
      if (!OURS.test(request.path) && !isForPeople(request)) return errorAnswer(error)
      // Identifying the visitor may itself be what failed.
      const nobody = { base, site, visitor: NOBODY, signInUrl: signInUrlOf(pageContext, undefined) }
      const frame = await frameOf(pageContext, request).catch(() => nobody)
      // As a private repository looks to those who may not read it, so does a missing one; nobody logs in by HTTP.
      return error.code === 'credentials_missing'
        ? errorPage(frame, new ServiceError('repository_not_found'))
        : errorPage(frame, error, missingFrom(error, request))
    },
  }
}

/** As the client has sent it: hosts take away what they have mounted the handler at. */
function wholeUrl(request: IncomingMessage): string {
  const original = 'originalUrl' in request ? request.originalUrl : undefined
  return originForm(typeof original === 'string' ? original : String(request.url))
}

/** Whether a browser asks for what no program would: no path of an API. */
function isForPeople({ path, headers }: Request): boolean {
  return !/^\/(?:healthz|(?:[^/]+\/)?api)(?:\/|$)/.test(path) && (headers.accept ?? '').includes('text/html')
}

/** The repository that has not what was asked for; `undefined` for what may be missing itself. */
function missingFrom({ status, code }: ServiceError, { path }: Request): RepositoryName | undefined {
  return status === 404 && code !== 'repository_not_found' ? repositoryIn(path) : undefined
}

/** Addresses that people write for those of the pages: with a slash at the end. */
function trailingSlashRedirects(base: string, routes: readonly Route[]): readonly Route[] {
  return routes.flatMap(({ method, path, ...route }) => {
    if (method !== 'GET' || path.test('/')) return []
    const operation: Route['operation'] = ({ path, search }) => ({
      ...redirect(`${base}${path.replace(/\/+$/, '')}${search}`),
      status: 308,
    })
    return [{ ...route, method, path: new RegExp(path.source.replace(/\$$/, '\\/+$')), operation }]
  })
}

/** Of each request once: a page and the error that it may end in have the same visitor. */
function memoised(visitors: Visitors): Visitors {
  const known = new WeakMap<IncomingMessage, Promise<Visitor>>()
  return async (request, repository) => {
    const asked = known.get(request) ?? (async () => await visitors(request, repository))()
    known.set(request, asked)
    return await asked
  }
}
