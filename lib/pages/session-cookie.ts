import type { IncomingMessage } from 'node:http'
import type { Sessions } from '../auth/sessions.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { CalledAddress } from '../http/public-address.js'
import type { Visitor } from './html/layout.js'
import { NOBODY } from './visitor.js'

/**
 * A cookie of the pages. Behind https with a prefix that browsers let nobody else set, not a neighbour in the same
 * domain (RFC 6265bis, 4.1.3).
 */
export class PageCookie {
  readonly #path: string
  readonly #name: string
  readonly #age: string

  /**
   * @param base of the pages
   * @param seconds how long a browser keeps it; absent: until it ends itself
   */
  constructor(base: string, name: string, seconds?: number) {
    this.#path = `${base}/`
    this.#name = name
    this.#age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  }

  /** What a request has; of two that differ, none is believed. */
  read({ headers }: IncomingMessage, own: CalledAddress): string | undefined {
    const name = this.#nameAt(own)
    const values = (headers.cookie ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1))
    return values.length > 0 && values.every((value) => value === values[0]) ? values[0] : undefined
  }

  set(value: string, own: CalledAddress): string {
    return this.#cookie(value, own, this.#age)
  }

  remove(own: CalledAddress): string {
    return this.#cookie('', own, '; Max-Age=0')
  }

  #cookie(value: string, own: CalledAddress, age: string): string {
    const secure = own.protocol === 'https' ? '; Secure' : ''
    return `${this.#nameAt(own)}=${value}; Path=${this.#path}; HttpOnly; SameSite=Strict${secure}${age}`
  }

  #nameAt({ protocol }: CalledAddress): string {
    if (protocol !== 'https') return this.#name
    return `${this.#path === '/' ? '__Host-' : '__Secure-'}${this.#name}`
  }
}

/** The cookie of a session. It ends with the browser, and in any case when the session does. */
export class SessionCookie extends PageCookie {
  constructor(base: string) {
    super(base, 'commit-status-session')
  }

  /** @param repository of which the right is wanted, where grants decide on it */
  async visitor(
    sessions: Sessions,
    request: IncomingMessage,
    own: CalledAddress,
    repository: RepositoryName | undefined,
  ): Promise<Visitor> {
    const session = this.read(request, own)
    const found = session === undefined ? undefined : await sessions.find(session, repository)
    return found ? { ...found, hasSession: true } : NOBODY
  }
}
