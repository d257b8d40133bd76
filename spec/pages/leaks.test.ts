import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { pagesOf, signIn, visit } from '../fixtures/visit.js'

t.test('What may not be read looks exactly like what is missing', async (t) => {
  const { service, sha } = await pagesOf(t)
  const hidden = await makeRepositoryWithCommit(service.repositories, 'alice/hidden')
  const bob = await signIn(service, 'bob')
  const paths = (name: string) =>
    ['', '?ref=main', '?ref=missing', '?skip=x', `/commits/${hidden.sha}`, `/commits/${hidden.sha}/fragment`].map(
      (path) => `/repos/alice/${name}${path}`,
    )
  const wrong = (name: string) => [
    ...['xyz', 'main', hidden.sha.slice(0, 7), 'main/fragment'].map((named) => `/repos/alice/${name}/commits/${named}`),
    `/repos/alice/${name}/nonsense`,
    `/repos/alice/${name}/badge.svg?ref=x`,
  ]
  for (const cookie of [undefined, bob]) {
    const seen = async (path: string) => {
      const { status, text, headers } = await visit(service, path, cookie === undefined ? {} : { cookie })
      const kept = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
      return { status, kept, text: text.replaceAll(/hidden|absent/g, 'NAME') }
    }
    const [there, absent] = [
      [...paths('hidden'), ...wrong('hidden')],
      [...paths('absent'), ...wrong('absent')],
    ]
    for (const [index, path] of there.entries()) {
      const answer = await seen(path)
      t.strictSame(answer, await seen(absent[index] ?? ''), path)
      t.equal(answer.status, 404)
    }
    const home = await visit(service, '/', cookie === undefined ? {} : { cookie })
    t.notMatch(home.text, 'alice/hidden')
    t.match(
      (await visit(service, '/?q=hidden', cookie === undefined ? {} : { cookie })).text,
      'No repository that you may',
    )
  }
  for (const path of ['/?after=', '/?q=alice&after=']) {
    const behind = async (name: string) => (await visit(service, `${path}alice%2F${name}`, { cookie: bob })).text
    t.match(await behind('absent'), 'alice/hello', 'what is behind a name follows, whether or not there is such a one')
    t.equal(await behind('hidden'), await behind('hiddem'), 'the place in the list does not tell what is there')
  }
  t.match((await visit(service, '/repos/alice/hidden')).text, /may be there for those who may read it.*sign in/s)
  t.equal((await visit(service, `/repos/alice/hello/commits/${sha}`)).status, 200)
  const alice = await signIn(service, 'alice')
  t.equal((await visit(service, '/repos/alice/hidden', { cookie: alice })).status, 200)
  t.match((await visit(service, '/', { cookie: alice })).text, 'alice/hidden')
})

t.test('A page that somebody may see is not remembered for others, nor beyond a right', async (t) => {
  const { service } = await pagesOf(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hidden')
  const path = `/repos/alice/hidden/commits/${sha}`
  await service.admin.grantAccess('alice/hidden', 'bob', 'read')
  const bob = await signIn(service, 'bob')
  const { status, headers } = await visit(service, path, { cookie: bob })
  t.equal(status, 200)
  t.equal((await visit(service, path)).status, 404)
  await service.admin.revokeAccess('alice/hidden', 'bob')
  t.equal((await visit(service, path, { cookie: bob })).status, 404)
  const etag = headers.get('etag') ?? ''
  t.equal((await visit(service, path, { headers: { 'If-None-Match': etag } })).status, 404)
})

t.test('Every page forbids what it does not need', async (t) => {
  const { service, home, commit } = await pagesOf(t)
  const cookie = await signIn(service, 'alice')
  for (const path of ['/', home, commit, '/sign-in', '/settings/tokens', '/repos/x/y']) {
    const { headers } = await visit(service, path, { cookie })
    const policy = headers.get('content-security-policy') ?? ''
    t.match(policy, "default-src 'none'", path)
    t.match(policy, "frame-ancestors 'none'")
    t.notMatch(policy, /script|unsafe|\*/)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.match(headers.get('referrer-policy'), path === '/settings/tokens' ? 'same-origin' : 'no-referrer', path)
    t.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    t.equal(headers.get('access-control-allow-origin'), null)
  }
})
