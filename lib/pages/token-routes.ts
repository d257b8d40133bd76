import { ArgumentError, ServiceError, TokenLimitReached } from '../errors.js'
import type { ListedToken } from '../admin/administration.js'
import type { Answer } from '../http/exchange.js'
import { readForm } from '../http/body.js'
import type { Request, Route } from '../http/surface.js'
import { fleetingAnswer, FORM_HEADERS, redirect, type PageFrame } from './html/layout.js'
import { addressOf, frameOf, queryOf, skipOf, type PageContext } from './context.js'
import { refuseForged, signInAnswer } from './session-routes.js'
import { tokenRequest } from './token-form.js'
import { madePage, revokePage, tokensPage } from './tokens-page.js'

/** The page on which users make and revoke their own tokens. No token opens it. */
export function tokenRoutes(pageContext: PageContext): readonly Route[] {
  const { base, tokens, address } = pageContext
  if (!tokens) return []

  /** A page for whoever is signed in, and what to do for everybody else. */
  const signedIn = async (
    request: Request,
    show: (user: string, frame: PageFrame) => Promise<Answer>,
  ): Promise<Answer> => {
    const frame = await frameOf(pageContext, request)
    const { user } = frame.visitor
    if (user !== undefined) return await show(user, frame)
    const headers = { 'WWW-Authenticate': 'Session' }
    return signInAnswer(pageContext, request, { frame, status: 401, back: addressOf(pageContext, request), headers })
  }

  /** One of the user's own: those of others are not there. */
  const own = async (user: string, { params }: Request): Promise<ListedToken> => {
    const found = (await tokens.listTokens(user)).find(({ id }) => id === params['id'])
    if (!found) throw new ServiceError('path_unknown')
    return found
  }

  return [
    {
      name: 'page',
      method: 'GET',
      path: /^\/settings$/,
      operation: () => redirect(`${base}/settings/tokens`),
    },
    {
      name: 'page',
      method: 'GET',
      path: /^\/settings\/tokens$/,
      operation: async (request) =>
        await signedIn(request, async (user, frame) => {
          const skip = skipOf(queryOf(request))
          const page = tokensPage({ base, tokens: await tokens.listTokens(user), now: pageContext.clock.now(), skip })
          return fleetingAnswer(200, frame, page, FORM_HEADERS)
        }),
    },
    {
      name: 'page',
      method: 'POST',
      path: /^\/settings\/tokens$/,
      operation: async (request, response) => {
        refuseForged(pageContext, request)
        return await signedIn(request, async (user, frame) => {
          const sent = await readForm(request, response)
          try {
            const { token } = await tokens.createToken(tokenRequest(user, sent, pageContext.clock.now()), { user })
            return fleetingAnswer(201, frame, madePage(base, token, address.of(request)))
          } catch (error) {
            if (!(error instanceof ArgumentError || error instanceof TokenLimitReached)) throw error
            const page = tokensPage({
              base,
              tokens: await tokens.listTokens(user),
              now: pageContext.clock.now(),
              skip: 0,
              problem: error.message,
              sent,
            })
            return fleetingAnswer(422, frame, page, FORM_HEADERS)
          }
        })
      },
    },
    {
      name: 'page',
      method: 'GET',
      path: /^\/settings\/tokens\/(?<id>[0-9a-f]{1,64})\/revoke$/,
      operation: async (request) =>
        await signedIn(request, async (user, frame) => {
          return fleetingAnswer(200, frame, revokePage(base, await own(user, request)), FORM_HEADERS)
        }),
    },
    {
      name: 'page',
      method: 'POST',
      path: /^\/settings\/tokens\/(?<id>[0-9a-f]{1,64})\/revoke$/,
      operation: async (request) => {
        refuseForged(pageContext, request)
        return await signedIn(request, async (user) => {
          const { id } = await own(user, request)
          await tokens.revokeToken(id, { user })
          return redirect(`${base}/settings/tokens`)
        })
      },
    },
  ]
}
