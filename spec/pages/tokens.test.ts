import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'
import { signIn, visit } from '../fixtures/visit.js'

const form = { name: 'CI of hello', expires: '90d', scope: 'repo' }

t.test('A token made in the page works, and is shown this once', async (t) => {
  const clock = { time: Date.now(), now: () => clock.time }
  const service = await startService(t, { clock })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const cookie = await signIn(service, 'alice')
  const { status, text, headers } = await visit(service, '/settings/tokens', { cookie, form })
  t.strictSame([status, headers.get('cache-control'), headers.get('etag')], [201, 'no-store', null])
  const [, token = ''] = /class="token">(cst_\w+)</.exec(text) ?? []
  t.equal((await service.report('alice/hello', sha, token, { state: 'success' })).status, 201)
  const listed = await visit(service, '/settings/tokens', { cookie })
  t.equal(listed.headers.get('cache-control'), 'no-store')
  t.match(listed.text, 'CI of hello')
  t.notMatch(listed.text, token)
  t.notMatch(JSON.stringify(service.log), token)
  const [{ id, expires_at } = { id: '', expires_at: '' }] = await service.admin.listTokens('alice')
  t.equal(Date.parse(expires_at ?? '') - clock.time, 90 * 24 * 60 * 60 * 1000)
  t.match(
    service.log.find(({ msg }) => msg === 'audit: token created'),
    { by: { user: 'alice' }, token: id, user: 'alice', name: 'CI of hello' },
  )
})

t.test('A token has the limits that were filled in, and the list tells them', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  await makeRepositoryWithCommit(service.repositories, 'alice/other')
  const cookie = await signIn(service, 'alice')
  const limits = { repositories: 'alice/hello, alice/x', contexts: 'build, test/*' }
  const { text } = await visit(service, '/settings/tokens', { cookie, form: { ...form, ...limits } })
  const [, token = ''] = /class="token">(cst_\w+)</.exec(text) ?? []
  const report = async (context: string) =>
    (await service.report('alice/hello', sha, token, { state: 'success', context })).status
  t.strictSame([await report('build'), await report('test/unit'), await report('deploy')], [201, 201, 403])
  await visit(service, '/settings/tokens', { cookie, form: { ...form, access: 'read' } })
  const listed = (await visit(service, '/settings/tokens', { cookie })).text
  t.match(listed, 'scope repo · only alice/hello, alice/x · reports build, test/*')
  t.match(listed, 'scope repo · only reads')
  const page = await visit(service, `/repos/alice/hello/commits/${sha}`, { cookie })
  t.match(page.text, 'alice</bdi> · <time', 'who reported')
  t.match(listed, /What it may do.*<select name="access"/s)
  t.match(listed, 'empty: all that you have a right to')
  for (const wrong of [{ access: 'admin' }, { repositories: '../x' }, { contexts: 'x'.repeat(256) }])
    t.equal((await visit(service, '/settings/tokens', { cookie, form: { ...form, ...wrong } })).status, 422)
})

t.test('A token that has expired says so', async (t) => {
  const clock = { time: Date.parse('2026-01-31T12:35:00Z'), now: () => clock.time }
  const service = await startService(t, { clock })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const expiresAt = '2026-01-31T12:56:00.000Z'
  const about = { user: 'alice', name: '', scopes: ['repo'], expiresAt }
  const { token } = await service.admin.createToken(about)
  await service.report('alice/hello', sha, token, { state: 'success' })
  const cookie = await signIn(service, 'alice')
  const shown = async () => (await visit(service, '/settings/tokens', { cookie })).text
  t.match(await shown(), /expires <time [^>]*title="2026-01-31 12:56 UTC">in 21 minutes</)
  clock.time = Date.parse(expiresAt)
  t.match(await shown(), /expired <time [^>]*title="2026-01-31 12:56 UTC">just now</)
})

