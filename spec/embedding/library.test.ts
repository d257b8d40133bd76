import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { StoreCorrupt, type StatusEvent } from '../../lib/index.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { ModelStore } from '../fixtures/model-store.js'
import { resultOf } from '../fixtures/work.js'

const refusal = (code: string, status: number) => ({ name: 'ServiceError', code, status })

t.test('report and list follow the rules of the API without HTTP', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const status = await service.report('alice/hello', sha.toUpperCase(), { state: 'success', context: 'build' })
  t.match(status, { sha, context: 'build', state: 'success', description: null, target_url: null })
  t.strictSame(await service.list('alice/hello', sha), { state: 'success', statuses: [status] })
  const states = { states: { [sha]: { state: 'success', statuses: 1 } } }
  t.strictSame(await service.states('alice/hello', [sha, '0'.repeat(40)]), states)
  await t.rejects(service.report('alice/hello', 'abc', { state: 'success' }), refusal('sha_invalid', 422))
  await t.rejects(service.report('alice/hello', sha, { state: 'great' }), refusal('state_invalid', 422))
  await t.rejects(service.report('alice/hello', sha, { state: 'success', context: '' }), refusal('field_invalid', 422))
  await t.rejects(service.report('alice/hello', sha, null as never), refusal('invalid_body', 400))
  await t.rejects(
    service.report('alice/hello', '0'.repeat(39) + '1', { state: 'success' }),
    refusal('commit_not_found', 404),
  )
  await t.rejects(service.report('alice/none', sha, { state: 'success' }), refusal('repository_not_found', 404))
  await t.rejects(service.list('../etc', sha), refusal('repository_not_found', 404))
  await t.rejects(service.states('alice/hello', []), refusal('shas_invalid', 422))
})

t.test('report with a user wants that user to have the right', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  await service.administration.grantAccess('alice', 'bob', 'read')
  await t.resolves(service.report('alice/hello', sha, { state: 'success' }, 'alice'))
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }, 'bob'), refusal('write_denied', 403))
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }, 'eve'), refusal('repository_not_found', 404))
})

t.test('Every saved report is an event, after it is durable, with the status it replaced', async (t) => {
  const { service, repositories, tokenOf } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const events: StatusEvent[] = []
  service.on('status', (event) => events.push(event))
  const first = await service.report('alice/hello', sha, { state: 'pending' })
  const url = await listen(t, (request, response) => service.handler(request, response))
  const { body: second } = await fetchJson(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
    method: 'POST',
    token: await tokenOf('alice'),
    body: { state: 'success' },
  })
  const [{ id } = { id: '' }] = await service.administration.listTokens('alice')
  t.strictSame(events, [
    {
      repository: 'alice/hello',
      status: first,
      previous: undefined,
      reporter: { user: 'host', token: null },
      pending_since: first.updated_at,
    },
    {
      repository: 'alice/hello',
      status: second,
      previous: first,
      reporter: { user: 'alice', token: id },
      pending_since: first.updated_at,
    },
  ])
  await service.report('alice/hello', sha, { state: 'error' })
  t.notOk('pending_since' in (events.pop() ?? {}), 'it had settled already')
  await t.rejects(service.report('alice/hello', sha, { state: 'great' }))
  t.equal(events.length, 2, 'a refused report is none')
})

t.test('Events of one commit come in the order in which the reports were saved', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const told: (string | null)[] = []
  let last: StatusEvent | undefined
  service.on('status', (event) => {
    t.strictSame(event.previous, last?.status, 'each event follows on the one before')
    last = event
    told.push(event.status.description)
  })
  await Promise.all(
    Array.from(
      { length: 50 },
      async (_, n) => await service.report('alice/hello', sha, { state: 'success', description: String(n) }),
    ),
  )
  t.equal(told.length, 50)
  t.strictSame((await service.list('alice/hello', sha)).statuses, [last?.status], 'the last event is what is listed')
})

t.test('What a listener throws goes to the log and nowhere else', async (t) => {
  const lines: string[] = []
  const note = (_facts: object, message: string) => lines.push(message)
  const { service, repositories } = await embed(t, { logger: { debug: note, info: note, warn: note, error: note } })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const told: string[] = []
  service.on('status', () => {
    throw new Error('broken listener')
  })
  service.on('status', async () => await Promise.reject(new Error('broken later')))
  service.on('status', (event) => told.push(event.status.state))
  t.equal((await service.report('alice/hello', sha, { state: 'error' })).state, 'error')
  t.strictSame(told, ['error'])
  t.equal(lines.filter((line) => line === 'a status listener failed').length, 2)
})

t.test('authenticate tells whom a token speaks for, and nothing of one that is wrong or revoked', async (t) => {
  const { service, tokenOf } = await embed(t)
  const token = await tokenOf('alice')
  const [{ id: tokenId } = { id: '' }] = await service.administration.listTokens('alice')
  t.strictSame(await service.authenticate(token), { user: 'alice', scopes: ['repo'], tokenId })
  t.equal(await service.authenticate('cst_wrong'), undefined)
  t.equal(await service.authenticate(`${token}0`), undefined)
  const [listed] = await service.administration.listTokens('alice')
  await service.administration.revokeToken(listed?.id ?? '')
  t.equal(await service.authenticate(token), undefined)
})

