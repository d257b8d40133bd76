import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { embed } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

const body = '{"state":"success"}'
const Expect = '100-continue'
const LENGTH = { 'Content-Length': String(body.length) }

t.test(
  'A body that is waited with (Expect: 100-continue) is invited once the checks before it have passed, and ' +
    'is then read',
  async (t) => {
    const { service, token, reportPath, stored } = await hostCommit(t)
    for (const expectation of ['100-continue', '100-Continue']) {
      const socket = await RawSocket.open(t, service.url)
      await socket.send(
        requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, ...LENGTH, Expect: expectation }),
      )
      t.equal((await socket.answer()).status, 100)
      await socket.send(body)
      t.match(await socket.answer(), { status: 201, body: { state: 'success' } })
      await socket.send(requestHead('GET', '/healthz'))
      t.equal((await socket.answer()).status, 200, 'the connection goes on')
    }
    t.match(await stored(), { length: 1 })
  },
)

t.test('A request that is refused is refused without its body, and the connection is closed', async (t) => {
  const { service, token, reportPath, stored } = await hostCommit(t)
  const Authorization = `Bearer ${token}`
  const refusals = [
    { path: reportPath, headers: LENGTH, status: 401, message: 'authentication required' },
    {
      path: reportPath.replace('hello', 'missing'),
      headers: { Authorization, ...LENGTH },
      status: 404,
      message: 'repository not found',
    },
    { path: `${reportPath}0`, headers: { Authorization, ...LENGTH }, status: 422, message: /^sha must be/ },
    {
      path: reportPath,
      headers: { Authorization, 'Content-Length': '16385' },
      status: 413,
      message: /larger than 16384/,
    },
    { path: '/nowhere', headers: LENGTH, status: 404, message: 'not found' },
  ]
  for (const { path, headers, status, message } of refusals) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(requestHead('POST', path, { ...headers, Expect }))
    const answer = await socket.answer()
    refused(t, answer, status, message)
    t.equal(answer.headers.get('connection'), 'close', 'or nobody would know whether the body still comes')
    t.equal(await socket.ended(), '')
  }
  const socket = await RawSocket.open(t, service.url)
  await socket.send(requestHead('POST', reportPath, { ...LENGTH, Expect }), body, requestHead('GET', '/healthz'))
  refused(t, await socket.answer(), 401, 'authentication required', 'and seen by a client that does not wait')
  t.equal(await socket.ended(), '', 'what comes behind is not answered')
  t.strictSame(await stored(), [])
})

t.test('HTTP/1.0 knows no invitation', async (t) => {
  const { service, token, reportPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  await socket.send(
    requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, ...LENGTH, Expect }).replace(
      'HTTP/1.1',
      'HTTP/1.0',
    ),
    body,
  )
  t.equal((await socket.answer()).status, 201)
})

t.test(
  'Inside a host a body is invited once, by node:http or, where the host leaves it to the handler, by the handler',
  async (t) => {
    const { service, repositories, tokenOf } = await embed(t)
    const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
    const path = `/api/v1/repos/alice/hello/statuses/${sha}`
    const plain = await listening(t, createServer(service.handler))
    const leaving = await listening(t, createServer(service.handler).on('checkContinue', service.handler))
    const Authorization = `Bearer ${await tokenOf('alice')}`
    for (const url of [plain, leaving]) {
      const socket = await RawSocket.open(t, url)
      await socket.send(requestHead('POST', path, { Authorization, ...LENGTH, Expect }))
      t.equal((await socket.answer()).status, 100)
      await socket.send(body)
      t.equal((await socket.answer()).status, 201)
    }
    const socket = await RawSocket.open(t, leaving)
    await socket.send(requestHead('POST', path, { ...LENGTH, Expect }))
    refused(t, await socket.answer(), 401, 'authentication required')
  },
)

async function listening(t: Test, server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
