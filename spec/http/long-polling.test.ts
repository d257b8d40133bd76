import { rm } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { openAdministration } from '../../lib/embedding/open-administration.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { readSettings, type Settings } from '../../lib/stand-alone/settings.js'
import { embed, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { startService, type Answer } from '../fixtures/service.js'
import { until } from '../fixtures/within.js'

const defaults = readSettings({ environment: {}, home: '/', directory: '/' })

// Most of the time is waiting.
t.jobs = 5
/** A new one each time: tap writes the test's own state into it. */
const atOnce = () => ({ buffered: true })

interface Scene extends HostedCommit {
  /** Asks for the list, and waits while it is the one that has this entity tag. */
  wait(etag: string, more?: { seconds?: number; token?: string }): Promise<Answer>
  verdict(query: string, seconds?: number): Promise<Answer>
  etag(): Promise<string>
  /** Resolves once so many wait. */
  waiting(count: number): Promise<void>
}

async function scene(
  t: Test,
  limits: Partial<Settings['limits']> = {},
  more: { private?: boolean; clock?: { now: () => number } } = {},
): Promise<Scene> {
  const settings = { metrics: 'main', limits: { ...defaults.limits, ...limits } }
  const hosted = await hostCommit(t, { settings, ...more })
  const { service, listPath, token } = hosted
  const get = async (path: string, headers: Record<string, string>, as = token) =>
    await service.call('GET', path, { token: as, headers })
  return {
    ...hosted,
    wait: async (etag, { seconds = 30, token: as } = {}) =>
      await get(listPath, { 'If-None-Match': etag, Prefer: `wait=${seconds}` }, as),
    verdict: async (query, seconds = 30) =>
      await get(`${listPath.replace(/statuses$/, 'verdict')}${query}`, { Prefer: `respond-async, Wait="${seconds}"` }),
    etag: async () => (await hosted.list()).headers.get('etag') ?? '',
    waiting: async (count) => {
      await until(async () => {
        const text = await (await fetch(`${service.url}/metrics`)).text()
        return text.includes(`\ncommit_status_waits ${count}\n`)
      })
    },
  }
}

t.test('A list is answered when it changes', atOnce(), async (t) => {
  const { wait, etag, waiting, report } = await scene(t)
  const waited = wait(await etag())
  await waiting(1)
  const { body } = await report({ state: 'success' })
  const answer = await waited
  t.match(answer, { status: 200, body: { statuses: [body] } })
  t.equal(answer.headers.get('preference-applied'), 'wait=30')
  t.equal((await wait('"another"')).status, 200, 'one that is another already, at once')
  await waiting(0)
})

t.test('Nothing changes: 304 after the time that was preferred, or allowed, at the latest', atOnce(), async (t) => {
  const { wait, etag, report } = await scene(t, { waitSeconds: 1 })
  await report({ state: 'success' })
  for (const seconds of [1, 1000]) {
    const begun = performance.now()
    const answer = await wait(await etag(), { seconds })
    t.strictSame([answer.status, answer.text, answer.headers.get('preference-applied')], [304, '', 'wait=1'])
    t.ok(performance.now() - begun >= 990)
  }
})

for (const limits of [{ waitSeconds: 0 }, { waits: 0 }]) {
  t.test(`With ${JSON.stringify(limits)} nobody waits`, atOnce(), async (t) => {
    const { wait, etag, verdict } = await scene(t, limits)
    const answer = await wait(await etag())
    t.strictSame([answer.status, answer.headers.get('preference-applied')], [304, null])
    t.equal((await verdict('')).headers.get('preference-applied'), null)
  })
}

t.test('Without the preference, or an entity tag: at once', atOnce(), async (t) => {
  const { service, listPath, token, etag } = await scene(t)
  for (const [Prefer, tag] of [
    ['wait=30', undefined],
    ['wait=0', await etag()],
    ['wait=soon', await etag()],
    ['await=30', await etag()],
    ['wait', await etag()],
  ] as const) {
    const headers = { Prefer, ...(tag !== undefined && { 'If-None-Match': tag }) }
    const answer = await service.call('GET', listPath, { token, headers })
    t.equal(answer.status, tag === undefined ? 200 : 304, Prefer)
    t.equal(answer.headers.get('preference-applied'), null)
  }
  const wrong = listPath.replace(/commits\/\w+/, 'commits/abc')
  t.equal((await service.call('GET', wrong, { token, headers: { Prefer: 'wait=30' } })).status, 422)
})

t.test('A verdict is answered once it is no longer pending', atOnce(), async (t) => {
  const { verdict, waiting, report } = await scene(t)
  const waited = verdict('?require=build')
  await waiting(1)
  await report({ state: 'success', context: 'other' })
  await report({ state: 'pending', context: 'build' })
  await waiting(1)
  await report({ state: 'failure', context: 'build' })
  const answer = await waited
  t.match(answer, { status: 200, body: { verdict: 'failure' } })
  t.equal(answer.headers.get('preference-applied'), 'wait=30')
  t.match(await verdict('?require=none', 1), { status: 200, body: { verdict: 'pending' } }, 'in time it has not come')
})

t.test('A verdict is answered when what is pending has been so for too long', atOnce(), async (t) => {
  const { verdict, report } = await scene(t)
  await report({ state: 'pending', context: 'build' })
  const begun = performance.now()
  t.match(await verdict('?stale=1s'), { status: 200, body: { verdict: 'failure' } })
  t.ok(performance.now() - begun < 20_000)
})

t.test(
  'Rights are looked at again: a token that is revoked gets 401, a repository that is gone 404',
  atOnce(),
  async (t) => {
    const { wait, etag, waiting, service, report, directory } = await scene(t, {}, { private: true })
    const { token, id } = await service.admin.createToken({
      user: 'alice',
      name: '',
      scopes: ['repo'],
      expiresAt: null,
    })
    const revoked = wait(await etag(), { token })
    await waiting(1)
    await service.admin.revokeToken(id)
    await report({ state: 'success' })
    t.equal((await revoked).status, 401)
    await service.admin.grantAccess('alice/hello', 'bob', 'read')
    const refused = wait(await etag(), { token: await service.tokenOf('bob') })
    await waiting(1)
    await service.admin.revokeAccess('alice/hello', 'bob')
    await report({ state: 'pending' })
    t.equal((await refused).status, 404)
    const gone = wait(await etag(), { seconds: 2 })
    await waiting(1)
    await rm(directory, { recursive: true })
    t.equal((await gone).status, 404)
  },
)

t.test('What an admin removes, moves and deletes is a change too', atOnce(), async (t) => {
  const { wait, etag, waiting, service, report, sha } = await scene(t)
  const changes = [
    async () => await service.admin.deleteStatuses('alice/hello', sha, null),
    async () => await service.admin.renameRepository('alice/hello', 'alice/other'),
    async () => await service.admin.renameRepository('alice/other', 'alice/hello'),
    async () => await service.admin.deleteRepository('alice/hello'),
  ]
  for (const change of changes) {
    if ((await service.list('alice/hello', sha)).body['state'] === null && change !== changes[2])
      await report({ state: 'success' })
    const waited = wait(await etag())
    await waiting(1)
    await change()
    t.match(await waited, { status: 200 })
  }
})

t.test(
  'Waits do not count as requests in progress, and those above their limit are answered at once',
  atOnce(),
  async (t) => {
    const { wait, etag, waiting, report, list } = await scene(t, { requests: 1, waits: 5 })
    const tag = await etag()
    const waited: Promise<Answer>[] = []
    for (let count = 1; count <= 5; count++) {
      waited.push(wait(tag))
      await waiting(count)
      // Until its first look has ended: that is a request like any other.
      while ((await list()).status === 503);
    }
    t.equal((await wait(tag)).status, 304)
    t.equal((await list()).status, 200)
    await report({ state: 'success' })
    t.strictSame(
      (await Promise.all(waited)).map(({ status }) => status),
      [200, 200, 200, 200, 200],
    )
  },
)

t.test('At a stop those who wait are answered with what is there', atOnce(), async (t) => {
  const { wait, etag, waiting, verdict, service } = await scene(t, { closeSeconds: 30 })
  const waited = [wait(await etag()), verdict('?require=build')]
  await waiting(2)
  const begun = performance.now()
  await service.close()
  t.strictSame(
    (await Promise.all(waited)).map(({ status }) => status),
    [304, 200],
  )
  t.ok(performance.now() - begun < 20_000, 'not cut off at the end of the grace period')
})

t.test('A host that closes the service ends its waits', atOnce(), async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  let heard: (() => void) | undefined
  const begun = new Promise<void>((resolve) => (heard = resolve))
  const base = await listen(t, (request, response) => {
    service.handler(request, response)
    setTimeout(() => heard?.(), 200)
  })
  const waited = fetch(`${base}/api/v1/repos/alice/hello/commits/${sha}/verdict`, { headers: { Prefer: 'wait=30' } })
  await begun
  await service.close()
  t.match(await (await waited).json(), { verdict: 'pending' })
})

