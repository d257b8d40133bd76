import type { OutgoingHttpHeaders } from 'node:http'
import { LINK_MILLISECONDS } from '../auth/sessions.js'
import { ServiceError } from '../errors.js'
import { refuseAfter } from '../http/authentication.js'
import { readForm } from '../http/body.js'
import type { Answer } from '../http/exchange.js'
import type { Request, Route } from '../http/surface.js'
import { isSameOrigin } from '../http/same-origin.js'
import { fleetingAnswer, FORM_HEADERS, redirect, type PageFrame } from './html/layout.js'
import { frameOf, queryOf, returnPath, signInUrlOf, type PageContext } from './context.js'
import { PageCookie, SessionCookie } from './session-cookie.js'
import { shellHints } from './shell-hints.js'
import { confirmPage, linkOverPage, signInPage, type LinkHints } from './sign-in-page.js'

/** Signing in by a link that is good once, and out. */
export function sessionRoutes(pageContext: PageContext): readonly Route[] {
  const { base, sessions, address, logger } = pageContext
  const help: Route = {
    name: 'page',
    method: 'GET',
    path: /^\/sign-in$/,
    operation: async (request) => {
      const frame = await frameOf(pageContext, request)
      const code = queryOf(request).get('code')
      if (!sessions || code === null) {
        return signInAnswer(pageContext, request, { frame, status: 200, back: queryOf(request).get('return') ?? '' })
      }
      // Not counted: any page could make its visitors ask for codes, and so lock out all who share their address.
      const user = await sessions.linkUser(code)
      if (user === undefined) return fleetingAnswer(410, frame, linkOverPage(linkHints(pageContext, request)))
      return fleetingAnswer(200, frame, confirmPage(base, code, user), FORM_HEADERS)
    },
  }
  if (!sessions) return [help]
  const [cookie, cookieOfReturn] = [new SessionCookie(base), returnCookie(base)]
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
        if (!opened) {
          const page = linkOverPage(linkHints(pageContext, request))
          return fleetingAnswer(410, await frameOf(pageContext, request), page)
        }
        // Whoever this browser was before is signed out.
        const own = address.called(request)
        const before = cookie.read(request, own)
        if (before !== undefined) await sessions.end(before)
        logger.info({ user: opened.user }, 'signed in by a link')
        const back = cookieOfReturn.read(request, own)
        const page = back === undefined ? undefined : returnPath(base, Buffer.from(back, 'base64url').toString())
        return redirect(page ?? `${base}/`, {
          'Set-Cookie': [cookie.set(opened.session, own), ...(back === undefined ? [] : [cookieOfReturn.remove(own)])],
        })
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

/**
 * How one signs in. The browser keeps where its user was, since the link that is printed elsewhere does not say so.
 * @param more.back the address of the page to go back to
 */
export function signInAnswer(
  pageContext: PageContext,
  request: Request,
  more: { frame: PageFrame; status: number; back: string; headers?: OutgoingHttpHeaders },
): Answer {
  const { base, sessions, signInUrl, address } = pageContext
  const { frame, status, headers } = more
  const back = returnPath(base, more.back)
  const page = signInPage({
    ...(signInUrl !== undefined && { url: signInUrlOf(pageContext, back) }),
    ...(sessions && { links: linkHints(pageContext, request) }),
    user: frame.visitor.user,
  })
  return fleetingAnswer(status, frame, page, {
    ...headers,
    ...(sessions &&
      back !== undefined && {
        'Set-Cookie': returnCookie(base).set(Buffer.from(back).toString('base64url'), address.called(request)),
      }),
  })
}

function returnCookie(base: string): PageCookie {
  return new PageCookie(base, 'commit-status-return', LINK_MILLISECONDS / 1000)
}

/** The lines that print a link. */
function linkHints(pageContext: PageContext, request: Request): LinkHints {
  const { linkCommand = '' } = pageContext
  return { over: linkCommand, here: `${shellHints(pageContext, request).command} sign-in alice` }
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
