import t, { type Test } from 'tap'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'
import type { Answer } from '../fixtures/service.js'

const success = { state: 'success' }

t.test('An unknown path gives 404 with the error body', async (t) => {
  const { service, token, repository, sha, reportPath, listPath } = await hostCommit(t, { settings: { pages: 'off' } })
  const paths = [
    '/',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/api/v2',
    '/api/v1/repos',
    `/api/v1/repos/${repository}`,
    `${reportPath}/`,
    `${listPath}/`,
    `${listPath}/x`,
    reportPath.toUpperCase(),
    `/${listPath}`,
    listPath.replace('/commits', '//commits'),
    listPath.replace('alice', ''),
    `/api/v1/repos/${repository}/commits/${sha}`,
    `/api/v1/repos/alice%2Fhello/commits/${sha}/statuses`,
    listPath.replace('/api', '/%61pi'),
    '/healthz/',
    '/Healthz',
    '/settings/tokens',
    '/favicon.ico',
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
      refused(t, await service.call(method, path, { token }), 404, 'not found', `${method} ${path}`)
  }
})

t.test('A known path with another method gives 405 with Allow', async (t) => {
  const { service, token, reportPath, listPath, stored } = await hostCommit(t)
  const known = [
    [reportPath, 'POST', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
    [listPath, 'GET, HEAD', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
    ['/healthz', 'GET, HEAD', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']],
  ] as const
  for (const [path, allow, others] of known) {
    for (const method of others) {
      const answer = await service.call(method, path, { token })
      if (method === 'HEAD') t.strictSame([answer.status, answer.text], [405, ''], `HEAD ${path}`)
      else refused(t, answer, 405, 'method not allowed', `${method} ${path}`)
      t.equal(answer.headers.get('allow'), allow)
    }
    const socket = await RawSocket.open(t, service.url)
    await socket.send(requestHead('TRACE', path))
    refused(t, await socket.answer(), 405, 'method not allowed', `TRACE ${path}`)
  }
  t.strictSame(await stored(), [])
})

t.test('HEAD is answered as GET, without the body', async (t) => {
  const { service, token, report, listPath } = await hostCommit(t)
  await report(success)
  // fetch closes the connection after a HEAD.
  const variable = new Set(['date', 'x-request-id', 'connection', 'keep-alive'])
  const comparable = ({ status, headers }: Answer) => [status, ...[...headers].filter(([name]) => !variable.has(name))]
  for (const path of [listPath, '/healthz', '/nowhere', listPath.replace('hello', 'missing'), `${listPath}?x`]) {
    const [get, head] = [await service.call('GET', path, { token }), await service.call('HEAD', path, { token })]
    t.equal(head.text, '')
    t.strictSame(comparable(head), comparable(get), path)
    t.equal(head.headers.get('content-length'), String(Buffer.byteLength(get.text)))
  }
})

t.test('Malformed percent-encoding in the path gives 400', async (t) => {
  const { service, token, sha, stored } = await hostCommit(t)
  for (const bad of ['%', '%z', '%zz', '%2', '%ff', '%c3', '%c0%af', '%ed%a0%80', 'a%']) {
    for (const path of [
      `/api/v1/repos/${bad}/hello/commits/${sha}/statuses`,
      `/api/v1/repos/alice/${bad}/commits/${sha}/statuses`,
      `/api/v1/repos/alice/hello/commits/${bad}/statuses`,
      `/${bad}`,
    ]) {
      refused(
        t,
        await service.call('GET', path, { token: 'wrong' }),
        400,
        'malformed percent-encoding in the path',
        `GET ${path}`,
      )
    }
    refused(
      t,
      await service.call('POST', `/api/v1/repos/alice/hello/statuses/${bad}`, { token, body: success }),
      400,
      'malformed percent-encoding in the path',
      `POST ${bad}`,
    )
  }
  t.strictSame(await stored(), [])
})

t.test('Well-formed percent-encoding names what it stands for', async (t) => {
  const { service, sha } = await hostCommit(t)
  t.equal(
    (
      await service.list(
        '%61lice/%68ello',
        sha.replace(/./g, (digit) => `%${digit.charCodeAt(0).toString(16)}`),
      )
    ).status,
    200,
  )
})

t.test('What is no HTTP request is refused with the error body, and the connection is closed', async (t) => {
  const { service, listPath } = await hostCommit(t)
  const start = `GET ${listPath} HTTP/1.1\r\nHost: localhost\r\n`
  const malformed = {
    'no HTTP at all': 'hello\r\n\r\n',
    TLS: Buffer.from('16030100050100000103', 'hex'),
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'an unknown method': 'BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'an unknown version': 'GET / HTTP/3.7\r\nHost: localhost\r\n\r\n',
    'bytes past ASCII in the path': Buffer.from('GET /\xe4 HTTP/1.1\r\nHost: localhost\r\n\r\n', 'latin1'),
    'a header without a colon': `${start}nonsense\r\n\r\n`,
    'a header with NUL': `${start}X: a\0b\r\n\r\n`,
    'two lengths': `${start}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    'a length and chunks': `${start}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'a negative length': `${start}Content-Length: -1\r\n\r\n`,
  }
  for (const [what, bytes] of Object.entries(malformed)) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(bytes)
    const answer = await socket.answer()
    refused(t, answer, 400, 'malformed HTTP request', what)
    isPlain(t, answer, what)
    t.equal(await socket.ended(), '', 'nothing more comes')
  }
  const socket = await RawSocket.open(t, service.url)
  await socket.send(`${start}X: ${'x'.repeat(20_000)}\r\n\r\n`)
  const answer = await socket.answer()
  refused(t, answer, 431, 'request headers too large')
  isPlain(t, answer, 'large headers')
})

t.test('HTTP/1.1 without exactly one Host is refused with the error body', async (t) => {
  const { service, listPath } = await hostCommit(t)
  for (const hosts of ['', 'Host: a\r\nHost: b\r\n']) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(`GET ${listPath} HTTP/1.1\r\n${hosts}\r\n`)
    const answer = await socket.answer()
    refused(t, answer, 400, 'malformed HTTP request', JSON.stringify(hosts))
    isPlain(t, answer, 'no Host')
  }
  const socket = await RawSocket.open(t, service.url)
  await socket.send(`GET ${listPath} HTTP/1.0\r\n\r\n`)
  t.equal((await socket.answer()).status, 200, 'HTTP/1.0 needs none')
})

t.test('An unknown expectation and an upgrade are passed over', async (t) => {
  const { service, listPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  for (const headers of [
    { Expect: 'nonsense' },
    { Connection: 'Upgrade', Upgrade: 'websocket' },
    { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c' },
  ]) {
    await socket.send(requestHead('GET', listPath, headers))
    t.match(await socket.answer(), { status: 200, body: { state: null } }, JSON.stringify(headers))
  }
})

t.test('No header is dropped for there being many', async (t) => {
  const { service, listPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  await socket.send(
    requestHead('GET', listPath, { x: Array.from({ length: 2500 }, () => ''), Authorization: 'Bearer wrong' }),
  )
  refused(t, await socket.answer(), 401, 'invalid or expired token')
})

t.test("X-Request-Id is on every answer: the request's own when it is short and plain, else a new one", async (t) => {
  const { service, listPath, reportPath } = await hostCommit(t)
  for (const id of ['a', 'build-42', 'A.b_c-9', 'x'.repeat(64)]) {
    for (const path of [listPath, reportPath, '/nowhere', '/%zz', '/healthz']) {
      t.equal(
        (await service.call('GET', path, { headers: { 'X-Request-Id': id } })).headers.get('x-request-id'),
        id,
        `${path} ${id.slice(0, 10)}`,
      )
    }
  }
  const made = new Set<unknown>()
  for (const id of ['', 'x'.repeat(65), 'a b', 'a\tb', '<script>', 'a"b', 'a,b', 'é', 'a/b', undefined]) {
    const answer = await service.call('GET', listPath, { headers: id === undefined ? {} : { 'X-Request-Id': id } })
    t.match(answer.headers.get('x-request-id'), /^[0-9a-f-]{36}$/, id ?? 'none sent')
    made.add(answer.headers.get('x-request-id'))
  }
  t.equal(made.size, 10, 'each is new')
  t.match(
    service.log.filter(({ request }) => made.has(request)),
    { length: 10 },
    'and in the log',
  )
})

t.test('Every answer is JSON that says so, with nosniff, a length and no cookie', async (t) => {
  const { service, token, repository, sha, reportPath, listPath } = await hostCommit(t)
  const answers = [
    await service.report(repository, sha, token, success),
    await service.list(repository, sha),
    await service.list(repository, 'short'),
    await service.list(repository, 'f'.repeat(40)),
    await service.report(repository, sha, token, '<script>'),
    await service.report(repository, sha, undefined, success),
    await service.report(repository, sha, token, 'x'.repeat(20_000)),
    await service.call('PUT', reportPath),
    await service.call('GET', '/<script>'),
    await service.call('GET', '/healthz'),
    await service.call('HEAD', listPath),
  ]
  t.strictSame(
    answers.map(({ status }) => status),
    [201, 200, 422, 404, 400, 401, 413, 405, 404, 200, 200],
  )
  for (const answer of answers) {
    isPlain(t, answer, String(answer.status))
    t.equal(answer.headers.get('set-cookie'), null)
    t.equal(answer.headers.get('access-control-allow-origin'), null, 'no other site is let in')
    if (answer.text !== '') t.equal(answer.headers.get('content-length'), String(Buffer.byteLength(answer.text)))
  }
})

t.test('GET /healthz answers 200 {"status":"ok"}, without a token', async (t) => {
  const { service } = await hostCommit(t)
  const answer = await service.call('GET', '/healthz')
  t.strictSame([answer.status, answer.text], [200, '{"status":"ok"}\n'])
})

t.test('Requests on one connection are answered in their order', async (t) => {
  const { service, token, reportPath, listPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  const body = JSON.stringify(success)
  const Authorization = `Bearer ${token}`
  await socket.send(
    requestHead('POST', reportPath, { Authorization, 'Content-Length': String(body.length) }) +
      body +
      requestHead('GET', listPath) +
      requestHead('GET', '/nowhere') +
      requestHead('GET', '/healthz'),
  )
  const statuses = []
  for (let answer = 1; answer <= 4; answer++) statuses.push((await socket.answer()).status)
  t.strictSame(statuses, [201, 200, 404, 200])
})

function isPlain(t: Test, answer: Answer, name: string): void {
  t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', `${name}: type`)
  t.equal(answer.headers.get('x-content-type-options'), 'nosniff', `${name}: nosniff`)
  t.match(answer.headers.get('x-request-id'), /^[\w.-]{1,64}$/, `${name}: request id`)
}