t.test(
  'An authenticator that fails makes authenticate reject with a ServiceError, and nobody is logged in',
  async (t) => {
    const { service } = await embed(t, {
      authenticator: { authenticate: async () => await Promise.reject(new Error('LDAP is away')) },
    })
    await t.rejects(service.authenticate('x'), {
      ...refusal('internal', 500),
      message: 'internal error',
      cause: { message: 'LDAP is away' },
    })
  },
)

t.test('Commands that work on the folder of repositories say so where the host has its own', async (t) => {
  const { service } = await embed(t, { repositories: { find: async () => undefined } })
  const { administration } = service
  await t.rejects(administration.listRepositories(), {
    name: 'AdministrationError',
    message: /has its own way to find repositories/,
  })
  t.strictSame(await administration.listTokens(null), [])
})

t.test('Commands that work on the whole store say so where the host has its own', async (t) => {
  const { service } = await embed(t, { store: new ModelStore() })
  const { administration } = service
  for (const call of [administration.verifyStore(), administration.backUpStore('/tmp/copy')]) {
    await t.rejects(resultOf<unknown>(call), {
      name: 'AdministrationError',
      message: 'this is no LevelDB store: it is checked and backed up with tools of its own',
    })
  }
  for (const call of [administration.storeStatistics(1), administration.exportStore(null)]) {
    await t.rejects(resultOf<unknown>(call), {
      name: 'AdministrationError',
      message: 'the git server that this service lives in has a store of its own',
    })
  }
})

t.test('What a store of the host does not offer is refused, or done in another way', async (t) => {
  const store = new ModelStore()
  Reflect.deleteProperty(store.statuses, 'remove')
  const { service, repositories } = await embed(t, { store })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  for (const context of ['a', 'b']) await service.report('alice/hello', sha, { state: 'success', context })
  const { administration } = service
  await t.rejects(administration.deleteStatuses('alice/hello', sha, null), {
    name: 'AdministrationError',
    message: /has a store that removes no single statuses$/,
  })
  t.strictSame(await administration.countRepository('alice/hello'), { statuses: 2, grants: 0 })
})

t.test('A token that cannot be read is revoked all the same', async (t) => {
  const store = new ModelStore()
  const log: object[] = []
  const { service } = await embed(t, {
    store,
    logger: { ...silentLogger, info: (facts, message) => log.push({ ...facts, message }) },
  })
  const { id } = await service.administration.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })
  Object.assign(store.tokens, { get: async () => await Promise.reject(new StoreCorrupt('damaged')) })
  await service.administration.revokeToken(id)
  t.match(log.slice(1), [{ by: 'host', token: id, user: undefined, message: 'audit: token revoked' }])
  t.strictSame(await store.tokens.list(), [])
})

t.test('A store of the host that does not say how many statuses it removed has failed', async (t) => {
  for (const answer of [undefined, -1, '1']) {
    const store = new ModelStore()
    const { service } = await embed(t, {
      store: Object.assign(store, {
        statuses: { ...store.statuses, remove: async () => await Promise.resolve(answer as never) },
      }),
    })
    await t.rejects(service.administration.deleteStatuses('alice/hello', '0'.repeat(40), null), {
      name: 'PartError',
      message: /^store\.statuses\.remove\(\) answered/,
    })
  }
})

t.test('A rename or delete by the host is a line of its log, with the host as whose doing it is', async (t) => {
  const log: object[] = []
  const { service } = await embed(t, {
    logger: { ...silentLogger, info: (facts, message) => log.push({ ...facts, message }) },
  })
  await service.administration.grantAccess('alice/a', 'bob', 'read')
  await service.administration.grantAccess('alice/b', 'carol', 'read')
  t.match(log.splice(0), [{ by: 'host', on: 'alice/a', user: 'bob', message: 'audit: access granted' }, { by: 'host' }])
  await service.renameRepository('alice/a', 'alice/a')
  t.strictSame(log.splice(0), [], 'nothing has changed')
  await service.renameRepository('alice/a', 'alice/b')
  await service.deleteRepository('alice/b')
  await t.rejects(service.renameRepository('alice/a', 'b'), TypeError)
  await t.rejects(service.deleteRepository('b'), TypeError)
  t.strictSame(log, [
    { by: 'host', from: 'alice/a', to: 'alice/b', message: 'audit: repository renamed' },
    { by: 'host', on: 'alice/b', user: 'carol', access: 'read', message: 'audit: access revoked' },
    { by: 'host', on: 'alice/a', user: 'bob', access: 'read', to: 'alice/b', message: 'audit: access moved' },
    { by: 'host', repository: 'alice/b', message: 'audit: repository deleted' },
    { by: 'host', on: 'alice/b', user: 'bob', access: 'read', message: 'audit: access revoked' },
  ])
})

