import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { receiver } from '../fixtures/receiver.js'
import { refused } from '../fixtures/refusal.js'
import { until } from '../fixtures/within.js'

const path = '/api/v1/repos/alice/hello/pushes'
const ID = '01234567-89ab-4cde-8f01-23456789abcd'
const ZEROS = '0'.repeat(40)

/** A service with a webhook that is told of pushes. */
async function world(t: Test, more: { private?: boolean } = {}) {
  const hosted = await hostCommit(t, more)
  const told = await receiver(t)
  await hosted.service.admin.createHook({
    on: '*',
    url: told.url,
    format: 'github',
    events: ['push'],
    secret: 's'.repeat(16),
  })
  const body = { id: ID, refs: [{ ref: 'refs/heads/main', before: ZEROS, after: hosted.sha }] }
  const limited = async (user: string, limits: object) => {
    const scopes = ['repo']
    const request = { user, name: '', scopes, expiresAt: null, ...limits }
    return (await hosted.service.admin.createToken(request)).token
  }
  const post = async (token: string | undefined, content: unknown = body) =>
    await hosted.service.call('POST', path, { token, body: content })
  return { ...hosted, ...told, body, limited, post }
}

t.test('Who may report may hand over what was pushed', async (t) => {
  const { post, received, token, service, body, sha, limited } = await world(t, { private: true })
  const first = await post(token, { ...body, pusher: 'dave' })
  t.strictSame([first.status, first.body], [202, { deliveries: 1 }])
  await until(() => received.length === 1)
  t.match(JSON.parse(String(received[0]?.body)), {
    ...{ ref: 'refs/heads/main', before: ZEROS, after: sha, created: true },
    ...{ pusher: { name: 'dave' }, sender: { login: 'alice' }, head_commit: { id: sha } },
  })
  t.strictSame((await post(token)).body, { deliveries: 0 }, 'again it is harmless')
  await service.admin.grantAccess('alice/hello', 'git', 'write')
  const other = { ...body, id: ID.replace('0', '1') }
  const git = await limited('git', { repositories: ['alice/hello'] })
  t.strictSame((await post(git, other)).body, { deliveries: 1 })
  await until(() => received.length === 2)
  t.match(JSON.parse(String(received[1]?.body)), { pusher: { name: 'git' }, sender: { login: 'git' } })
})

t.test('Nobody else may, and what cannot be determined is refused', async (t) => {
  const { post, token, service, body, limited, received } = await world(t)
  refused(t, await post(undefined), 401, 'authentication required')
  refused(t, await post('cst_nothing'), 401, 'invalid or expired token')
  refused(t, await post(await service.tokenOf('bob')), 403, 'write access to the repository is required')
  refused(t, await post(await limited('alice', { access: 'read' })), 403, 'write access to the repository is required')
  const elsewhere = await limited('alice', { repositories: ['alice/other'] })
  refused(t, await post(elsewhere), 403, 'write access to the repository is required')
  const forContexts = await limited('alice', { contexts: ['*'] })
  refused(t, await post(forContexts), 403, 'a token for some contexts may not report a push')
  const none = await service.call('POST', path.replace('hello', 'none'), { token, body })
  refused(t, none, 404, 'repository not found')
  refused(t, await post(token, 'x'), 400, /^invalid JSON body: /)
  refused(t, await post(token, {}), 400, /^invalid JSON body: it must have required property/)
  refused(t, await post(token, { ...body, id: 'x' }), 422, 'id must be a UUID in lower case')
  refused(t, await post(token, { ...body, more: 'x'.repeat(17_000) }), 413, 'request body larger than 16384 bytes')
  refused(t, await service.call('GET', path, { token }), 405, 'method not allowed')
  t.match(await service.admin.listHooks(null), [{ waiting: 0 }])
  t.strictSame(received, [])
})

t.test('A private repository is the same as a missing one', async (t) => {
  const { post, service, body } = await world(t, { private: true })
  refused(t, await post(undefined), 401, 'authentication required')
  const token = await service.tokenOf('bob')
  const missing = await service.call('POST', path.replace('hello', 'none'), { token, body })
  const hidden = await post(token)
  t.strictSame([hidden.status, hidden.body], [missing.status, missing.body])
})

t.test('A right that is gone when the body has arrived is none', async (t) => {
  const { service, body } = await world(t)
  const { admin } = service
  await admin.grantAccess('alice/hello', 'git', 'write')
  const text = JSON.stringify(body)
  const socket = await RawSocket.open(t, service.url)
  const headers = { Authorization: `Bearer ${await service.tokenOf('git')}`, Expect: '100-continue' }
  await socket.send(requestHead('POST', path, { ...headers, 'Content-Length': String(text.length) }))
  t.equal((await socket.answer()).status, 100)
  await admin.revokeAccess('alice/hello', 'git')
  // Longer than what counts as a body that comes at once.
  await setTimeout(50)
  await socket.send(text)
  t.equal((await socket.answer()).status, 403)
  t.match(await admin.listHooks(null), [{ waiting: 0 }])
})

t.test('Where nobody is told of anything there is no such address', async (t) => {
  const { service, repositories, tokenOf } = await embed(t)
  await makeRepositoryWithCommit(repositories, 'alice/hello')
  const url = await listen(t, service.handler)
  const answer = await fetchJson(`${url}${path}`, { method: 'POST', token: await tokenOf('alice'), body: {} })
  t.strictSame([answer.status, answer.body], [404, { error: 'not found' }])
})
