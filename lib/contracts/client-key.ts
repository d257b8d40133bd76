import ipaddr from 'ipaddr.js'

/**
 * What a client is counted by: an IPv4 address (IPv4-mapped IPv6 is the same one), or the /64 of an IPv6 address,
 * since whoever has one address of a /64 commonly has them all. Anything else counts as one client.
 */
export function clientKey(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  const network = parsed.toByteArray().slice(0, 8)
  return `${ipaddr.fromByteArray([...network, 0, 0, 0, 0, 0, 0, 0, 0]).toString()}/64`
}
