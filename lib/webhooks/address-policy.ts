import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A receiver is at no address that may be called. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

type Address = ReturnType<typeof ipaddr.process>
type Network = readonly [Address, number]

/** Every address of a name, as it is at that time. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>

/**
 * Where clouds hand every machine its secrets, in no range of the library: Azure, Alibaba, AWS, Google, Oracle and
 * Scaleway. The others are link-local.
 */
const METADATA = [
  '168.63.129.16',
  '100.100.100.200',
  'fd00:ec2::/32',
  'fd20:ce::254',
  'fd00:c1::/32',
  'fd00:42::42',
].map(networkOf)

/** What may be called: whatever is routed, and what is next door. */
const OPEN = ['unicast', 'loopback', 'private', 'uniqueLocal', 'carrierGradeNat']

/** Addresses of IPv6 that hold one of IPv4, at which a gateway may be reached that no range allows. */
const TRANSLATED = ['rfc6145', 'rfc6052', '6to4', 'teredo']
const TRANSLATED_NETWORKS = ['::/96', '64:ff9b:1::/48'].map(networkOf)

/** All of IPv6 that is given out by now. */
const GIVEN_OUT = networkOf('2000::/3')

/** Of these the range for documentation that the library does not know: RFC 9637. */
const DOCUMENTATION = networkOf('3fff::/20')

/**
 * Where deliveries may go: http and https, to any address but those that only this machine, or nobody, has a use for. A
 * name is looked up once for each connection, every address that it has must be allowed, and it is these that are
 * connected to: what the name means a moment later does not count.
 */
export class AddressPolicy {
  readonly #allowed: readonly Network[]
  readonly #resolve: Resolve

  /** @param allow addresses or CIDR ranges that may be called whatever they are */
  constructor(allow: readonly string[] = [], resolve: Resolve = systemResolve) {
    this.#allowed = allow.map(networkOf)
    this.#resolve = resolve
  }

  /**
   * Parses what an admin or a record gives as the address of a receiver. A name in it is looked up by `lookup`, which
   * Node.js asks about nothing but names.
   * @throws RefusedAddress without its path and query, which may be a secret
   */
  parse(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
      throw new RefusedAddress('the address must be an http or https URL')
    if (url.username !== '' || url.password !== '') throw new RefusedAddress('the address must be without a user')
    // Not what was typed: `0x7f.1` is 127.0.0.1, too.
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0) this.#check(host, host)
    return url
  }

  /**
   * Looks at an address as a connection to it would.
   * @throws RefusedAddress, or what the system says of its name
   */
  async check(text: string): Promise<void> {
    const { hostname } = this.parse(text)
    if (!hostname.startsWith('[')) await this.#addressesOf(hostname)
  }

  /** For `http.request`. */
  readonly lookup: LookupFunction = (name, { all }, done) => {
    this.#addressesOf(name).then(
      ([first, ...others]) => {
        if (all) done(null, [first, ...others])
        else done(null, first.address, first.family)
      },
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), ''),
    )
  }

  async #addressesOf(name: string): Promise<[LookupAddress, ...LookupAddress[]]> {
    const [first, ...others] = await this.#resolve(name)
    if (!first) throw new Error(`${name} has no address`)
    for (const { address } of [first, ...others]) this.#check(address, name)
    return [first, ...others]
  }

  #check(text: string, name: string): void {
    const address = addressOf(text)
    const kind = refusedKind(address)
    if (kind === undefined || this.#allowed.some((network) => isIn(address, network))) return
    const whose = name === text ? text : `${name}, at ${text},`
    throw new RefusedAddress(`${whose} is not called: the address is ${kind}, and hooks.allow does not name it`)
  }
}

/** Why an address is not called; `undefined` where it may be. */
function refusedKind(address: Address): string | undefined {
  if (METADATA.some((network) => isIn(address, network))) return "one of a cloud's metadata"
  const range = address.range()
  if (TRANSLATED.includes(range)) return 'translated'
  if (range === 'linkLocal') return 'link-local'
  if (['unspecified', 'multicast', 'broadcast'].includes(range)) return range
  if (!OPEN.includes(range)) return 'reserved'
  if (isIn(address, DOCUMENTATION)) return 'reserved'
  if (address.kind() === 'ipv4' || range !== 'unicast' || isIn(address, GIVEN_OUT)) return undefined
  return TRANSLATED_NETWORKS.some((network) => isIn(address, network)) ? 'translated' : 'reserved'
}

/** Addresses of another kind are in no network: the library would throw. */
function isIn(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

function networkOf(text: string): Network {
  const [host = '', bits] = text.split('/')
  if (bits !== undefined) return ipaddr.parseCIDR(`${plain(host)}/${bits}`)
  const address = addressOf(host)
  return [address, 8 * address.toByteArray().length]
}

/** In one form for IPv4 in IPv6, before it is compared with anything. */
function addressOf(text: string): Address {
  return ipaddr.process(plain(text))
}

/** Without dots in IPv6, since the library takes `::127.0.0.1` for `::ffff:127.0.0.1`, and without an interface. */
function plain(text: string): string {
  return text.includes(':') ? new URL(`http://[${text.replace(/%.*/, '')}]`).hostname.slice(1, -1) : text
}

async function systemResolve(name: string): Promise<LookupAddress[]> {
  return await lookup(name, { all: true })
}
