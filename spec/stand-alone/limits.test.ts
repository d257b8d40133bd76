import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { readSettings, type Settings } from '../../lib/stand-alone/settings.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { within } from '../fixtures/within.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

const defaults = readSettings({ environment: {}, home: '/', directory: '/' }).limits

// Most of the time is waiting.
t.jobs = 5
/** A new one each time: tap writes the test's own state into it. */
const atOnce = () => ({ buffered: true })

async function limited(t: Test, limits: Partial<Settings['limits']>): Promise<HostedCommit> {
  return await hostCommit(t, { settings: { limits: { ...defaults, ...limits } } })
}

t.test('Headers that do not arrive in time: 408, and the connection is closed', atOnce(), async (t) => {
  const { service, listPath } = await limited(t, { headersSeconds: 1 })
  for (const bytes of ['', requestHead('GET', listPath).slice(0, -2)]) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(bytes)
    refused(t, await socket.answer(), 408, 'the request took too long to arrive')
    t.equal(await socket.ended(), '')
  }
})

t.test(
  'A body that does not arrive in time: 408, the connection is closed and nothing is saved',
  atOnce(),
  async (t) => {
    const { service, token, reportPath, stored } = await limited(t, { requestSeconds: 1 })
    const socket = await RawSocket.open(t, service.url)
    await socket.send(
      requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Content-Length': '20' }),
      '{"state":"success"}',
    )
    refused(t, await socket.answer(), 408, 'the request took too long to arrive')
    t.equal(await socket.ended(), '')
    t.strictSame(await stored(), [])
  },
)

t.test(
  'A connection without a request is closed after the time for that, which the answer before tells',
  atOnce(),
  async (t) => {
    const { service } = await limited(t, { keepAliveSeconds: 1 })
    const socket = await RawSocket.open(t, service.url)
    await socket.send(requestHead('GET', '/healthz'))
    t.equal((await socket.answer()).headers.get('keep-alive'), 'timeout=1')
    t.equal(await socket.ended(), '')
  },
)

t.test('Connections above the limit are closed at once, and the log says so', atOnce(), async (t) => {
  const { service } = await limited(t, { connections: 2 })
  const [one, other] = [await RawSocket.open(t, service.url), await RawSocket.open(t, service.url)]
  for (const socket of [one, other]) {
    await socket.send(requestHead('GET', '/healthz'))
    t.equal((await socket.answer()).status, 200)
  }
  const third = await RawSocket.open(t, service.url)
  t.equal(await third.ended().catch(() => ''), '')
  t.ok(
    await within(20_000, () =>
      service.log.some(
        ({ msg, limit, closed }) => String(msg).includes('too many connections') && limit === 2 && Number(closed) >= 1,
      ),
    ),
  )
  one.end()
  await one.ended()
  t.ok(
    await within(20_000, async () => (await service.call('GET', '/healthz').catch(() => undefined))?.status === 200),
    'there is room again',
  )
})

t.test('Headers above the limit: 431, also when they do not end', atOnce(), async (t) => {
  const { service, listPath } = await limited(t, { headerBytes: 4096 })
  const start = requestHead('GET', listPath).slice(0, -2)
  const socket = await RawSocket.open(t, service.url)
  await socket.send(`${start}X: ${'x'.repeat(3000)}\r\n\r\n`)
  t.equal((await socket.answer()).status, 200)
  for (const headers of [`X: ${'x'.repeat(5000)}\r\n\r\n`, 'a: b\r\n'.repeat(10_000), 'x'.repeat(1_000_000)]) {
    const other = await RawSocket.open(t, service.url)
    await other.send(start + headers)
    refused(t, await other.answer(), 431, 'request headers too large')
    t.equal(await other.ended(), '')
  }
})

t.test('A client that takes nothing of its answers for too long is cut off', atOnce(), async (t) => {
  const { service, listPath } = await large(t, { responseSeconds: 1 })
  const socket = await RawSocket.open(t, service.url)
  await socket.send(requestHead('GET', listPath).repeat(400))
  await t.rejects(allOf(socket, 400, 6_000), /closed|reset|ECONNRESET/i)
})

t.test(
  'When too many answers wait for slow clients, new requests get 503, and nobody is cut off',
  atOnce(),
  async (t) => {
    // An answer has some 45,000 bytes: those of two clients may wait, those of three are too much.
    const { service, listPath } = await large(t, { unsentBytes: 110_000 })
    const slow = await Promise.all([1, 2, 3].map(async () => await RawSocket.open(t, service.url)))
    for (const socket of slow) await socket.send(requestHead('GET', listPath).repeat(400))
    const list = async () => await service.call('GET', listPath)
    t.ok(await within(20_000, async () => (await list()).status === 503))
    const { headers } = await list()
    t.match(headers.get('retry-after'), /^[1-9]\d*$/)
    t.equal(service.log.filter(({ msg }) => String(msg).includes('buffered for slow clients')).length, 1)
    for (const socket of slow) {
      const statuses = []
      for (let answer = 0; answer < 400; answer++) statuses.push((await socket.answer()).status)
      t.equal(statuses[0], 200)
      t.ok(statuses.every((status) => status === 200 || status === 503))
    }
    t.equal((await list()).status, 200)
  },
)

t.test('Who goes on sending after the answer is heard for a while, and then cut off', atOnce(), async (t) => {
  const { service, reportPath } = await limited(t, {})
  const head = requestHead('POST', reportPath, { 'Transfer-Encoding': 'chunked' })
  for (const chunk of ['1\r\n \r\n'.repeat(10_000), `100000\r\n${' '.repeat(0x100000)}\r\n`]) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(head)
    refused(t, await socket.answer(), 401, 'authentication required')
    let sent = 0
    await t.rejects(async () => {
      for (; sent < 100_000_000; sent += chunk.length) await socket.send(chunk)
    })
    t.ok(sent < 50_000_000, `after ${sent} bytes`)
  }
})

t.test('A client that does not close its side is not waited for long', atOnce(), async (t) => {
  const { service } = await limited(t, {})
  const socket = await RawSocket.open(t, service.url, { allowHalfOpen: true })
  await socket.send(requestHead('GET', '/healthz', { Connection: 'close' }))
  t.equal((await socket.answer()).status, 200)
  await t.rejects(async () => {
    for (;;) {
      await socket.send(requestHead('GET', '/healthz'))
      await setTimeout(50)
    }
  })
})

/** A commit with a list that is large. */
async function large(t: Test, limits: Partial<Settings['limits']>): Promise<HostedCommit> {
  const hosted = await limited(t, limits)
  for (let context = 0; context < 40; context++)
    await hosted.report({ state: 'success', context: `${context}`, description: 'x'.repeat(1000) })
  return hosted
}

/** Reads so many answers, the first one after a while. */
async function allOf(socket: RawSocket, answers: number, after = 0): Promise<void> {
  await setTimeout(after)
  for (let answer = 0; answer < answers; answer++) await socket.answer()
}