t.test('Grants that cannot be read keep no host from renaming and deleting', async (t) => {
  const store = new ModelStore()
  const log: object[] = []
  const note = (facts: object, message: string): void => void log.push({ ...facts, message })
  const { service } = await embed(t, { store, logger: { ...silentLogger, info: note, error: note } })
  Object.assign(store.grants, { list: async () => await Promise.reject(new Error('no')) })
  await service.deleteRepository('alice/a')
  t.match(log, [
    { repository: 'alice/a', message: /^its grants cannot be read/ },
    { repository: 'alice/a', message: 'audit: repository deleted' },
  ])
  Object.assign(store, { deleteRepository: async () => await Promise.reject(new Error('no')) })
  await t.rejects(service.deleteRepository('alice/a'), refusal('internal', 500))
})

t.test('access tells the right on a repository; of one that does not exist, none', async (t) => {
  const { service, repositories } = await embed(t)
  await makeRepository(repositories, 'alice/private')
  await makeRepository(repositories, 'alice/public', { public: true })
  t.equal(await service.access('alice', 'alice/private'), 'write')
  t.equal(await service.access('bob', 'alice/private'), 'none')
  t.equal(await service.access(undefined, 'alice/private'), 'none')
  t.equal(await service.access('bob', 'alice/public'), 'read')
  t.equal(await service.access(undefined, 'alice/public'), 'read')
  t.equal(await service.access('alice', 'alice/none'), 'none')
  t.equal(await service.access('alice', '../alice'), 'none')
})

t.test('Two services in one process do not touch each other', async (t) => {
  const [one, { service: other }] = [await embed(t), await embed(t, { authFailures: { limit: 2 } })]
  const { sha } = await makeRepositoryWithCommit(one.repositories, 'alice/hello')
  const token = await one.tokenOf('alice')
  await one.service.report('alice/hello', sha, { state: 'success' })
  t.equal(await other.authenticate(token), undefined)
  await t.rejects(other.list('alice/hello', sha), refusal('repository_not_found', 404))
  await other.authFailures.recordFailure('10.0.0.1')
  await other.authFailures.recordFailure('10.0.0.1')
  t.ok((await other.authFailures.retryAfter('10.0.0.1')) > 0)
  t.equal(await one.service.authFailures.retryAfter('10.0.0.1'), 0)
  await other.close()
  t.equal((await one.service.list('alice/hello', sha)).state, 'success')
})

t.test('close finishes what was accepted; calls after it are refused clearly, over HTTP with 503', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  const url = await listen(t, (request, response) => service.handler(request, response))
  const accepted = Array.from(
    { length: 20 },
    async (_, n) => await service.report('alice/hello', sha, { state: 'success', context: `c${n}` }),
  )
  const changed = [service.renameRepository('alice/old', 'alice/new'), service.deleteRepository('alice/gone')]
  await Promise.all([service.close(), service.close()])
  t.equal((await Promise.all(accepted)).length, 20)
  await Promise.all(changed)
  const shuttingDown = refusal('shutting_down', 503)
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }), shuttingDown)
  await t.rejects(service.list('alice/hello', sha), shuttingDown)
  await t.rejects(service.renameRepository('alice/hello', 'alice/b'), shuttingDown)
  await t.rejects(service.deleteRepository('alice/hello'), shuttingDown)
  await t.rejects(service.authenticate(`cst_${'0'.repeat(48)}`), shuttingDown)
  t.equal(await service.access('alice', 'alice/hello'), 'none')
  t.equal(service.unavailableReason(), 'shutting down')
  const answer = await fetchJson(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`)
  t.equal(answer.status, 503)
  t.strictSame(answer.body, { error: 'shutting down' })
  t.match(answer.headers.get('Retry-After'), /^[1-9]\d*$/)
  const health = await fetchJson(`${url}/healthz`)
  t.strictSame([health.status, health.body], [503, { status: 'shutting down' }])
})

t.test('Rename and delete', async (t) => {
  const { service, repositories } = await embed(t)
  const { directory, sha } = await makeRepositoryWithCommit(repositories, 'alice/a')
  await service.report('alice/a', sha, { state: 'failure' })
  await service.administration.grantAccess('alice/a', 'bob', 'read')

  t.test('what is no name is a TypeError', async (t) => {
    await t.rejects(service.renameRepository('alice/a', '../b'), { name: 'TypeError' })
    await t.rejects(service.deleteRepository('a'), { name: 'TypeError' })
  })

  renameSync(directory, join(repositories, 'alice/b.git'))
  await service.renameRepository('alice/a', 'alice/b')
  t.equal((await service.list('alice/b', sha)).state, 'failure')
  t.equal(await service.access('bob', 'alice/b'), 'read')
  await makeRepository(repositories, 'alice/a')
  t.equal(await service.access('bob', 'alice/a'), 'none', 'nothing of b shows under its old name')

  renameSync(join(repositories, 'alice/b.git'), join(repositories, 'kept'))
  await service.deleteRepository('alice/b')
  renameSync(join(repositories, 'kept'), join(repositories, 'alice/b.git'))
  t.strictSame(await service.list('alice/b', sha), { state: null, statuses: [] })
  t.equal(await service.access('bob', 'alice/b'), 'none')
  rmSync(join(repositories, 'alice/b.git'), { recursive: true })
})
