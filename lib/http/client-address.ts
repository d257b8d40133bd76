import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import proxyaddr from 'proxy-addr'

/** Among trusted proxies: whoever can connect to a Unix socket. */
export const UNIX = 'unix'

/**
 * Tells the IP address of a request's client: the socket's peer or, when that is a trusted reverse proxy, the first hop
 * of `X-Forwarded-For`, from the right, that is none. A port behind an address does not count, as some proxies add it.
 * Where that hop is no address at all, the client is the peer.
 * @param trustedProxies addresses, CIDR ranges or `unix`; `isTrustedProxy` has accepted each
 */
export function clientAddresses(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = compiled(trustedProxies)
  const isTrustedPeer = trustedPeers(trustedProxies)
  return (request) => {
    const { remoteAddress = 'unknown' } = request.socket
    if (!isTrustedPeer(request)) return remoteAddress
    const hops = proxyaddr.all(request).slice(1).map(withoutPort)
    const client = hops.find((hop) => !isTrusted(hop, 0)) ?? hops.at(-1)
    return client !== undefined && isIP(client) !== 0 ? client : remoteAddress
  }
}

/** Tells whether the peer of a request's socket is a trusted reverse proxy, whose headers are believed. */
export function trustedPeers(trustedProxies: readonly string[]): (request: IncomingMessage) => boolean {
  const isTrusted = compiled(trustedProxies)
  const trustsUnix = trustedProxies.includes(UNIX)
  return ({ socket }) => {
    const { remoteAddress = '' } = socket
    return isIP(remoteAddress) === 0 ? trustsUnix && isUnix(socket) : isTrusted(remoteAddress, 0)
  }
}

/** Whether it is a Unix socket. A TCP connection whose peer has gone has no address of it, yet still one of its own. */
function isUnix({ destroyed, remoteAddress, localAddress }: Socket): boolean {
  return !destroyed && remoteAddress === undefined && localAddress === undefined
}

/** Addresses that nobody has several of: far from each other, and public. */
const STRANGERS = [
  ['1.1.1.1', '8.8.8.8', '64.4.0.1', '100.0.0.1', '150.1.1.1', '200.1.1.1', '223.1.1.1'],
  ['2001:4860::1', '2600::1', '2a00:1450::1', '2c0f::1'],
]

/** Whether everybody, or about everybody, is among trusted proxies. */
export function coversEverybody(trustedProxies: readonly string[]): boolean {
  const isTrusted = compiled(trustedProxies)
  return STRANGERS.some((addresses) => addresses.filter((address) => isTrusted(address, 0)).length > 1)
}

/** Whether `text` is an IP address, a CIDR range or `unix`. */
export function isTrustedProxy(text: string): boolean {
  return text === UNIX || isAddressOrRange(text)
}

/** Whether `text` is an IP address or a CIDR range. */
export function isAddressOrRange(text: string): boolean {
  try {
    proxyaddr.compile(text)
    // A number with a leading zero is octal to some readers, and another address.
    return /^[\d.]+(\/|$)|:/.test(text) && !/(?:^|[.:])0\d+\.|\.0\d/.test(text)
  } catch {
    return false
  }
}

function compiled(trustedProxies: readonly string[]): (address: string, index: number) => boolean {
  return proxyaddr.compile(trustedProxies.filter((proxy) => proxy !== UNIX))
}

/** `203.0.113.1:51111` and `[2001:db8::1]:443` without the port. */
function withoutPort(hop: string): string {
  const [, address] = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop) ?? /^\[(.*)\](?::\d+)?$/.exec(hop) ?? []
  return address ?? hop
}