t.test('One is revoked after a question, and only by whom it is', async (t) => {
  const service = await startService(t)
  const cookie = await signIn(service, 'alice')
  const { token, id } = await service.admin.createToken({ user: 'alice', name: 'a', scopes: [], expiresAt: null })
  const other = await service.admin.createToken({ user: 'bob', name: 'b', scopes: ['repo'], expiresAt: null })
  const question = await visit(service, `/settings/tokens/${id}/revoke`, { cookie })
  t.strictSame([question.status, question.text.includes('Revoke <bdi>a</bdi>?')], [200, true])
  for (const unknown of [other.id, '0123']) {
    t.equal((await visit(service, `/settings/tokens/${unknown}/revoke`, { cookie })).status, 404)
    t.equal((await visit(service, `/settings/tokens/${unknown}/revoke`, { cookie, form: {} })).status, 404)
  }
  t.equal((await service.admin.listTokens(null)).length, 2)
  const gone = await visit(service, `/settings/tokens/${id}/revoke`, { cookie, form: {} })
  t.strictSame([gone.status, gone.headers.get('location')], [303, '/settings/tokens'])
  t.equal((await service.call('GET', '/api/v1/repos/x/y/commits/z/statuses', { token })).status, 401)
  t.match(
    service.log.find(({ msg }) => msg === 'audit: token revoked'),
    { by: { user: 'alice' }, token: id },
  )
})

t.test('What is wrong in the form is said in it, with what was filled in', async (t) => {
  const service = await startService(t)
  const cookie = await signIn(service, 'alice')
  const wrong: [Record<string, string>, string][] = [
    [{ name: ' ' }, 'A name has 1 to 100 characters, on one line.'],
    [{ name: 'x'.repeat(101) }, 'A name has 1 to 100 characters, on one line.'],
    [{ name: 'a\u0000b' }, 'A name has 1 to 100 characters, on one line.'],
    [{ name: 'a\nb' }, 'A name has 1 to 100 characters, on one line.'],
    [{ expires: '8d' }, 'Choose when it expires.'],
    [{ expires: 'toString' }, 'Choose when it expires.'],
    [{ scope: 'admin' }, 'there is no scope admin'],
  ]
  for (const [fields, words] of wrong) {
    const { status, text } = await visit(service, '/settings/tokens', { cookie, form: { ...form, ...fields } })
    t.strictSame([status, text.includes(words)], [422, true], words)
    t.match(text, 'role="alert"')
  }
  const { text } = await visit(service, '/settings/tokens', { cookie, form: { ...form, scope: 'x', name: '"><b>' } })
  t.match(text, 'value="&quot;&gt;&lt;b&gt;"')
  for (const [sent, words] of [
    [{ scope: 'repo' }, 'A name has 1 to 100 characters, on one line.'],
    [{ name: 'x' }, 'Choose when it expires.'],
  ] as const) {
    const answer = await visit(service, '/settings/tokens', { cookie, form: sent })
    t.strictSame([answer.status, answer.text.includes(words)], [422, true], words)
  }
  const large = await visit(service, '/settings/tokens', { cookie, form: { name: 'x'.repeat(17_000) } })
  t.equal(large.status, 413)
  t.strictSame(await service.admin.listTokens(null), [])
  t.equal(
    (await visit(service, '/settings/tokens', { cookie, form: { ...form, expires: 'never', scope: '' } })).status,
    201,
  )
  t.match(await service.admin.listTokens('alice'), [{ scopes: [], expires_at: null }])
})

t.test('Who is not signed in is told how to, and learns nothing', async (t) => {
  const service = await startService(t)
  const { id } = await service.admin.createToken({ user: 'alice', name: 'secret name', scopes: [], expiresAt: null })
  for (const path of ['/settings/tokens', `/settings/tokens/${id}/revoke`]) {
    for (const options of [{}, { form }]) {
      const { status, text } = await visit(service, path, options)
      t.strictSame([status, text.includes('<h1>Sign in</h1>'), text.includes('secret name')], [401, true, false])
    }
  }
})
