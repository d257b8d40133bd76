import fc from 'fast-check'
import t from 'tap'
import { clientKey } from '../../lib/contracts/client-key.js'
import { anyCharacter } from '../fixtures/any-character.js'

/** Ways to write an address, all of one client. */
const SAME: Readonly<Record<string, readonly string[]>> = {
  '203.0.113.7': [
    '203.0.113.7',
    '::ffff:203.0.113.7',
    '::FFFF:203.0.113.7',
    '::ffff:cb00:7107',
    '0:0:0:0:0:ffff:cb00:7107',
    '0000:0000:0000:0000:0000:ffff:203.0.113.7',
    '::ffff:203.0.113.7%eth0',
  ],
  '127.0.0.1': ['127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  '2001:db8:0:1::/64': [
    '2001:db8:0:1::',
    '2001:db8:0:1::1',
    '2001:DB8:0:1::1',
    '2001:0db8:0000:0001:ffff:ffff:ffff:ffff',
    '2001:db8::1:0:0:0:9',
    '2001:db8:0:1::203.0.113.7',
    '2001:db8:0:1::1%eth0',
  ],
  '2001:db8:0:2::/64': ['2001:db8:0:2::1'],
  '::/64': ['::', '::1', '0:0:0:0:1:2:3:4', '::1%lo'],
  'fe80::/64': ['fe80::1', 'fe80::1%eth0', 'fe80::1%1', 'fe80::dead:beef%wlan0'],
}

t.test(
  'IPv4 and IPv4-mapped IPv6 are one client, IPv6 counts by its /64, in any way of writing and in any zone',
  async (t) => {
    for (const [key, addresses] of Object.entries(SAME)) {
      for (const address of addresses) t.equal(clientKey(address), key, address)
    }
  },
)

t.test('Whatever is no address counts as one client', async (t) => {
  const garbage = [
    '',
    ' ',
    'unknown',
    'localhost',
    '203.0.113.256',
    '203.0.113.7:4711',
    '[::1]',
    '[::1]:80',
    '203.0.113.7/24',
    '2001:db8::/64',
    '2001:db8::1::2',
    ':::',
    '::ffff:999.1.1.1',
    '1.2.3.4.5',
    '-1',
    '%eth0',
    'fe80::1%',
    '::1\0',
    ' 203.0.113.7',
    '203.0.113.7\n',
    '__proto__',
    'a'.repeat(100_000),
    '١٢٧.٠.٠.١',
  ]
  for (const text of garbage) t.equal(clientKey(text), 'unknown', JSON.stringify(text.slice(0, 40)))
})

t.test('Every address has a short key of its own form, and garbage never one of an address', async (t) => {
  const key = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f:]{2,21}\/64|unknown)$/
  t.doesNotThrow(() => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => clientKey(address) === address && clientKey(`::ffff:${address}`) === address),
    )
    fc.assert(fc.property(fc.ipV6(), (address) => key.test(clientKey(address))))
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => key.test(clientKey(text))))
  })
})

t.test('Two IPv6 addresses are one client exactly when their first 64 bits are the same', async (t) => {
  const bits = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n })
  const address = (network: bigint, host: bigint): string =>
    (((network << 64n) | host).toString(16).padStart(32, '0').match(/.{4}/g) ?? []).join(':')
  const property = fc.property(bits, bits, bits, bits, (network, otherNetwork, host, otherHost) => {
    const one = clientKey(address(network, host))
    return (
      one === clientKey(address(network, otherHost)) &&
      (one === clientKey(address(otherNetwork, host))) === (network === otherNetwork)
    )
  })
  t.doesNotThrow(() => {
    fc.assert(property, { numRuns: 1000 })
  })
})
