import type { IncomingMessage } from 'node:http'
import proxyaddr from 'proxy-addr'

/**
 * Tells the IP address of a request's client: the socket's peer or, when that is a trusted proxy, the first hop of
 * `X-Forwarded-For`, from the right, that is none.
 * @param trustedProxies addresses or CIDR ranges; `checkTrustedProxy` has accepted each
 */
export function clientAddresses(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trust = proxyaddr.compile([...trustedProxies])
  return (request) => {
    const { remoteAddress = 'unknown' } = request.socket
    return remoteAddress === 'unknown' || trustedProxies.length === 0 ? remoteAddress : proxyaddr(request, trust)
  }
}

/** Whether `text` is an IP address or a CIDR range. */
export function isTrustedProxy(text: string): boolean {
  try {
    proxyaddr.compile(text)
    return /^[\d.]+(\/|$)|:/.test(text)
  } catch {
    return false
  }
}
