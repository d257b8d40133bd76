import type { IncomingMessage } from 'node:http'

/** The address by which a client has called. */
export interface CalledAddress {
  readonly protocol: 'http' | 'https'
  /** In lower case, with the port where the client names one. */
  readonly host: string
}

export interface PublicAddressDependencies {
  /** The setting `publicUrl`; empty: as the client sees it. */
  readonly publicUrl: string
  /** Whether the peer of a request is a trusted reverse proxy. */
  readonly isTrustedPeer: (request: IncomingMessage) => boolean
}

/**
 * Where clients see the service: at `publicUrl`, else by what a trusted reverse proxy says in `X-Forwarded-Proto` and
 * `X-Forwarded-Host`, else by `Host`.
 */
export class PublicAddress {
  readonly #dependencies: PublicAddressDependencies
  readonly #url: URL | undefined
  /** What links begin with, where the setting says so. */
  readonly #base: string | undefined

  constructor(dependencies: PublicAddressDependencies) {
    this.#dependencies = dependencies
    this.#url = dependencies.publicUrl === '' ? undefined : new URL(dependencies.publicUrl)
    this.#base = this.#url && this.#url.origin + mountPath(dependencies.publicUrl)
  }

  /** What links begin with: `https://host`, and the path that the service is under; without a slash at the end. */
  of(request: IncomingMessage): string {
    return this.#base ?? this.ofHost(request)
  }

  /** The same as `of`, whatever `publicUrl` says. */
  ofHost(request: IncomingMessage): string {
    const { protocol, host } = this.called(request)
    return `${protocol}://${host}${strippedPath(request)}`
  }

  /** `of` without the path. */
  origin(request: IncomingMessage): string {
    if (this.#url) return this.#url.origin
    const { protocol, host } = this.called(request)
    return `${protocol}://${host}`
  }

  /** The address by which a request has come, whatever `publicUrl` says of others. */
  called(request: IncomingMessage): CalledAddress {
    const named = this.#forwarded(request, 'x-forwarded-host') ?? request.headers.host ?? ''
    // It becomes a part of links.
    const isHost = /^[\w.-]+(?::\d{1,5})?$|^\[[\da-f:.]+\](?::\d{1,5})?$/i.test(named)
    const host = isHost ? named.toLowerCase() : 'localhost'
    return { protocol: this.#protocol(request, host), host }
  }

  #protocol(request: IncomingMessage, host: string): 'http' | 'https' {
    const forwarded = this.#forwarded(request, 'x-forwarded-proto')?.toLowerCase()
    if (forwarded === 'http' || forwarded === 'https') return forwarded
    // A proxy may not say how it was called itself.
    const isPublic = this.#url?.host === host && this.#url.protocol === 'https:'
    return isPublic || Reflect.get(request.socket, 'encrypted') === true ? 'https' : 'http'
  }

  /** What the nearest proxy says: a client may have sent the header itself, and proxies add to it at its end. */
  #forwarded(request: IncomingMessage, name: string): string | undefined {
    const value = request.headers[name]
    if (value === undefined || !this.#dependencies.isTrustedPeer(request)) return undefined
    return String(value).split(',').at(-1)?.trim()
  }
}

/** Whether links that begin with the path of a public URL stay there: browsers take what is behind `//` for a host. */
export function isPathWithoutDoubleSlash(publicUrl: string): boolean {
  return !/^\w+:\/\/.*\/\//.test(publicUrl)
}

/** The path of a public URL, without a slash at its end; empty for none. */
export function mountPath(publicUrl: string): string {
  return publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')
}

/** The path that express, connect or polka have taken off before they called us. */
function strippedPath(request: IncomingMessage): string {
  const original: unknown = Reflect.get(request, 'originalUrl')
  const { url = '' } = request
  if (typeof original !== 'string' || !original.startsWith('/') || !original.endsWith(url)) return ''
  const path = original.slice(0, original.length - url.length).replace(/\/+$/, '')
  return /^[\w/.~%-]*$/.test(path) ? path : ''
}
