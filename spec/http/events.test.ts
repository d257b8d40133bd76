import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readSettings, type Settings } from '../../lib/stand-alone/settings.js'
import { EventReader } from '../fixtures/event-reader.js'
import { embed, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { nginxIsMissing, startNginx } from '../fixtures/nginx.js'
import { validatorOf } from '../fixtures/openapi-answers.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import { refused } from '../fixtures/refusal.js'
import { startService } from '../fixtures/service.js'
import { until } from '../fixtures/within.js'

const defaults = readSettings({ environment: {}, home: '/', directory: '/' })
const path = '/api/v1/repos/alice/hello/events'

// Some of it is waiting.
t.jobs = 4
/** A new one each time: tap writes the test's own state into it. */
const atOnce = () => ({ buffered: true })

interface Scene extends HostedCommit {
  follow(more?: { token?: string; lastId?: string }): Promise<EventReader>
  /** Resolves once so many wait or follow. */
  following(count: number): Promise<void>
}

async function scene(t: Test, limits: Partial<Settings['limits']> = {}, more: { private?: boolean } = {}) {
  const settings = { metrics: 'main', limits: { ...defaults.limits, ...limits } }
  const hosted = await hostCommit(t, { settings, ...more })
  const { service, token } = hosted
  return {
    ...hosted,
    follow: async (how = {}) => await EventReader.open(t, `${service.url}${path}`, { token, ...how }),
    following: async (count) => {
      await until(async () => {
        const text = await (await fetch(`${service.url}/metrics`)).text()
        return text.includes(`\ncommit_status_waits ${count}\n`)
      })
    },
  } satisfies Scene
}

t.test('Each report is an event with the status as a list has it, and the state before', atOnce(), async (t) => {
  const { follow, report, service } = await scene(t)
  await report({ state: 'failure', context: 'before' })
  const events = await follow()
  const { headers } = events.response
  t.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(headers.get('cache-control'), 'no-store')
  t.equal(headers.get('x-accel-buffering'), 'no')
  t.ok(events.retry >= 1000 && events.retry <= 5000)
  const { body: first } = await report({ state: 'pending', context: 'build', description: 'a\nb\u2028' })
  const { body: second } = await report({ state: 'success', context: 'build' })
  const [one, other] = [await events.next(), await events.next()]
  const isDescribed = validatorOf({ $ref: 'api#/components/schemas/StatusEvent' })
  t.ok(isDescribed(one?.data) && isDescribed(other?.data))
  t.strictSame(one, {
    name: 'status',
    id: one?.id,
    data: { repository: 'alice/hello', status: first, previous_state: null },
  })
  t.strictSame(other?.data, { repository: 'alice/hello', status: second, previous_state: 'pending' })
  t.not(one?.id, other?.id)
  await events.close()
  await until(() => service.log.some(({ path: logged, status }) => logged === path && status === 200))
  t.ok(Number(service.log.find(({ path: logged }) => logged === path)?.['ms']) < 10_000, 'without the time it took')
})

t.test('What is reported of another repository is none of it', atOnce(), async (t) => {
  const { follow, report, service, token } = await scene(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/other')
  const events = await follow()
  await service.report('alice/other', sha, token, { state: 'success' })
  await report({ state: 'failure' })
  t.match(await events.next(), { data: { repository: 'alice/hello' } })
})

t.test('Last-Event-ID goes on where one was; an id that is not known is a gap', atOnce(), async (t) => {
  const { follow, report, following } = await scene(t)
  const events = await follow()
  const begin = events.position
  await report({ state: 'pending' })
  const last = await events.next()
  t.equal(last?.id, events.position)
  await events.close()
  await following(0)
  await report({ state: 'failure' })
  await report({ state: 'success' })
  const again = await follow({ lastId: String(last?.id) })
  t.equal(again.position, last?.id)
  t.match(await again.next(), { data: { status: { state: 'failure' }, previous_state: 'pending' } })
  t.match(await again.next(), { data: { status: { state: 'success' } } })
  const all = await follow({ lastId: begin })
  t.match(await all.next(), { data: { status: { state: 'pending' } } })
  for (const lastId of [
    'x',
    begin.replace('.0.', '.9.'),
    // Of nobody known, and from long ago.
    begin.replace(/^./, (letter) => (letter === 'a' ? 'b' : 'a')).replace(/\d+(?=\.[^.]*$)/, '1'),
    '\u00e9',
  ]) {
    const lost = await follow({ lastId })
    // Behind the second dot is a time, which goes on where other instances may report.
    const id = new RegExp(`^${again.position.split('.').slice(0, 2).join('\\.')}\\.`)
    t.match(await lost.next(), { name: 'gap', id, data: { repository: 'alice/hello' } }, lastId)
  }
  const none = await follow({ lastId: '' })
  await report({ state: 'error' })
  t.match(await none.next(), { name: 'status', data: { status: { state: 'error' } } })
})

t.test('Checks and hiding are those of a list', atOnce(), async (t) => {
  const { service, sha, token } = await scene(t, {}, { private: true })
  const get = async (repository: string, options: { token?: string; headers?: Record<string, string> } = {}) => {
    const both = [`/api/v1/repos/${repository}/events`, `/api/v1/repos/${repository}/commits/${sha}/statuses`]
    const [events, list] = await Promise.all(both.map(async (path) => await service.call('GET', path, options)))
    t.strictSame([events?.status, events?.text], [list?.status, list?.text])
    return events?.status
  }
  const bob = await service.tokenOf('bob')
  for (const repository of ['alice/hello', 'alice/none', 'alice/.x'])
    t.strictSame([await get(repository), await get(repository, { token: bob })], [401, 404])
  t.equal(await get('alice/hello', { token: 'wrong' }), 401)
  t.equal(await get('alice/%zz', { token }), 400)
  const { token: scopeless } = await service.admin.createToken({
    ...{ user: 'alice', name: '', scopes: [], expiresAt: null },
  })
  t.equal(await get('alice/hello', { token: scopeless }), 403)
  const { token: elsewhere } = await service.admin.createToken({
    ...{ user: 'alice', name: '', scopes: ['repo'], expiresAt: null },
    repositories: ['alice/other'],
  })
  t.equal(await get('alice/hello', { token: elsewhere }), 404)
  const { status, headers } = await service.call('POST', path)
  t.strictSame([status, headers.get('allow')], [405, 'GET, HEAD'])
  refused(t, await service.call('GET', `${path}/`), 404, 'not found')
  const head = await service.call('HEAD', path, { token })
  t.strictSame([head.status, head.headers.get('content-type')], [200, 'text/event-stream; charset=utf-8'])
})

t.test('Everybody may follow a public repository', atOnce(), async (t) => {
  const { service, report } = await scene(t)
  const events = await EventReader.open(t, `${service.url}${path}`)
  await report({ state: 'success' })
  t.match(await events.next(), { name: 'status' })
})

t.test(
  'A right that is withdrawn, a token that is revoked, a repository that is gone: it ends',
  atOnce(),
  async (t) => {
    const { service, follow, following, directory, report } = await scene(t, {}, { private: true })
    const { token, id } = await service.admin.createToken({
      ...{ user: 'alice', name: '', scopes: ['repo'], expiresAt: null },
    })
    await service.admin.grantAccess('alice/hello', 'bob', 'read')
    const revoked = await follow({ token })
    const withdrawn = await follow({ token: await service.tokenOf('bob') })
    const kept = await follow()
    await following(3)
    await service.admin.revokeToken(id)
    await service.admin.revokeAccess('alice/hello', 'bob')
    t.strictSame([await revoked.next(), await withdrawn.next()], [undefined, undefined], 'at the next heartbeat')
    await following(1)
    await report({ state: 'success' })
    t.match(await kept.next(), { name: 'status' })
    await rm(directory, { recursive: true })
    t.equal(await kept.next(), undefined)
  },
)

t.test(
  'A repository that is renamed or deleted is followed no longer, nor is what it had shown',
  atOnce(),
  async (t) => {
    const { service, follow, report, following } = await scene(t)
    for (const change of [
      async () => await service.admin.renameRepository('alice/hello', 'alice/other'),
      async () => await service.admin.deleteRepository('alice/hello'),
    ]) {
      const events = await follow()
      await report({ state: 'success' })
      const last = await events.next()
      await change()
      t.equal(await events.next(), undefined)
      await following(0)
      t.match(await (await follow({ lastId: String(last?.id) })).next(), { name: 'gap' })
    }
  },
)

t.test('It is no request in progress, and counts as a wait', atOnce(), async (t) => {
  const { service, follow, following, list, token } = await scene(t, { requests: 1, waits: 2 })
  const one = await follow()
  await follow()
  await following(2)
  t.equal((await list()).status, 200)
  refused(t, await service.call('GET', path, { token }), 503, 'too many requests in progress')
  await one.close()
  await following(1)
  await follow()
})

t.test('A stop ends it in order, and a client that has gone is missed', atOnce(), async (t) => {
  const { service, follow, following, token, report } = await scene(t, { closeSeconds: 30 })
  for (const leave of ['reset', 'end'] as const) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(requestHead('GET', path, { Authorization: `Bearer ${token}` }))
    await following(1)
    socket[leave]()
    await following(0)
    if (leave === 'end') t.match(await socket.ended(), /\r\n0\r\n\r\n$/)
  }
  const early = await RawSocket.open(t, service.url)
  await early.send(requestHead('GET', path), requestHead('GET', path))
  early.end()
  t.match(await early.ended(), /0\r\n\r\nHTTP\/1.1 200 OK/, 'also one that did so before its turn')
  const events = await follow()
  await report({ state: 'success' })
  t.match(await events.next(), { name: 'status' })
  const begun = performance.now()
  await service.close()
  t.equal(await events.next(), undefined)
  t.ok(performance.now() - begun < 20_000, 'not cut off at the end of the grace period')
})

t.test('What is reported through another instance comes, too, once', { skip: isMissing, ...atOnce() }, async (t) => {
  const server = await PostgresServer.start(t)
  const store = await server.database()
  const one = await startService(t, { settings: { store } })
  const { sha } = await makeRepositoryWithCommit(one.repositories, 'alice/hello', { public: true })
  const other = await embed(t, { store, repositories: one.repositories })
  const report = async (context: string, state: 'pending' | 'success') =>
    await other.service.report('alice/hello', sha, { context, state })
  await report('before', 'success')
  const token = await one.tokenOf('alice')
  const events = await EventReader.open(t, `${one.url}${path}`)
  const seen = async (count: number) => {
    const all = [...Array(count).keys()].map(async () => await events.next())
    return (await Promise.all(all)).map((event) => event?.data)
  }
  const pending = await report('build', 'pending')
  t.strictSame(await seen(1), [{ repository: 'alice/hello', status: pending, previous_state: null }])
  const success = await report('build', 'success')
  t.strictSame(await seen(1), [{ repository: 'alice/hello', status: success, previous_state: 'pending' }])
  for (const context of ['a', 'b', 'c']) {
    await one.report('alice/hello', sha, token, { context, state: 'success' })
    await report(`${context} elsewhere`, 'success')
  }
  const contexts = (await seen(6)).map((data) => (data?.['status'] as { context: string }).context)
  t.strictSame(contexts.sort(), ['a', 'a elsewhere', 'b', 'b elsewhere', 'c', 'c elsewhere'])
  await events.close()
  await report('meanwhile', 'success')
  const again = await EventReader.open(t, `${one.url}${path}`, { lastId: events.position })
  t.match(await again.next(), { data: { status: { context: 'meanwhile' } } })
  const elsewhere = await listen(t, (request, response) => {
    other.service.handler(request, response)
  })
  await events.close()
  const there = await EventReader.open(t, `${elsewhere}${path}`, { lastId: again.position })
  const names = new Set<unknown>()
  for (let event = await there.next(); ; event = await there.next()) {
    names.add(event?.name)
    if (JSON.stringify(event?.data['status']).includes('"meanwhile"')) break
  }
  t.strictSame([...names], ['status'], 'it goes on where it was on another instance, and no gap')
  await other.service.deleteRepository('alice/hello')
  t.equal(await again.next(), undefined)
  const next = await EventReader.open(t, `${one.url}${path}`, { lastId: again.position })
  t.match(await next.next(), { name: 'gap' })
})

t.test('Through nginx, as documented, each event comes at once', { skip: nginxIsMissing, ...atOnce() }, async (t) => {
  const { service, token, report, following } = await scene(t)
  const recipe = readFileSync('config/nginx.conf', 'utf8')
    .replace('127.0.0.1:8080', new URL(service.url).host)
    .replace('listen 80;', 'listen 127.0.0.1:PORT;')
  const url = await startNginx(t, join(service.folder, 'nginx'), recipe)
  const events = await EventReader.open(t, `${url}${path}`, { token })
  for (const state of ['pending', 'success']) {
    await report({ state })
    t.match(await events.next(), { data: { status: { state } } })
  }
  await events.close()
  await following(0)
})
