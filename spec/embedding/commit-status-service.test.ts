import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import { StoreUnavailable } from '../../lib/errors.js'
import { createCommitStatusService, type CommitStatusOptions, type CommitStatusService } from '../../lib/index.js'
import type { Logger } from '../../lib/contracts/logger.js'
import { CountingTokens } from '../fixtures/counting-tokens.js'
import { newToken } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

/** What is told of a store that is away, and of a service that is closed. */
const UNAVAILABLE = /^(the store cannot be used at the moment|shutting down)$/

/** Options of a service with folders of its own. */
function optionsOf(t: Test): CommitStatusOptions & { repositories: string; store: string } {
  const folder = t.testdir({ repositories: {} })
  return { repositories: join(folder, 'repositories'), store: `level:${join(folder, 'store')}` }
}

/** A host's own server; resolves to its address. */
async function listen(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function start(t: Test, options: CommitStatusOptions): Promise<CommitStatusService> {
  const service = await createCommitStatusService(options)
  t.teardown(async () => await service.close())
  return service
}

async function report(
  url: string,
  repository: string,
  sha: string,
  token: string,
  body: object,
): Promise<{ status: number; retryAfter: string | null; body: unknown }> {
  const answer = await fetch(`${url}/api/v1/repos/${repository}/statuses/${sha}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: await answer.json() }
}

t.test('With next, the handler answers what is under /api/v1/ and calls next for the rest', async (t) => {
  const options = optionsOf(t)
  const { sha } = await makeRepositoryWithCommit(options.repositories, 'alice/hello', { public: true })
  const service = await start(t, options)
  const url = await listen(t, (request, response) => {
    service.handler(request, response, () => response.end(`the host: ${request.method ?? ''} ${request.url ?? ''}`))
  })
  const get = async (path: string) => await (await fetch(url + path)).text()
  t.equal(await get(`/api/v1/repos/alice/hello/commits/${sha}/statuses`), '{"state":null,"statuses":[]}\n')
  for (const path of ['/api/v1', '/api/v1/', '/api/v1/nowhere', '/api/v1?x'])
    t.equal(await get(path), '{"error":"not found"}\n', path)
  for (const path of [
    '/',
    '/healthz',
    '/api',
    '/api/v10/x',
    '/api/v2',
    '/alice/hello.git/info/refs?service=git-upload-pack',
    '/%zz',
  ])
    t.equal(await get(path), `the host: GET ${path}`)
})

t.test('Without next, the handler answers everything, /healthz included', async (t) => {
  const service = await start(t, optionsOf(t))
  const url = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  t.equal(await (await fetch(`${url}/healthz`)).text(), '{"status":"ok"}\n')
  t.equal(await (await fetch(`${url}/`)).text(), '{"error":"not found"}\n')
})

t.test('Options carry the names of the settings; those left out have the defaults', async (t) => {
  const options = optionsOf(t)
  const { sha } = await makeRepositoryWithCommit(options.repositories, 'alice/hello')
  const service = await start(t, {
    ...options,
    tokenPrefix: 'acme',
    authFailures: { limit: 1 },
    clock: { now: () => 0 },
  })
  const url = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  const token = await newToken(service, 'alice')
  t.match(token, /^acme_/)
  t.match(await report(url, 'alice/hello', sha, token, { state: 'success' }), {
    status: 201,
    body: { created_at: '1970-01-01T00:00:00.000Z' },
  })
  t.equal((await report(url, 'alice/hello', sha, 'wrong', {})).status, 401)
  t.match(await report(url, 'alice/hello', sha, token, {}), { status: 429, retryAfter: '600' })
})

t.test('What cannot be put together is refused, and no store is left open', async (t) => {
  const options = optionsOf(t)
  const folder = options.store.slice('level:'.length)
  const missing = join(folder, 'missing')
  await t.rejects(createCommitStatusService({ ...options, repositories: missing }), {
    message: new RegExp(`the repositories folder ${missing} does not exist`),
  })
  await t.rejects(createCommitStatusService({ ...options, repositories: import.meta.filename }), {
    message: /does not exist/,
  })
  await t.rejects(createCommitStatusService({ ...options, store: 'mysql://localhost' }), {
    name: 'TypeError',
    message: /option store/,
  })
  t.notOk(existsSync(folder), 'no store was made')
  await t.rejects(createCommitStatusService({ ...options, trustedProxies: ['nonsense'] }), {
    name: 'TypeError',
    message: /option trustedProxies/,
  })
  const service = await start(t, options)
  t.ok(existsSync(folder))
  await t.rejects(createCommitStatusService(options), {
    name: 'StoreLocked',
    message: `the store ${folder} is in use by another process`,
  })
  t.equal(service.unavailableReason(), undefined, 'the one that has it goes on')
})

t.test(
  'close finishes what was accepted, then closes the store: what was answered 201 is there, the rest is answered 503',
  async (t) => {
    const options = optionsOf(t)
    const { sha } = await makeRepositoryWithCommit(options.repositories, 'alice/hello', { public: true })
    const service = await createCommitStatusService(options)
    const closed: Promise<void>[] = []
    let requests = 0
    const url = await listen(t, (request, response) => {
      service.handler(request, response)
      if (++requests === 15) closed.push(service.close())
    })
    const token = await newToken(service, 'alice')
    const answers = await Promise.all(
      [...Array(30).keys()].map(
        async (index) => await report(url, 'alice/hello', sha, token, { state: 'success', context: `check ${index}` }),
      ),
    )
    await Promise.all(closed)
    const saved = answers.flatMap(({ status }, index) => (status === 201 ? [`check ${index}`] : [])).sort()
    for (const answer of answers.filter(({ status }) => status !== 201)) isUnavailable(t, answer)
    isUnavailable(t, await report(url, 'alice/hello', sha, token, { state: 'failure' }))
    const listed = await fetch(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`)
    t.strictSame([listed.status, await listed.json()], [503, { error: 'shutting down' }], 'a read too')
    const again = await start(t, options)
    const { statuses: kept } = await again.list('alice/hello', sha)
    t.strictSame(
      kept.map(({ context }) => context),
      saved,
    )
  },
)

