import type { IncomingMessage } from 'node:http'
import type { Sessions } from '../auth/sessions.js'
import type { PublicAddress } from '../http/public-address.js'
import { NOBODY, type Visitor } from './visitor.js'

/** The session that a request has; of two that differ, none is believed. */
export function sessionOf({ headers }: IncomingMessage, own: PublicAddress): string | undefined {
  const name = nameOf(own)
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  return values.length > 0 && values.every((value) => value === values[0]) ? values[0] : undefined
}

export function sessionVisitor(sessions: Sessions, request: IncomingMessage, own: PublicAddress): Visitor {
  const session = sessionOf(request, own)
  const user = session === undefined ? undefined : sessions.userOf(session)
  return user === undefined ? NOBODY : { user, hasSession: true }
}

/** The cookie of a session. Without an age: it ends with the browser, and in any case when the session does. */
export function cookieOf(session: string, own: PublicAddress): string {
  const secure = own.protocol === 'https' ? '; Secure' : ''
  return `${nameOf(own)}=${session}; Path=/; HttpOnly; SameSite=Strict${secure}`
}

/** Takes the cookie from a browser. */
export function noCookie(own: PublicAddress): string {
  return `${cookieOf('', own)}; Max-Age=0`
}

/**
 * Behind https with a prefix that browsers let nobody else set, not a neighbour in the same domain (RFC 6265bis,
 * 4.1.3).
 */
function nameOf({ protocol }: PublicAddress): string {
  return protocol === 'https' ? '__Host-commit-status-session' : 'commit-status-session'
}