t.test('A client that goes away waits no longer', atOnce(), async (t) => {
  const { service, listPath, token, etag, waiting } = await scene(t)
  const headers = { Authorization: `Bearer ${token}`, Prefer: 'wait=30', 'If-None-Match': await etag() }
  for (const leave of ['reset', 'end'] as const) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(requestHead('GET', listPath, headers))
    await waiting(1)
    socket[leave]()
    await waiting(0)
    // Whoever has closed the sending side alone is still there.
    if (leave === 'end') t.match(await socket.answer(), { status: 304 })
  }
  const begun = performance.now()
  const socket = await RawSocket.open(t, service.url)
  await socket.send(requestHead('GET', listPath, headers), requestHead('GET', listPath, headers))
  socket.end()
  for (const _ of [1, 2]) t.match(await socket.answer(), { status: 304 })
  t.ok(performance.now() - begun < 20_000, 'also one that did so before its turn')
})

t.test(
  'The time-outs of a connection do not cut off who waits; what comes after is answered behind it',
  atOnce(),
  async (t) => {
    const { service, listPath, etag, waiting, report } = await scene(t, {
      keepAliveSeconds: 1,
      responseSeconds: 1,
      headersSeconds: 1,
      requestSeconds: 1,
    })
    const socket = await RawSocket.open(t, service.url)
    const headers = { 'If-None-Match': await etag(), Prefer: 'wait=30' }
    await socket.send(
      requestHead('GET', '/healthz'),
      requestHead('GET', listPath, headers),
      requestHead('GET', '/healthz'),
    )
    t.match(await socket.answer(), { status: 200, body: { status: 'ok' } })
    await waiting(1)
    const begun = performance.now()
    await until(() => performance.now() - begun > 3000)
    await waiting(1)
    await report({ state: 'success' })
    t.match((await socket.answer()).body, { state: 'success' })
    t.match(await socket.answer(), { status: 200, body: { status: 'ok' } })
    t.equal(await socket.ended(), '', 'then it is idle, and closed in its time')
  },
)

