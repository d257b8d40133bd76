import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter, once } from 'node:events'
import { renameSync } from 'node:fs'
import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCommitStatusService, type CommitStatusService, type StatusEvent } from '../../lib/index.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { git, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { JournalStore } from '../fixtures/journal-store.js'

const odd = [undefined, null, 7, '', {}, Symbol('odd')]

t.test('Values of the wrong type are refused in words, and give nobody a right', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  await service.administration.grantAccess('alice', 'null', 'write')
  for (const value of odd as string[]) {
    t.equal(await service.access('alice', value), 'none')
    await t.rejects(service.list(value, sha), { code: 'repository_not_found' })
    await t.rejects(service.list('alice/hello', value), { code: 'sha_invalid' })
    await t.rejects(service.report('alice/hello', sha, value as never), { code: 'invalid_body' })
    await t.rejects(service.deleteRepository(value), { name: 'TypeError', message: /is no repository name/ })
    t.equal(await service.authenticate(value), undefined)
    if ((value as unknown) === undefined) continue
    await t.rejects(service.access(value, 'alice/hello'), { name: 'TypeError', message: /the user must be/ })
    await t.rejects(service.report('alice/hello', sha, { state: 'success' }, value), {
      name: 'TypeError',
      message: /the user must be/,
    })
  }
  t.strictSame((await service.list('alice/hello', sha)).statuses, [])
})

t.test('on takes the event status and a function, and returns what takes the listener off', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  t.throws(() => service.on('bogus' as 'status', () => undefined), { name: 'TypeError' })
  t.throws(() => service.on('status', 5 as never), { name: 'TypeError' })
  let told = 0
  const off = service.on('status', () => told++)
  await service.report('alice/hello', sha, { state: 'success' })
  off()
  await service.report('alice/hello', sha, { state: 'success' })
  t.equal(told, 1)
})

t.test(
  'A listener that adds itself is told once of each report; one that changes what it is told changes it for nobody',
  async (t) => {
    const { service, repositories } = await embed(t)
    const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
    let calls = 0
    const again = () => {
      calls++
      if (calls < 100) service.on('status', again)
    }
    service.on('status', again)
    service.on('status', (event) => Object.assign(event, { repository: 'evil' }))
    service.on('status', ({ status }) => Object.assign(status, { state: 'evil' }))
    const events: StatusEvent[] = []
    service.on('status', (event) => events.push(event))
    t.equal((await service.report('alice/hello', sha, { state: 'success' })).state, 'success')
    t.equal(calls, 1)
    t.match(events, [{ repository: 'alice/hello', status: { state: 'success' } }])
  },
)

t.test('close does not wait for a report whose body never comes, and answers it 503', async (t) => {
  const { service, repositories, tokenOf } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const url = await listen(t, (incoming, response) => service.handler(incoming, response))
  const authorization = `Bearer ${await tokenOf('alice')}`
  const slow = request(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
    method: 'POST',
    headers: { authorization, 'Content-Length': 30 },
  })
  slow.write('{"state"')
  const answer = once(slow, 'response') as Promise<[{ statusCode: number; resume(): void }]>
  // Under way once a quick report that was sent after it is saved.
  await fetchJson(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
    method: 'POST',
    headers: { authorization },
    body: { state: 'success' },
  })
  await service.close()
  const [{ statusCode }] = await answer
  t.equal(statusCode, 503)
  slow.destroy()
  for (const path of ['/api/v1/nothing', '/api/v1/repos/alice/hello/statuses/x']) {
    t.equal((await fetchJson(url + path, { token: 'malformed' })).status, 503, path)
  }
})

t.test(
  'After a rename a new repository under the old name shows nothing of the moved one, packed or not',
  async (t) => {
    const { service, repositories } = await embed(t)
    const { directory, sha } = await makeRepositoryWithCommit(repositories, 'alice/a')
    await git('-C', directory, 'repack', '-adq')
    await service.report('alice/a', sha, { state: 'failure' })
    renameSync(directory, join(repositories, 'alice/b.git'))
    await service.renameRepository('alice/a', 'alice/b')
    await makeRepository(repositories, 'alice/a')
    await t.rejects(service.report('alice/a', sha, { state: 'failure' }), { code: 'commit_not_found' })
    renameSync(join(repositories, 'alice/b.git'), join(repositories, 'gone'))
    await service.deleteRepository('alice/b')
    await makeRepository(repositories, 'alice/b')
    await t.rejects(service.list('alice/b', sha), { code: 'commit_not_found' })
  },
)

t.test('A rename of a repository to its own name is nothing', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/a')
  const reports = Array.from({ length: 5 }, async () => await service.report('alice/a', sha, { state: 'success' }))
  await service.renameRepository('alice/a', 'alice/a')
  t.equal((await Promise.all(reports)).length, 5)
})

t.test('Members of authFailures that are undefined have the defaults', async (t) => {
  const options = { limit: undefined, windowSeconds: undefined } as unknown as { limit: number }
  const { service } = await embed(t, { authFailures: options })
  for (let failure = 0; failure < 20; failure++) t.equal(await service.authFailures.recordFailure('10.0.0.1'), 0)
  t.equal(await service.authFailures.retryAfter('10.0.0.1'), 600)
})

