import type { IncomingMessage } from 'node:http'

export interface PublicAddressParts {
  /** The setting `publicUrl`; empty: as the client sees it. */
  readonly publicUrl: string
  /** Whether the peer of a request is a trusted reverse proxy. */
  readonly isTrustedPeer: (request: IncomingMessage) => boolean
}

/** Where a client sees the service: what absolute links in answers begin with. */
export class PublicAddress {
  readonly #parts: PublicAddressParts

  constructor(parts: PublicAddressParts) {
    this.#parts = parts
  }

  /** `https://host`, and the path that a host has the service under; without a slash at the end. */
  of(request: IncomingMessage): string {
    if (this.#parts.publicUrl !== '') return this.#parts.publicUrl.replace(/\/+$/, '')
    return this.ofHost(request)
  }

  /** As `of`, whatever `publicUrl` says. */
  ofHost(request: IncomingMessage): string {
    return `${this.#protocol(request)}://${this.host(request)}${strippedPath(request)}`
  }

  /** The host as the client has named it, in lower case, with its port where there is one. */
  host(request: IncomingMessage): string {
    const host = this.#forwarded(request, 'x-forwarded-host') ?? request.headers.host ?? ''
    // It becomes a part of links.
    return /^[\w.-]+(?::\d{1,5})?$|^\[[\da-f:.]+\](?::\d{1,5})?$/i.test(host) ? host.toLowerCase() : 'localhost'
  }

  #protocol(request: IncomingMessage): string {
    const forwarded = this.#forwarded(request, 'x-forwarded-proto')?.toLowerCase()
    if (forwarded === 'http' || forwarded === 'https') return forwarded
    return 'encrypted' in request.socket ? 'https' : 'http'
  }

  /** What the nearest proxy says: a client may have sent the header itself, and proxies add to it at its end. */
  #forwarded(request: IncomingMessage, name: string): string | undefined {
    const value = request.headers[name]
    if (value === undefined || !this.#parts.isTrustedPeer(request)) return undefined
    return String(value).split(',').at(-1)?.trim()
  }
}

/** The path that express, connect or polka have taken off before they called us. */
function strippedPath(request: IncomingMessage): string {
  const original: unknown = Reflect.get(request, 'originalUrl')
  const { url = '' } = request
  if (typeof original !== 'string' || !original.startsWith('/') || !original.endsWith(url)) return ''
  const path = original.slice(0, original.length - url.length).replace(/\/+$/, '')
  return /^[\w/.~%-]*$/.test(path) ? path : ''
}