t.test('A body that does not arrive ends a wait as any other request', atOnce(), async (t) => {
  const { service, listPath, etag, waiting } = await scene(t, { headersSeconds: 1, requestSeconds: 1 })
  const socket = await RawSocket.open(t, service.url)
  const headers = { 'If-None-Match': await etag(), Prefer: 'wait=30', 'Content-Length': '10' }
  await socket.send(requestHead('GET', listPath, headers))
  t.equal((await socket.answer()).status, 408)
  t.equal(await socket.ended(), '')
  await waiting(0)
})

t.test('A thousand waits that one report ends are all answered', atOnce(), async (t) => {
  const { wait, etag, waiting, report, list } = await scene(t, { requests: 100 })
  const tag = await etag()
  const waited: Promise<Answer>[] = []
  for (let count = 0; count < 1000; count += 10) {
    waited.push(...Array.from({ length: 10 }, async () => await wait(tag)))
    await waiting(count + 10)
    // Until there is room for the first looks of the next ones: those are requests like any other.
    const seen = async () => (await Promise.all(Array.from({ length: 20 }, list))).map(({ status }) => status)
    while ((await seen()).includes(503));
  }
  await report({ state: 'success' })
  t.strictSame(new Set((await Promise.all(waited)).map(({ status }) => status)), new Set([200]))
})

t.test('A report through another instance is seen within a second', { skip: isMissing, ...atOnce() }, async (t) => {
  const server = await PostgresServer.start(t)
  const store = await server.database()
  const one = await startService(t, { settings: { store } })
  const { sha } = await makeRepositoryWithCommit(one.repositories, 'alice/hello', { public: true })
  const other = await embed(t, { store, repositories: one.repositories })
  const path = `/api/v1/repos/alice/hello/commits/${sha}/statuses`
  const took: number[] = []
  const states = ['failure', 'pending', 'success'] as const
  // As often as a busy machine needs.
  for (const state of [...states, ...states, ...states]) {
    if (took.length >= states.length && Math.min(...took) < 1500) break
    const tag = (await one.list('alice/hello', sha)).headers.get('etag') ?? ''
    const waited = one.call('GET', path, { headers: { 'If-None-Match': tag, Prefer: 'wait=30' } })
    const begun = performance.now()
    await until(() => performance.now() - begun > 1500)
    await other.service.report('alice/hello', sha, { state })
    const reported = performance.now()
    t.match(await waited, { status: 200, body: { state } })
    took.push(performance.now() - reported)
  }
  t.ok(Math.min(...took) < 1500, took.join())
  const opened = await openAdministration(
    { repositories: one.repositories, topOwner: 'git', store, tokenPrefix: 'cst', limits: { tokens: 100 } },
    { auditLogger: silentLogger },
  )
  const etag = (await one.list('alice/hello', sha)).headers.get('etag') ?? ''
  const again = one.call('GET', path, { headers: { 'If-None-Match': etag, Prefer: 'wait=30' } })
  await opened.administration.deleteStatuses('alice/hello', sha, null)
  t.match(await again, { status: 200, body: { state: null } })
  await opened.close()
})
