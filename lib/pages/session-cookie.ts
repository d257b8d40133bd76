import type { IncomingMessage } from 'node:http'
import type { Sessions } from '../auth/sessions.js'
import type { CalledAddress } from '../http/public-address.js'
import type { Visitor } from './html/layout.js'
import { NOBODY } from './visitor.js'

/**
 * The cookie of a session. Behind https with a prefix that browsers let nobody else set, not a neighbour in the same
 * domain (RFC 6265bis, 4.1.3).
 */
export class SessionCookie {
  readonly #path: string

  /** @param base of the pages */
  constructor(base: string) {
    this.#path = `${base}/`
  }

  /** The session that a request has; of two that differ, none is believed. */
  read({ headers }: IncomingMessage, own: CalledAddress): string | undefined {
    const name = this.#name(own)
    const values = (headers.cookie ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1))
    return values.length > 0 && values.every((value) => value === values[0]) ? values[0] : undefined
  }

  async visitor(sessions: Sessions, request: IncomingMessage, own: CalledAddress): Promise<Visitor> {
    const session = this.read(request, own)
    const user = session === undefined ? undefined : await sessions.userOf(session)
    return user === undefined ? NOBODY : { user, hasSession: true }
  }

  set(session: string, own: CalledAddress): string {
    return this.#cookie(session, own, '')
  }

  remove(own: CalledAddress): string {
    return this.#cookie('', own, '; Max-Age=0')
  }

  /** Without an age: it ends with the browser, and in any case when the session does. */
  #cookie(value: string, own: CalledAddress, more: string): string {
    const secure = own.protocol === 'https' ? '; Secure' : ''
    return `${this.#name(own)}=${value}; Path=${this.#path}; HttpOnly; SameSite=Strict${secure}${more}`
  }

  #name({ protocol }: CalledAddress): string {
    if (protocol !== 'https') return 'commit-status-session'
    return this.#path === '/' ? '__Host-commit-status-session' : '__Secure-commit-status-session'
  }
}