t.test('A store of the host that does not tell grants is 503 for the owner, never 404', async (t) => {
  for (const of of [
    async () => await new Promise<never>(() => undefined),
    async () => await Promise.reject(new Error('away')),
  ]) {
    const store = new JournalStore(`${t.testdir({})}/journal`)
    Object.assign(store.grants, { of })
    const { service, repositories } = await embed(t, { store }, { partMilliseconds: 50 })
    const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
    await t.rejects(service.report('alice/hello', sha, { state: 'success' }, 'alice'), {
      code: 'store_unavailable',
      status: 503,
    })
  }
})

t.test('A request that is not as node:http makes it is answered 500, never thrown into the host', async (t) => {
  const { service } = await embed(t)
  const url = await listen(t, (incoming, response) => {
    Object.defineProperty(incoming, 'params', { get: () => ({}) })
    service.handler(incoming, response)
  })
  t.strictSame((await fetchJson(`${url}/api/v1/nothing`)).body, { error: 'internal error' })
})

t.test('A target in absolute form is accepted (RFC 9112, 3.2.2)', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  const url = new URL(
    await listen(t, (incoming, response) => {
      service.handler(incoming, response, () => response.end('{"host":true}'))
    }),
  )
  const get = async (path: string) => {
    const [response] = (await once(request({ host: url.hostname, port: url.port, path }).end(), 'response')) as [
      AsyncIterable<Buffer>,
    ]
    let text = ''
    for await (const chunk of response) text += chunk.toString()
    return text
  }
  t.equal(
    await get(`http://git.example/api/v1/repos/alice/hello/commits/${sha}/statuses`),
    '{"state":null,"statuses":[]}\n',
  )
  t.equal(await get('http://git.example/alice/hello.git'), '{"host":true}')
})

t.test(
  'A store that cannot be closed makes close reject, once for every caller, and nothing is left open',
  async (t) => {
    const store = new JournalStore(`${t.testdir({})}/journal`)
    const { repositories } = await embed(t)
    const service: CommitStatusService = await createCommitStatusService({
      repositories,
      store: Object.assign(store, { close: async () => await Promise.reject(new Error('boom')) }),
    })
    await t.rejects(service.close(), { message: 'boom' })
    await t.rejects(service.close(), { message: 'boom' })
  },
)

t.test('A request or response that is broken is no crash, and costs no other request its answer', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  const broken: (readonly [what: string, break_: (incoming: IncomingMessage, response: ServerResponse) => void])[] = [
    ['no headers', (incoming) => Object.defineProperty(incoming, 'headers', { value: undefined })],
    [
      'no way to send',
      (_, response) => Object.assign(response, { writeHead: thrown('writeHead'), destroy: thrown('destroy') }),
    ],
  ]
  for (const [what, break_] of broken) {
    const [requests, url] = await arrivedTogether(t, 12)
    const uncaught: unknown[] = []
    const note = (error: unknown): void => void uncaught.push(error)
    process.on('uncaughtException', note)
    const sockets: Socket[] = []
    const answers = Array.from({ length: 12 }, async (_, index) => {
      const response = fetch(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`, {
        headers: { 'x-request-id': String(index) },
      })
      return await response.then(({ status }) => status).catch(() => 0)
    })
    for (const [incoming, response] of await requests) {
      sockets.push(incoming.socket)
      if (incoming.headers['x-request-id'] === '3') break_(incoming, response)
      service.handler(incoming, response)
    }
    const others = answers.filter((_, index) => index !== 3)
    t.strictSame(
      await Promise.all(others),
      Array.from({ length: 11 }, () => 200),
      what,
    )
    for (const socket of sockets) socket.destroy()
    process.off('uncaughtException', note)
    t.strictSame(uncaught, [], what)
  }
})

t.test('Each answer is sent and logged in the AsyncLocalStorage of its own request', async (t) => {
  const current = new AsyncLocalStorage<string>()
  const logged: (readonly [path: unknown, within: string | undefined])[] = []
  const line = (facts: object): void => {
    if ('path' in facts) logged.push([facts.path, current.getStore()])
  }
  const logger = { debug: line, info: line, warn: line, error: line }
  const { service } = await embed(t, { logger })
  const [requests, url] = await arrivedTogether(t, 8)
  const paths = Array.from({ length: 8 }, (_, index) => `/api/v1/nothing-${index}`)
  const answers = paths.map(async (path) => await fetch(url + path))
  const sent: (readonly [path: unknown, within: string | undefined])[] = []
  for (const [incoming, response] of await requests) {
    const path = String(incoming.url)
    response.on('finish', () => sent.push([path, current.getStore()]))
    current.run(path, () => {
      service.handler(incoming, response)
    })
  }
  await Promise.all(answers)
  const own = paths.map((path) => [path, path]).sort()
  t.strictSame([[...logged].sort(), [...sent].sort()], [own, own])
})

/** A server that hands over so many requests in one turn of the event loop, once all of them have arrived. */
async function arrivedTogether(
  t: Test,
  count: number,
): Promise<[requests: Promise<(readonly [IncomingMessage, ServerResponse])[]>, url: string]> {
  const arrived: (readonly [IncomingMessage, ServerResponse])[] = []
  const whole = new EventEmitter()
  const requests = once(whole, 'arrived').then(() => arrived)
  const url = await listen(t, (...pair) => {
    if (arrived.push(pair) === count) whole.emit('arrived')
  })
  return [requests, url]
}

function thrown(what: string): () => never {
  return () => {
    throw new Error(`${what} is broken`)
  }
}