t.test('What 429 stops is decided before the token is looked up', async (t) => {
  const options = optionsOf(t)
  const store = await openStore(options.store)
  const tokens = new CountingTokens(store.tokens)
  const service = await start(t, { ...options, store: Object.assign(store, { tokens }), authFailures: { limit: 1 } })
  const url = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  const token = await newToken(service, 'alice')
  t.equal((await report(url, 'alice/missing', 'x', token, {})).status, 404)
  const before = tokens.calls.get
  t.ok(before > 0)
  t.equal((await report(url, 'alice/missing', 'x', 'wrong', {})).status, 401)
  t.equal((await report(url, 'alice/missing', 'x', token, {})).status, 429)
  t.equal(tokens.calls.get, before)
})

t.test('A right that the store cannot tell at the moment gives 503, for a missing repository too', async (t) => {
  const options = optionsOf(t)
  const { sha } = await makeRepositoryWithCommit(options.repositories, 'alice/hello')
  const store = await openStore(options.store)
  const service = await start(t, { ...options, store })
  const url = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  const token = await newToken(service, 'alice')
  t.equal((await report(url, 'alice/hello', sha, token, { state: 'success' })).status, 201)
  Object.assign(store.grants, { of: async () => await Promise.reject(new StoreUnavailable('the disk is away')) })
  for (const name of ['alice/hello', 'alice/missing', 'bob/missing'])
    isUnavailable(t, await report(url, name, sha, token, { state: 'success' }))
})

t.test('GET /healthz answers 503 with the reason when the store does not accept writes', async (t) => {
  const options = optionsOf(t)
  const store = await openStore(options.store)
  const service = await start(t, { ...options, store })
  const url = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  await store.close()
  t.equal(service.unavailableReason(), 'the store is closed')
  const answer = await fetch(`${url}/healthz`)
  t.strictSame([answer.status, await answer.json()], [503, { status: 'the store is closed' }])
})

t.test(
  'The handler never ends the process: an answer that cannot be sent is logged, and the connection cut',
  async (t) => {
    const log: object[] = []
    const note = (facts: object, message: string) => void log.push({ ...facts, message })
    const logger: Logger = { debug: note, info: note, warn: note, error: note }
    const service = await start(t, { ...optionsOf(t), logger })
    const url = await listen(t, (request, response) => {
      // A mistake of the host: it has answered already.
      if (request.url === '/api/v1/twice') response.writeHead(200).write('the host')
      service.handler(request, response)
    })
    await t.rejects(fetch(`${url}/api/v1/twice`).then(async (answer) => await answer.text()))
    t.match(log, [
      { message: 'the answer could not be sent', err: { code: 'ERR_HTTP_HEADERS_SENT' } },
      { message: 'request' },
    ])
    t.equal((await fetch(`${url}/healthz`)).status, 200)
  },
)

t.test('Behind a Unix socket, all are one client', async (t) => {
  const options = optionsOf(t)
  const { sha } = await makeRepositoryWithCommit(options.repositories, 'alice/hello', { public: true })
  const service = await start(t, { ...options, authFailures: { limit: 1 } })
  const folder = mkdtempSync(join(tmpdir(), 'cst-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const socketPath = join(folder, 'socket')
  const server = createServer((incoming, response) => {
    service.handler(incoming, response)
  }).listen(socketPath)
  t.teardown(() => server.close())
  await once(server, 'listening')
  const path = `/api/v1/repos/alice/hello/commits/${sha}/statuses`
  const statuses = []
  for (const Authorization of ['Bearer wrong', `Bearer ${await newToken(service, 'alice')}`, '']) {
    const outgoing = request({
      socketPath,
      path,
      agent: false,
      headers: { ...(Authorization && { Authorization }), 'X-Forwarded-For': '203.0.113.1' },
    }).end()
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    statuses.push(incoming.resume().statusCode)
  }
  t.strictSame(statuses, [401, 429, 200])
})

function isUnavailable(t: Test, { status, retryAfter, body }: Awaited<ReturnType<typeof report>>): void {
  t.equal(status, 503)
  t.match(body, { error: UNAVAILABLE })
  t.match(retryAfter, /^[1-9]\d*$/)
}
