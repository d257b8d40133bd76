import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { AuditedRepositories } from '../../lib/admin/audit-log.js'
import { runTask } from '../../lib/concurrency/task.js'
import type { Administration } from '../../lib/admin/administration.js'
import type { State } from '../../lib/domain/commit-status.js'
import { AdministrationError, ArgumentError } from '../../lib/errors.js'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { completeStatuses } from '../../lib/embedding/complete-store.js'
import { openAdministration } from '../../lib/embedding/open-administration.js'
import { Pushes } from '../../lib/service/pushes.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { embed } from '../fixtures/embedded.js'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { hookOf } from '../fixtures/hooks.js'
import { administrationOn } from '../fixtures/local-administration.js'
import { ModelStore } from '../fixtures/model-store.js'
import { repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { until } from '../fixtures/within.js'

interface Received {
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly body: Record<string, unknown>
}

/** A receiver of webhooks on a port of its own. */
async function receiver(t: Test) {
  const received: Received[] = []
  const answer = { status: 204 }
  const server = createServer((request, response) => {
    void text(request).then((text) => {
      received.push({ headers: request.headers, text, body: JSON.parse(text) as Record<string, unknown> })
      response.writeHead(answer.status).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { received, answer, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret/path` }
}

/** A service that delivers, with a repository. */
async function world(t: Test) {
  const lines: Record<string, unknown>[] = []
  const note = (facts: object, msg: string): void => void lines.push({ ...facts, msg })
  const logger = { debug: note, info: note, warn: note, error: note }
  const at = t.testdir({})
  const hosted = await embed(t, {
    hooks: { secretFile: join(at, 'hooks.secret') },
    publicUrl: 'https://status.example.com/',
    metrics: true,
    logger,
  })
  const { sha } = await makeRepositoryWithCommit(hosted.repositories, 'alice/hello', { public: true })
  const { service } = hosted
  const report = async (context: string, state: State = 'success'): Promise<void> => {
    await service.report('alice/hello', sha, { context, state })
  }
  return { ...hosted, ...(await receiver(t)), lines, sha, report, administration: service.administration }
}

const request = (url: string, more: object = {}) => ({ on: 'alice/hello', url, format: 'github', ...more })

t.test('A webhook is made, tested, told of statuses, listed and deleted', async (t) => {
  const { administration, url, received, report, sha, lines, service } = await world(t)
  const { secret, ...made } = await administration.createHook(request(url), { user: 'root', uid: 0 })
  t.match(secret, /^whsec_/)
  t.match(made, { on: 'alice/hello', receiver: /^http:\/\/127\.0\.0\.1:\d+\/…$/, events: ['status'], waiting: 0 })
  t.match(await administration.testHook(made.id), { event: 'ping', result: 'ok', status: 204 })
  await report('ci', 'failure')
  await until(() => received.length === 2)
  t.match(received[1], {
    headers: { 'x-github-event': 'status', 'x-hub-signature-256': /^sha256=/ },
    body: { sha, state: 'failure', context: 'ci', commit: { sha }, branches: [{ name: 'main' }] },
  })
  t.match(
    String((received[1]?.body['repository'] as Record<string, unknown>)['html_url']),
    /^https:\/\/status\.example/,
  )
  await until(async () => (await administration.listDeliveries(made.id)).length === 2)
  t.match(await administration.listDeliveries(made.id), [{ event: 'status', result: 'ok' }, { event: 'ping' }])
  t.match(await administration.listHooks(null), [{ id: made.id, state: 'active' }])
  t.strictSame(await administration.listHooks('bob/x'), [])
  t.match((await service.metrics?.())?.text, /^commit_status_webhook_hooks\{state="active"\} 1$/m)
  t.match((await service.metrics?.())?.text, /^commit_status_webhook_deliveries_total\{result="ok"\} 2$/m)
  await administration.deleteHook(made.id)
  t.strictSame(await administration.listHooks(null), [])
  t.match(lines, [
    { by: { user: 'root', uid: 0 }, hook: made.id, on: 'alice/hello', msg: 'audit: hook created' },
    { by: 'host', hook: made.id, msg: 'audit: hook deleted' },
  ])
  t.notMatch(JSON.stringify(lines), /secret\/path|whsec_/)
})

t.test('Where nobody has said what the address of the service is, links lead to this machine', async (t) => {
  const at = t.testdir({})
  const { service, repositories } = await embed(t, { hooks: { secretFile: join(at, 'hooks.secret') } })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  const { received, url } = await receiver(t)
  await service.administration.createHook(request(url))
  await service.report('alice/hello', sha, { context: 'ci', state: 'success' })
  await until(() => received.length === 1)
  t.match(received[0]?.body, { repository: { html_url: /^http:\/\/localhost\// } })
})

t.test('What is for a webhook that is paused waits until it is resumed', async (t) => {
  const { administration, url, received, report, lines } = await world(t)
  const { id } = await administration.createHook(request(url, { on: 'alice/*' }))
  t.match(await administration.pauseHook(id), { state: 'paused' })
  await report('ci')
  t.match(await administration.listHooks('alice/*'), [{ waiting: 1, waiting_since: /^\d{4}-/ }])
  t.equal(received.length, 0)
  t.match(await administration.resumeHook(id), { state: 'active' })
  await until(() => received.length === 1)
  t.match(lines.slice(1), [
    { hook: id, msg: 'audit: hook paused' },
    { hook: id, msg: 'audit: hook resumed' },
  ])
})

t.test('A webhook that was stopped is resumed, and what it missed is made again', async (t) => {
  const { administration, url, received, answer, report, lines } = await world(t)
  const { id } = await administration.createHook(request(url, { on: '*', events: ['status', 'broken'] }))
  answer.status = 410
  await report('first')
  await until(async () => (await administration.listHooks(null))[0]?.state === 'stopped')
  await report('second', 'failure')
  const [stopped] = await administration.listHooks(null)
  t.match(stopped, { stopped_because: /410/, behind_since: /Z$/ })
  await t.rejects(administration.pauseHook(id), AdministrationError)
  await t.rejects(resend(administration, id, '2026-01-01'), { name: 'AdministrationError', message: /hook resume/ })
  answer.status = 204
  const { behind_since: since = '' } = await administration.resumeHook(id)
  const before = received.length
  t.strictSame(await resend(administration, id, '2999-01-01'), { deliveries: 0 })
  t.match(await administration.listHooks(null), [{ behind_since: since }])
  t.strictSame(await resend(administration, id, since), { deliveries: 3 })
  await until(() => received.length === before + 3)
  t.strictSame(
    new Set(received.slice(before).map(({ body }) => body['context'] ?? body['action'])),
    new Set(['first', 'second', 'broken']),
  )
  t.match(await administration.listHooks(null), [{ behind_since: undefined }])
  t.match(lines.at(-1), { hook: id, since, deliveries: 3, msg: 'audit: deliveries made again' })
})

/** A webhook that is paused, in a store with so many statuses on it, a second after another, the latest first. */
async function withStatuses(t: Test, count: number) {
  const store = await LevelStore.open(t.testdir({}))
  t.teardown(async () => await store.close())
  const administration = administrationOn(store, { hooks: hooksOn(store) })
  const { id } = await administration.createHook(request('http://127.0.0.1:1/'))
  await administration.pauseHook(id)
  await store.hooks.outbox.open(() => undefined)
  const repository = repositoryNamed('alice/hello')
  const status = { id: 'x', sha: 'c'.repeat(40), state: 'success', description: null, target_url: null } as const
  const at = (second: number) => new Date(Date.UTC(2031, 0, 31) + 1000 * second).toISOString()
  const statuses = Array.from({ length: count }, (_, index) => ({
    repository,
    status: { ...status, created_at: at(0), updated_at: at(index), context: `c${index}` },
  })).reverse()
  store.contents.pages = async function* () {
    for (let first = 0; first < count; first += 1000)
      yield await Promise.resolve({ statuses: statuses.slice(first, first + 1000), share: undefined })
  }
  const deliver = async () => {
    for (;;) {
      const entries = await store.hooks.outbox.claim(id, 10_000)
      if (entries.length === 0) return
      for (const entry of entries) await store.hooks.outbox.settle(entry, 'success')
    }
  }
  return { administration, store, id, at, deliver }
}

t.test('Of more than may wait the oldest are made again, and the rest is gone on with', async (t) => {
  const { administration, store, id, at, deliver } = await withStatuses(t, 21_000)
  await store.hooks.update(id, (hook) => ({ ...hook, behind_since: at(0) }))
  const hook = async () => (await administration.listHooks(null))[0]
  t.strictSame(await resend(administration, id, at(0)), { deliveries: 5000, since: at(5000) })
  t.match(await hook(), { waiting: 5000, waiting_since: at(0), behind_since: at(5000) })
  t.strictSame(await resend(administration, id, at(5000)), { deliveries: 0, since: at(5000) }, 'not before it is told')
  await store.hooks.outbox.drop(id)
  t.strictSame(await resend(administration, id, at(19_000)), { deliveries: 2000 })
  t.match(await hook(), { behind_since: at(5000) }, 'what was left out is still missed')
  await deliver()
  for (const first of [5000, 10_000, 15_000]) {
    t.strictSame(await resend(administration, id, at(first)), { deliveries: 5000, since: at(first + 5000) })
    await deliver()
  }
  t.strictSame(await resend(administration, id, at(20_000)), { deliveries: 1000 })
  t.match(await hook(), { waiting: 1000, behind_since: undefined })
})

t.test('What was made again and is lost once more is missed from where it was before', async (t) => {
  const { administration, url, answer, report, received, lines } = await world(t)
  const { id } = await administration.createHook(request(url))
  const stops = () => lines.filter(({ msg }) => msg === 'a hook was stopped: what waited for it is dropped').length
  answer.status = 410
  await report('ci')
  await until(() => stops() === 1)
  const { behind_since: since = '' } = await administration.resumeHook(id)
  t.strictSame(await resend(administration, id, since), { deliveries: 1 })
  await until(() => stops() === 2)
  answer.status = 204
  const { behind_since: again = '' } = await administration.resumeHook(id)
  t.equal(again, since)
  t.strictSame(await resend(administration, id, again), { deliveries: 1 })
  await until(() => received.length === 3)
})

t.test('What is stopped while it is made again has lost this, too', async (t) => {
  const { administration, store, id, at } = await withStatuses(t, 1)
  const { add } = store.hooks.outbox
  store.hooks.outbox.add = async (entries) => {
    await add.call(store.hooks.outbox, entries)
    await store.hooks.update(id, (hook) => ({ ...hook, state: 'stopped', behind_since: at(0) }))
  }
  t.strictSame(await resend(administration, id, at(0)), { deliveries: 1 })
  t.match(await administration.listHooks(null), [{ state: 'stopped', behind_since: at(0) }])
})

t.test('A secret can be dictated, and is rotated', async (t) => {
  const { administration, url, received } = await world(t)
  const dictated = 'dictated-by-the-receiver'
  const given = await administration.createHook(request(url, { secret: dictated }))
  t.equal(given.secret, null)
  const made = await administration.createHook(request(url))
  const rotated = await administration.rotateSecret(made.id, null)
  t.match(rotated.secret, /^whsec_/)
  t.not(rotated.secret, made.secret)
  await administration.testHook(made.id)
  t.match(received[0]?.headers['webhook-signature'], /^v1,\S+ v1,\S+$/, 'the one before is good for a day')
})

t.test('No rotation gives back an old secret, and for a day after each the one before is good, too', async (t) => {
  const { administration, url, received } = await world(t)
  const { id, secret: first } = await administration.createHook(request(url))
  /** Whether what is sent now is signed with a secret. */
  const isGood = async (secret: string | null): Promise<boolean> => {
    await administration.testHook(id)
    const last = received.at(-1)
    if (!last) throw new Error('nothing has arrived')
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
    try {
      new Webhook(String(secret)).verify(
        last.text,
        Object.fromEntries(names.map((name) => [name, String(last.headers[name])])),
      )
      return true
    } catch {
      return false
    }
  }
  const dictated = (character: string) => `whsec_${Buffer.from(character.repeat(24)).toString('base64')}`
  const secrets = [first]
  for (const given of [dictated('a'), dictated('b'), null, null, dictated('c'), null]) {
    const { secret } = await administration.rotateSecret(id, given)
    t.equal(secret === null, given !== null)
    secrets.push(secret ?? given)
    const good = []
    for (const secret of secrets) good.push(await isGood(secret))
    t.strictSame(good, [...secrets.slice(2).map(() => false), true, true])
  }
  t.equal(new Set(secrets).size, secrets.length)
})

t.test('A push that is handed over is told, in its turn', async (t) => {
  const { administration, url, received, repositories, sha } = await world(t)
  await administration.createHook(request(url, { events: ['push'], branches: ['main'] }))
  const next = await makeCommit(join(repositories, 'alice/hello.git'), 'next')
  const [zeros, id] = ['0'.repeat(40), '01234567-89ab-4cde-8f01-23456789abcd']
  const refs = [
    { ref: 'refs/heads/main', before: zeros, after: sha },
    { ref: 'refs/tags/v1', before: zeros, after: sha },
  ]
  t.strictSame(await administration.notePush('alice/hello', { id, pusher: 'alice', refs }), { deliveries: 1 })
  const more = { id: id.replace('0', '1'), refs: [{ ref: 'refs/heads/main', before: sha, after: next }] }
  t.strictSame(await administration.notePush('alice/hello', more, { user: 'git' }), { deliveries: 1 })
  await until(() => received.length === 2)
  t.match(
    received.map(({ headers, body }) => ({ event: headers['x-github-event'], body })),
    [
      { event: 'push', body: { before: zeros, after: sha, pusher: { name: 'alice' }, sender: { login: 'alice' } } },
      {
        event: 'push',
        body: {
          before: sha,
          after: next,
          pusher: { name: 'git' },
          sender: { login: 'git' },
          commits: [{ message: 'next\n' }],
        },
      },
    ],
  )
  const last = { id: id.replace('0', '2'), refs: [{ ref: 'refs/heads/main', before: next, after: sha }] }
  await administration.notePush('alice/hello', last)
  await until(() => received.length === 3)
  t.match(received[2]?.body, { pusher: { name: 'host' }, forced: true })
  await t.rejects(administration.notePush('alice/none', more), { message: 'there is no repository alice/none' })
  await t.rejects(administration.notePush('alice', more), ArgumentError)
  await t.rejects(administration.notePush('alice/hello', { ...more, id: 'x' }), ArgumentError)
})

t.test('What is wrong is said', async (t) => {
  const { administration, url } = await world(t)
  const wrong: [more: object, message: RegExp][] = [
    [{ on: 'alice' }, /no repository name/],
    [{ on: '-/*' }, /no repository name/],
    [{ url: 'ftp://x' }, /http or https/],
    [{ url: 'http://169.254.169.254/' }, /hooks.allow does not name it/],
    [{ url: `${url}${'x'.repeat(2048)}` }, /2048 characters/],
    [{ url: 'mailto:a@example.com' }, /mail\.server is not set/],
    [{ format: 'xml' }, /no format "xml": it is one of github, chat, text/],
    [{ events: ['pull'] }, /no event "pull"/],
    [{ events: ['push'], contexts: ['ci'] }, /a push has no context/],
    [{ events: ['push'], states: ['failure'] }, /a push has no context and no state/],
    [{ events: [] }, /one event at least/],
    [{ states: ['red'] }, /no state "red"/],
    [{ contexts: [] }, /1 to 100 contexts/],
    [{ branches: Array.from({ length: 101 }, () => 'x') }, /1 to 100 branches/],
    [{ contexts: [''] }, /"" is no pattern/],
    [{ branches: ['main', 'release/*\n'] }, /"release\/\*\\n" fits the name of no branch/],
    [{ branches: ['/main'] }, /fits the name of no branch/],
    [{ secret: 'short' }, /16 to 256 characters/],
  ]
  for (const [more, message] of wrong)
    await t.rejects(administration.createHook(request(url, more)), { name: 'ArgumentError', message })
  const { id } = await administration.createHook(
    request(url, { contexts: ['ci/*'], branches: ['main'], states: ['failure', 'failure'] }),
  )
  t.match(await administration.listHooks(null), [{ contexts: ['ci/*'], branches: ['main'], states: ['failure'] }])
  await t.rejects(administration.deleteHook('..'), ArgumentError)
  await t.rejects(administration.rotateSecret(id, 'short'), ArgumentError)
  for (const since of ['soon', '+275760-09-13T00:00:00.000Z', '-000001-01-01T00:00:00.000Z'])
    await t.rejects(resend(administration, id, since), ArgumentError)
  const missing = { name: 'AdministrationError', message: 'there is no hook none' }
  await t.rejects(administration.deleteHook('none'), missing)
  await t.rejects(Promise.all([administration.pauseHook('none')]), missing)
  await t.rejects(Promise.all([administration.testHook('none')]), missing)
  for (let hooks = 1; hooks < 100; hooks++) await administration.createHook(request(url, { on: 'bob/x' }))
  await t.rejects(administration.createHook(request(url)), { message: /there are 100 hooks/ })
})

t.test('A mail is for what becomes of branches', async (t) => {
  const { service } = await embed(t, {
    hooks: { secretFile: join(t.testdir({}), 'hooks.secret') },
    mail: { server: 'smtp://127.0.0.1:1', sender: 'ci@example.com' },
  })
  const made = await service.administration.createHook(request('mailto:alice@example.com'))
  t.match(made, { receiver: 'mailto:alice@example.com', events: ['broken', 'fixed'] })
  for (const event of ['status', 'push']) {
    const others = request('mailto:alice@example.com', { events: ['broken', event] })
    await t.rejects(service.administration.createHook(others), { message: /broken and fixed alone/ })
  }
})

t.test('Where there are no webhooks, that is said', async (t) => {
  const { service } = await embed(t)
  await t.rejects(service.administration.listHooks(null), { message: /the setting hooks\.secretFile is empty/ })
  const model = new ModelStore()
  const administration = administrationOn(Object.assign(model, { statuses: completeStatuses(model.statuses) }))
  await t.rejects(administration.listHooks(null), { message: /has a store that keeps no webhooks$/ })
  const refs = [{ ref: 'refs/heads/main', before: 'a'.repeat(40), after: 'b'.repeat(40) }]
  await t.rejects(administration.notePush('alice/hello', { id: 'x', refs }), { message: /keeps no webhooks/ })
})

t.test('Without a service webhooks are made, listed and tested all the same', async (t) => {
  const { url, received, answer } = await receiver(t)
  const folder = t.testdir({ repositories: {} })
  const settings = {
    ...{ repositories: join(folder, 'repositories'), topOwner: 'git', store: `level:${join(folder, 'store')}` },
    ...{ tokenPrefix: 'cst', limits: { tokens: 1 }, hooks: { secretFile: join(folder, 'hooks.secret') } },
  }
  const { administration, close } = await openAdministration(settings, { auditLogger: silentLogger })
  t.teardown(close)
  const { id } = await administration.createHook(request(url), { user: 'alice' })
  t.match(await administration.listHooks(null), [{ id, by: 'alice', waiting: 0 }])
  t.strictSame(await administration.listDeliveries(id), [])
  answer.status = 500
  t.match(await administration.testHook(id), { event: 'ping', result: 'failed', status: 500, delivery: /-/ })
  t.equal(received.length, 1)
  await administration.pauseHook(id)
})

t.test('The last delivery is known after a start', async (t) => {
  const store = await LevelStore.open(t.testdir({}))
  t.teardown(async () => await store.close())
  const administration = administrationOn(store, { hooks: hooksOn(store) })
  const { id } = await administration.createHook(request('http://127.0.0.1:1/'))
  const last = {
    at: '2031-01-31T12:00:00.000Z',
    delivery: 'x',
    event: 'status',
    result: 'ok',
    milliseconds: 1,
  } as const
  await store.hooks.update(id, (hook) => ({ ...hook, last: { ...last, reason: 'the answer was 200' } }))
  t.match(await administration.listDeliveries(id), [last])
})

t.test('Webhooks on a repository go where it goes', async (t) => {
  const { administration, service, url, received, repositories, sha } = await world(t)
  const { id } = await administration.createHook(request(url))
  await makeRepositoryWithCommit(repositories, 'bob/x', { public: true })
  await service.renameRepository('alice/hello', 'bob/x')
  await service.report('bob/x', sha, { context: 'ci', state: 'success' })
  await until(() => received.length > 0)
  t.match(received, [{ body: { name: 'bob/x' } }])
  await service.deleteRepository('bob/x')
  t.notOk((await administration.listHooks(null)).some((hook) => hook.id === id))
})

function hooksOn(store: LevelStore) {
  return {
    store: store.hooks,
    contents: store.contents,
    pushes: new Pushes(store.hooks, systemClock),
    sender: { send: async () => await Promise.reject(new Error('nothing is sent here')) },
    secrets: { of: () => ({ current: 'x' }) },
    check: () => undefined,
  }
}

async function resend(administration: Administration, id: string, since: string) {
  return await runTask(administration.resendDeliveries(id, since), () => undefined)
}

t.test('Webhooks on a repository move and go with it, with a line of the log for each', async (t) => {
  const { administration, url, lines, received, service, repositories } = await world(t)
  const own = await administration.createHook(request(url, { contexts: ['ci/*'] }))
  const there = await administration.createHook(request(url, { on: 'bob/x' }))
  const wide = await administration.createHook(request(url, { on: 'alice/*' }))
  lines.length = 0
  await administration.renameRepository('alice/hello', 'bob/x')
  const receiver = /^http:\/\/127\.0\.0\.1:\d+\/…$/
  const said = () => lines.splice(0).filter(({ msg }) => /hook|repository/.test(String(msg)))
  const events = ['status']
  t.match(said(), [
    { by: 'host', from: 'alice/hello', to: 'bob/x', msg: 'audit: repository renamed' },
    { by: 'host', hook: own.id, on: 'alice/hello', to: 'bob/x', receiver, events, msg: 'audit: hook moved' },
    { by: 'host', hook: there.id, on: 'bob/x', receiver, msg: 'audit: hook deleted' },
  ])
  t.match(
    (await administration.listHooks(null)).map(({ id, on }) => [id, on]),
    [
      [own.id, 'bob/x'],
      [wide.id, 'alice/*'],
    ],
    'who was told of the former repository of that name is not told of this one',
  )
  const { sha } = await makeRepositoryWithCommit(repositories, 'bob/x')
  await service.report('bob/x', sha, { context: 'ci/1', state: 'success' })
  await until(() => received.length === 1)
  await administration.deleteRepository('bob/x')
  t.match(said(), [
    { repository: 'bob/x', msg: 'audit: repository deleted' },
    { hook: own.id, on: 'bob/x', contexts: ['ci/*'], msg: 'audit: hook deleted' },
  ])
  t.match(await administration.listHooks(null), [{ id: wide.id }])
  t.notMatch(JSON.stringify(lines), /secret\/path|whsec_/)
})

t.test('Hooks that cannot be read prevent no rename and no delete', async (t) => {
  const store = await LevelStore.open(join(t.testdir({}), 'store'))
  t.teardown(async () => await store.close())
  const lines: unknown[] = []
  const logger = { ...silentLogger, error: (facts: object, msg: string) => void lines.push({ ...facts, msg }) }
  const list = async () => await Promise.reject(new Error('damaged'))
  const audited = new AuditedRepositories({
    changes: store,
    grants: store.grants,
    hooks: { list },
    logger,
    run: async (change) => await change(),
  })
  await audited.rename('host', repositoryNamed('alice/a'), repositoryNamed('alice/b'))
  await audited.delete('host', repositoryNamed('alice/b'))
  const msg = 'its hooks cannot be read, and are not in the audit lines that follow'
  t.match(lines, [
    { repository: 'alice/a, alice/b', msg },
    { repository: 'alice/b', msg },
  ])
})

t.test('A service does not start with a key that cannot sign for its webhooks', async (t) => {
  const folder = t.testdir({ key: 'x\n' })
  const [path, secretFile] = [join(folder, 'store'), join(folder, 'key')]
  const store = await LevelStore.open(path)
  await store.hooks.add(hookOf('a'))
  await store.close()
  const lines: string[] = []
  const note = (_: object, msg: string): void => void lines.push(msg)
  const logger = { debug: note, info: note, warn: note, error: note }
  const start = async () => await embed(t, { store: `level:${path}`, hooks: { secretFile }, logger })
  await t.rejects(start(), {
    name: 'StartError',
    message: `hooks.secretFile cannot be used: ${secretFile} must hold 32 characters or more`,
  })
  writeFileSync(secretFile, 'k'.repeat(32))
  const { service } = await start()
  await service.close()
  await withRawLevel(path, async (raw) => await raw.put('!hooks!a', 'damaged'))
  await start()
  t.ok(lines.includes('hooks cannot be read: nothing is delivered yet'), 'which keeps no service from its start')
})
