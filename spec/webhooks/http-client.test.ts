import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { AddressPolicy } from '../../lib/webhooks/address-policy.js'
import { deferred } from '../../lib/concurrency/deferred.js'
import { HttpClient } from '../../lib/webhooks/http-client.js'
import { tlsFront } from '../fixtures/debian-client.js'
import { freePort } from '../fixtures/free-port.js'
import { missing } from '../fixtures/program.js'
import { receiver } from '../fixtures/receiver.js'

const noTls = await missing('openssl')
const NOON = Date.parse('2026-01-31T12:00:00Z')
const never = new AbortController().signal
const message = { headers: { 'Content-Type': 'text/plain', 'X-More': 'ü' }, body: Buffer.from('Grüße') }

const clientWith = (milliseconds?: number, policy = new AddressPolicy()) =>
  new HttpClient(policy, { now: () => NOON }, milliseconds)

const post = async (address: string, milliseconds?: number) =>
  await clientWith(milliseconds).post(address, message, never)

/** A server that answers each connection by what it does with it. */
const server = async (t: Test, answer: (socket: Socket) => void): Promise<string> => {
  const sockets = new Set<Socket>()
  const listening = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => {
    listening.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}/`
}

t.test('What was sent arrives as it is, once, over a connection of its own', async (t) => {
  const { url, received } = await receiver(t)
  const result = await post(`${url}/a/path?and=query`)
  t.match(result, { kind: 'ok', status: 204, reason: 'the answer was 204' })
  t.ok(Number.isInteger(result.milliseconds) && result.milliseconds >= 0)
  t.match(received, [{ method: 'POST', path: '/a/path?and=query', body: 'Grüße' }])
  t.match(received[0]?.headers, { 'content-type': 'text/plain', 'content-length': '7', connection: 'close' })
})

t.test('Each answer is what it means', async (t) => {
  for (const [status, kind] of [
    [200, 'ok'],
    [202, 'ok'],
    [299, 'ok'],
    [304, 'failed'],
    [400, 'failed'],
    [404, 'failed'],
    [410, 'gone'],
    [429, 'failed'],
    [500, 'failed'],
  ] as const) {
    const { url } = await receiver(t, (response) => response.writeHead(status).end())
    t.match(await post(url), { kind, status, reason: `the answer was ${status}` })
  }
})

t.test('Retry-After is heeded, in seconds and as a time, up to an hour', async (t) => {
  for (const [text, seconds] of [
    ['120', 120],
    ['0', 0],
    ['999999999999', 3600],
    ['Sat, 31 Jan 2026 12:01:30 GMT', 90],
    ['Sat, 31 Jan 2026 18:00:00 GMT', 3600],
    ['Sat, 31 Jan 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-1x', undefined],
  ] as const) {
    const { url } = await receiver(t, (response) => response.writeHead(429, { 'Retry-After': text }).end())
    t.equal((await post(url)).retryAfterSeconds, seconds, text)
  }
})

t.test('Of an answer without an end, 1 kB is read', async (t) => {
  const closed = deferred<number>()
  const endless = await receiver(t, (response) => {
    const { socket } = response
    socket?.on('close', () => closed.resolve(socket.bytesWritten))
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    }
    response.on('drain', more).writeHead(200)
    more()
  })
  t.match(await post(endless.url), { kind: 'ok', status: 200 })
  t.ok((await closed.promise) < 100 * 1024 * 1024, 'and the connection is closed')
  const failing = await receiver(t, (response) => response.writeHead(500).end('x'.repeat(100_000)))
  t.match(await post(failing.url), { kind: 'failed', status: 500 })
})

t.test('A whole answer must have arrived in time', async (t) => {
  const late = { kind: 'failed', status: undefined, reason: 'no whole answer within 0.2 s' }
  t.match(await post(await server(t, () => {}), 200), late, 'nothing comes')
  t.match(await post(await server(t, (socket) => socket.write('HTTP/1.1 200')), 200), late, 'it stops in the headers')
  const begun = await server(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'))
  t.match(await post(begun, 200), late, 'it stops in the body')
  const dripping = await server(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const timer = setInterval(() => socket.write('.'), 10)
    socket.on('close', () => clearInterval(timer))
  })
  t.match(await post(dripping, 200), late, 'it drips')
  const asked = new AddressPolicy([], () => new Promise(() => {}))
  t.match(await clientWith(200, asked).post('http://slow.example/', message, never), late, 'its name is not found')
})

t.test('What is no answer is a failure', async (t) => {
  for (const [bytes, reason] of [
    ['', /socket hang up/],
    ['SSH-2.0-OpenSSH_9.2\r\n', /Parse Error/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx', /aborted/],
    [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, /Header overflow/i],
    ['HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', /closed without an answer/],
  ] as const)
    t.match(await post(await server(t, (socket) => socket.end(bytes))), { kind: 'failed', status: undefined, reason })
})

t.test('Where nobody listens, each address that was tried is named', async (t) => {
  const port = await freePort()
  t.match(await post(`http://127.0.0.1:${port}/secret`), {
    kind: 'failed',
    reason: `connect ECONNREFUSED 127.0.0.1:${port}`,
  })
  const two = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
  const policy = new AddressPolicy([], async () => two)
  t.match(await clientWith(undefined, policy).post(`http://two.example:${port}/secret`, message, never), {
    kind: 'failed',
    reason: `connect ECONNREFUSED 127.0.0.1:${port}, connect ECONNREFUSED 127.0.0.2:${port}`,
  })
})

t.test('A service that stops breaks off', async (t) => {
  const stop = new AbortController()
  const url = await server(t, () => stop.abort())
  t.match(await clientWith().post(url, message, stop.signal), { kind: 'failed', reason: /the service stops/ })
  t.match(await clientWith().post(url, message, stop.signal), { kind: 'failed', reason: /the service stops/ })
})

t.test('A certificate is good for its name alone, and where somebody vouches for it', { skip: noTls }, async (t) => {
  const { url, received } = await receiver(t)
  const { host, authority } = await tlsFront(t, url)
  t.match(await post(`https://${host}/`), { kind: 'failed', reason: 'self-signed certificate' })
  t.equal(received.length, 0)
  // Which certificates a process believes is said to it when it starts.
  const program = fileURLToPath(new URL('../fixtures/post-process.ts', import.meta.url))
  const other = host.replace('localhost', 'other.example')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import=./spec/loader/register.js', program, `https://${host}/`, `https://${other}/secret`],
    { env: { ...process.env, NODE_EXTRA_CA_CERTS: authority } },
  )
  const [good, bad] = stdout.split('\n')
  t.match(JSON.parse(good ?? ''), { kind: 'ok', status: 204 })
  t.match(JSON.parse(bad ?? ''), { kind: 'failed', reason: /other\.example.* not in the cert's altnames/ })
  t.notMatch(bad, /secret/)
  t.equal(received.length, 1)
})
