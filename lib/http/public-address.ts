import type { IncomingMessage } from 'node:http'
import { headerValues } from './header-values.js'

/** How clients call the service. */
export interface PublicAddress {
  readonly protocol: 'http' | 'https'
  /** With the port, where the client names one. */
  readonly host: string
}

/** `https://status.example.com` */
export function originOf({ protocol, host }: PublicAddress): string {
  return `${protocol}://${host}`
}

/**
 * Tells by which address a request has come: that of its `Host`, or what a trusted reverse proxy says in
 * `X-Forwarded-Proto` and `X-Forwarded-Host`.
 * @param isTrusted whether the peer of a request's socket is a trusted proxy
 */
export function publicAddresses(
  isTrusted: (request: IncomingMessage) => boolean,
): (request: IncomingMessage) => PublicAddress {
  return (request) => {
    const { headers, socket } = request
    const isEncrypted = Reflect.get(socket, 'encrypted') === true
    const forwarded = (name: string): string | undefined =>
      isTrusted(request) ? headerValues(request, name).at(-1)?.split(',').at(-1)?.trim().toLowerCase() : undefined
    return {
      protocol: isEncrypted || forwarded('x-forwarded-proto') === 'https' ? 'https' : 'http',
      host: forwarded('x-forwarded-host') ?? headers.host?.toLowerCase() ?? '',
    }
  }
}
