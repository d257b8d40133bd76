import { ServiceError } from '../errors.js'
import { readForm } from '../http/body.js'
import type { Request, Route } from '../http/surface.js'
import { isSameOrigin } from '../http/same-origin.js'
import { fleetingAnswer, FORM_HEADERS, redirect } from './html/layout.js'
import { frameOf, queryOf, type PageContext } from './context.js'
import { SessionCookie } from './session-cookie.js'
import { confirmPage, linkOverPage, signInPage } from './sign-in-page.js'

/** Signing in by a link that is good once, and out. */
export function sessionRoutes(pageContext: PageContext): readonly Route[] {
  const { base, sessions, signInUrl, address, logger } = pageContext
  const help: Route = {
    name: 'page',
    method: 'GET',
    path: /^\/sign-in$/,
    operation: async (request) => {
      const frame = await frameOf(pageContext, request)
      const code = queryOf(request).get('code')
      if (!sessions || code === null) {
        return fleetingAnswer(200, frame, signInPage(signInUrl, sessions !== undefined, frame.visitor.user))
      }
      // Not counted: any page could make its visitors ask for codes, and so lock out all who share their address.
      const user = await sessions.linkUser(code)
      if (user === undefined) return fleetingAnswer(410, frame, linkOverPage)
      return fleetingAnswer(200, frame, confirmPage(base, code, user), FORM_HEADERS)
    },
  }
  if (!sessions) return [help]
  const cookie = new SessionCookie(base)
  return [
    help,
    {
      name: 'page',
      method: 'POST',
      path: /^\/sign-in$/,
      operation: async (request, response) => {
        refuseForged(pageContext, request)
        const form = await readForm(request, response)
        const opened = await tried(pageContext, request, async () => await sessions.open(form.get('code') ?? ''))
        if (!opened) return fleetingAnswer(410, await frameOf(pageContext, request), linkOverPage)
        // Whoever this browser was before is signed out.
        const own = address.called(request)
        const before = cookie.read(request, own)
        if (before !== undefined) await sessions.end(before)
        logger.info({ user: opened.user }, 'signed in by a link')
        return redirect(`${base}/`, { 'Set-Cookie': cookie.set(opened.session, own) })
      },
    },
    {
      name: 'page',
      method: 'POST',
      path: /^\/sign-out$/,
      operation: async (request) => {
        refuseForged(pageContext, request)
        const own = address.called(request)
        const session = cookie.read(request, own)
        if (session !== undefined) await sessions.end(session)
        return redirect(`${base}/`, { 'Set-Cookie': cookie.remove(own) })
      },
    },
  ]
}

/** Refuses a form that no page of ours has sent. */
export function refuseForged({ address }: PageContext, request: Request): void {
  if (!isSameOrigin(request, address.called(request))) throw new ServiceError('request_forged')
}

/** Codes that are wrong count as failed log-ins do. */
async function tried<T>(
  { failures, clientAddress, logger }: PageContext,
  request: Request,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const address = clientAddress(request)
  refuseAfter(await failures.retryAfter(address))
  const found = await look()
  if (found !== undefined) return found
  logger.info({ client: address }, 'a link to sign in that is not good')
  refuseAfter(await failures.recordFailure(address))
  return undefined
}

function refuseAfter(seconds: number): void {
  if (seconds > 0) throw new ServiceError('too_many_failures', { retryAfter: seconds })
}
