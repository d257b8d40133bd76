import { get } from 'node:http'
import t from 'tap'
import { AddressPolicy } from '../../lib/webhooks/address-policy.js'
import { HttpClient } from '../../lib/webhooks/http-client.js'
import { systemClock } from '../../lib/contracts/clock.js'
import { nameServer } from '../fixtures/name-server.js'
import { receiver } from '../fixtures/receiver.js'

const never = new AbortController().signal
const message = { headers: {}, body: Buffer.from('{}') }

/** Sends to an address, and how it went. */
const post = async (policy: AddressPolicy, address: string) =>
  await new HttpClient(policy, systemClock).post(address, message, never)

/** A policy for which every name has these addresses. */
const named = (addresses: readonly string[], allow: readonly string[] = []) =>
  new AddressPolicy(allow, async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))

const refused = [
  ['unspecified', '0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0'],
  [
    'link-local',
    '169.254.169.254',
    '169.254.0.1',
    'fe80::1',
    'fe80::1%lo',
    'fe80::a9fe:a9fe',
    '::ffff:169.254.169.254',
  ],
  ['multicast', '224.0.0.1', '239.1.2.3', 'ff02::1', '::ffff:224.0.0.1'],
  ['broadcast', '255.255.255.255', '::ffff:255.255.255.255'],
  ['reserved', '240.0.0.1', '192.0.2.1', '198.18.0.1', '192.88.99.1', '192.31.196.1', '192.52.193.1', '192.0.0.192'],
  [
    'reserved',
    '2001:db8::1',
    '3fff:fff::1',
    '100::1',
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    'fec0::1',
    '5f00::1',
    '4000::1',
  ],
  ['translated', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a9fe:a9fe', '2002:a9fe:a9fe::1', '2001:0:53aa:64c::1'],
  ['translated', '::ffff:0:a9fe:a9fe', '::127.0.0.1', '::7f00:1'],
  ["one of a cloud's metadata", '168.63.129.16', '100.100.100.200', 'fd00:ec2::254', '::ffff:168.63.129.16'],
  ["one of a cloud's metadata", 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42', '::ffff:100.100.100.200'],
] as const

for (const [kind, ...addresses] of refused) {
  t.test(`What is ${kind} is not called, as a literal or by a name, such as ${addresses[0]}`, async (t) => {
    for (const address of addresses) {
      const host = address.replace('%lo', '')
      const literal = `http://${host.includes(':') ? `[${host}]` : host}:9/secret?token=1`
      const { kind: how, reason } = await post(new AddressPolicy(), literal)
      t.match({ how, reason }, { how: 'refused', reason: `is not called: the address is ${kind}, and hooks.allow` })
      t.notMatch(reason, /secret|token/)
      const byName = await post(named([address]), 'http://metadata.example:9/secret')
      t.match(byName, {
        kind: 'refused',
        reason: `metadata.example, at ${address}, is not called: the address is ${kind}`,
      })
      t.equal(new AddressPolicy([address]).parse(literal).port, '9', `${address} is allowed by itself`)
    }
  })
}

t.test('What is next door may be called, and what is routed', async (t) => {
  const open = ['127.0.0.1', '127.1.2.3', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '93.184.216.34']
  const openToo = ['::1', 'fd12::1', '2a00:1450::1', '::ffff:10.0.0.1']
  for (const address of [...open, ...openToo.map((address) => `[${address}]`)])
    t.doesNotThrow(() => new AddressPolicy().parse(`https://${address}/`), address)
})

t.test('Addresses are http or https, without a user', async (t) => {
  const policy = new AddressPolicy()
  for (const address of [
    'ftp://x/',
    'file:///etc/passwd',
    'javascript:1',
    'mailto:a@b',
    'nothing',
    '',
    '//x/',
    'http://',
  ])
    t.throws(() => policy.parse(address), { message: 'the address must be an http or https URL' }, address)
  for (const address of ['http://alice@x/', 'http://:secret@x/', 'https://alice:secret@127.0.0.1/'])
    t.throws(() => policy.parse(address), { message: 'the address must be without a user' }, address)
})

t.test('An address that hides what it is, is what it is', async (t) => {
  const { port, received } = await receiver(t)
  for (const host of ['0x7f.1', '2130706433', '①②⑦.0.0.1', '017700000001', '[::ffff:127.0.0.1]', '127.1'])
    t.match(await post(new AddressPolicy(), `http://${host}:${port}/`), { kind: 'ok' }, `${host} is loopback`)
  t.equal(received.length, 6)
  // On Linux these are ways to the same server.
  for (const host of ['0', '0x0', '0.0', '０.0.0.0', '[::]', '[::ffff:0:0]', '[0:0:0:0:0:0:0:0]'])
    t.match(await post(new AddressPolicy(), `http://${host}:${port}/`), { kind: 'refused' }, `${host} is unspecified`)
  for (const host of ['0xa9fea9fe', '2852039166', '169.254.43518', '[::ffff:a9fe:a9fe]'])
    t.match(await post(new AddressPolicy(), `http://${host}:${port}/`), { kind: 'refused' }, `${host} is link-local`)
  t.equal(received.length, 6)
})

t.test('hooks.allow names addresses and ranges, of one kind', async (t) => {
  const { port, received } = await receiver(t)
  const to = (allow: string[], host: string) => post(new AddressPolicy(allow), `http://${host}:${port}/`)
  t.match(await to(['0.0.0.0'], '0.0.0.0'), { kind: 'ok' })
  t.match(await to(['0.0.0.0/8', '64:ff9b::/96'], '0.0.0.0'), { kind: 'ok' })
  t.match(await to(['::ffff:0.0.0.0'], '0.0.0.0'), { kind: 'ok' }, 'in one form')
  t.equal(received.length, 3)
  for (const allow of [['0.0.0.1'], ['10.0.0.0/8'], ['::/0'], ['169.254.169.254']])
    t.match(await to(allow, '0.0.0.0'), { kind: 'refused' }, allow.join())
  t.equal(received.length, 3)
})

t.test('Every address of a name must be allowed', async (t) => {
  const { port, received } = await receiver(t)
  const url = `http://two.example:${port}/`
  t.match(await post(named(['127.0.0.1', '169.254.169.254']), url), { kind: 'refused' })
  t.match(await post(named(['169.254.169.254', '127.0.0.1']), url), { kind: 'refused' })
  t.equal(received.length, 0)
  t.match(await post(named(['127.0.0.1', '127.0.0.1']), url), { kind: 'ok' })
  t.match(await post(named([]), url), { kind: 'failed', reason: 'two.example has no address' })
})

t.test('A name that is rebound between the check and the connection is of no use', async (t) => {
  const { port, received } = await receiver(t)
  // Each question has another answer, good for no second.
  let questions = 0
  const server = await nameServer(t, () => (questions++ % 2 === 0 ? ['127.0.0.1'] : ['0.0.0.0']))
  const policy = new AddressPolicy([], server.resolve)
  const url = `http://rebound.example:${port}/`
  t.match(await post(policy, url), { kind: 'ok' })
  t.strictSame(server.asked, ['rebound.example'], 'asked once: what was checked is what is connected to')
  t.match(await post(policy, url), { kind: 'refused', reason: 'rebound.example, at 0.0.0.0, is not called' })
  t.equal(received.length, 1)
  t.equal(server.asked.length, 2)
})

t.test('A redirect is not followed, whatever is behind it', async (t) => {
  const inner = await receiver(t)
  for (const status of [301, 302, 303, 307, 308]) {
    const outer = await receiver(t, (response) =>
      response.writeHead(status, { Location: `http://0.0.0.0:${inner.port}/`, Refresh: `0; url=${inner.url}` }).end(),
    )
    t.match(await post(new AddressPolicy(), outer.url), {
      kind: 'failed',
      status,
      reason: `the answer was ${status}: redirects are not followed`,
    })
    t.equal(outer.received.length, 1)
  }
  t.equal(inner.received.length, 0)
})

t.test('Where Node.js wants one address it is given the first, checked', async (t) => {
  const { port, received } = await receiver(t)
  const to = async (addresses: string[]) => {
    const options = { agent: false, autoSelectFamily: false, lookup: named(addresses).lookup }
    return await new Promise((resolve, reject) => {
      get(`http://one.example:${port}/`, options, ({ statusCode }) => resolve(statusCode)).on('error', reject)
    })
  }
  t.equal(await to(['127.0.0.1', '10.0.0.1']), 204)
  await t.rejects(to(['127.0.0.1', '0.0.0.0']), { name: 'RefusedAddress' })
  t.equal(received.length, 1)
})

t.test('Names are those of the machine', async (t) => {
  const { port } = await receiver(t)
  t.match(await post(new AddressPolicy(), `http://localhost:${port}/`), { kind: 'ok' })
  t.match(await post(new AddressPolicy(), 'http://nobody.invalid/'), { kind: 'failed', reason: /nobody\.invalid/ })
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a part of others may do this
  const broken = new AddressPolicy([], async () => await Promise.reject('no text of an error'))
  t.match(await post(broken, 'http://x.example/'), { kind: 'failed', reason: 'no text of an error' })
})
