import t from 'tap'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

const LIMIT = 16_384
const TOO_LARGE = 'request body larger than 16384 bytes'

/** A report of exactly so many bytes. */
function bodyOf(bytes: number): string {
  return '{"state":"success"}'.padEnd(bytes)
}

/** The same in the chunked coding (RFC 9112, 7.1). */
function chunked(body: string, size: number): string {
  const chunks = []
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.slice(at, at + size)
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  }
  return `${chunks.join('')}0\r\n\r\n`
}

t.test('Body is at most 16384 bytes, else 413', async (t) => {
  const { report, stored } = await hostCommit(t)
  for (const size of [LIMIT + 1, LIMIT + 2, 100_000])
    refused(t, await report(bodyOf(size)), 413, TOO_LARGE, `${size} bytes`)
  refused(
    t,
    await report(`{"state":"success","unknown":"${'é'.repeat(LIMIT / 2)}"}`),
    413,
    TOO_LARGE,
    'bytes, not characters',
  )
  t.strictSame(await stored(), [])
  t.equal((await report(bodyOf(LIMIT))).status, 201, 'exactly 16384 bytes')
})

t.test('A chunked body has the same limit', async (t) => {
  const { service, token, reportPath } = await hostCommit(t)
  const head = requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Transfer-Encoding': 'chunked' })
  for (const size of [1, 1000, LIMIT + 1]) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(head, chunked(bodyOf(LIMIT), size))
    t.match(await socket.answer(), { status: 201, body: { state: 'success' } }, `16384 bytes in chunks of ${size}`)
    await socket.send(head, chunked(bodyOf(LIMIT + 1), size))
    refused(t, await socket.answer(), 413, TOO_LARGE, `16385 bytes in chunks of ${size}`)
  }
})

t.test('The answer is really seen by a client that sends everything before it reads', async (t) => {
  const { service, token, reportPath, stored } = await hostCommit(t)
  const body = bodyOf(8_000_000)
  const framings = {
    declared: { headers: { 'Content-Length': String(body.length) }, bytes: body },
    chunked: { headers: { 'Transfer-Encoding': 'chunked' }, bytes: chunked(body, 60_000) },
  }
  const refusals = [
    { path: reportPath, authorization: `Bearer ${token}`, status: 413, message: TOO_LARGE },
    { path: reportPath, authorization: undefined, status: 401, message: 'authentication required' },
    {
      path: reportPath.replace('hello', 'missing'),
      authorization: `Bearer ${token}`,
      status: 404,
      message: 'repository not found',
    },
    {
      path: `${reportPath}0`,
      authorization: `Bearer ${token}`,
      status: 422,
      message: 'sha must be a full 40 or 64 character hex commit id',
    },
    { path: '/nowhere', authorization: undefined, status: 404, message: 'not found' },
  ]
  for (const [framing, { headers, bytes }] of Object.entries(framings)) {
    for (const { path, authorization, status, message } of refusals) {
      const socket = await RawSocket.open(t, service.url)
      await socket.send(requestHead('POST', path, { Authorization: authorization, ...headers }), bytes)
      refused(t, await socket.answer(), status, message, `${framing}: ${status}`)
      await socket.send(requestHead('GET', '/healthz'))
      t.equal((await socket.answer()).status, 200, 'and the connection goes on')
    }
  }
  t.strictSame(await stored(), [])
})

t.test('A body that never arrives whole saves nothing, and the service goes on', async (t) => {
  const { service, token, reportPath, stored, report } = await hostCommit(t)
  const Authorization = `Bearer ${token}`
  const unfinished = [
    requestHead('POST', reportPath, { Authorization, 'Content-Length': '19' }) + '{"state":"success"',
    requestHead('POST', reportPath, { Authorization, 'Transfer-Encoding': 'chunked' }) +
      '13\r\n{"state":"success"}\r\n',
    requestHead('POST', reportPath, { Authorization, 'Content-Length': '20000' }) + '{',
    `POST ${reportPath} HTTP/1.1\r\nHost: localhost\r\nAuthor`,
  ]
  for (const bytes of unfinished) {
    for (const leave of ['reset', 'end'] as const) {
      const socket = await RawSocket.open(t, service.url)
      await socket.send(bytes)
      await service.call('GET', '/healthz')
      socket[leave]()
    }
  }
  t.equal((await service.call('GET', '/healthz')).status, 200)
  t.strictSame(await stored(), [])
  t.equal((await report({ state: 'success' })).status, 201)
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 50),
    [],
    'no error is logged: it is none of ours',
  )
})

t.test('A broken chunk gives 400 with the error body, and saves nothing', async (t) => {
  const { service, token, reportPath, stored } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  await socket.send(
    requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Transfer-Encoding': 'chunked' }),
  )
  await service.call('GET', '/healthz')
  await socket.send('zz\r\n{"state":"success"}\r\n0\r\n\r\n')
  refused(t, await socket.answer(), 400, 'malformed HTTP request')
  t.equal(await socket.ended(), '')
  t.strictSame(await stored(), [])
})

t.test('A list has no request body: one that is sent is not looked at', async (t) => {
  const { service, listPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  for (let repeat = 0; repeat < 2; repeat++) {
    await socket.send(requestHead('GET', listPath, { 'Content-Length': '30000' }), 'x'.repeat(30_000))
    t.match(await socket.answer(), { status: 200, body: { state: null, statuses: [] } })
  }
})
