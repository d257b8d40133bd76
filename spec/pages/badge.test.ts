import t from 'tap'
import { git, makeCommit, makeRepository } from '../fixtures/git.js'
import { pagesOf, signIn, visit } from '../fixtures/visit.js'

t.test('A badge tells the state of the commit that a ref names', async (t) => {
  const { service, home, directory, token, sha } = await pagesOf(t)
  const badge = async (query = '') => {
    const { status, text, headers } = await visit(service, `${home}/badge.svg${query}`)
    t.strictSame([status, headers.get('content-type')], [200, 'image/svg+xml; charset=utf-8'])
    t.match(headers.get('cache-control'), /max-age=60/)
    return /<title>(.*?)<\/title>/.exec(text)?.[1]
  }
  const report = async (commit: string, context: string, state: string) => {
    t.equal((await service.report('alice/hello', commit, token, { context, state })).status, 201)
  }
  t.equal(await badge(), 'checks: no status')
  await report(sha, 'build', 'success')
  t.equal(await badge('?ref=main'), 'checks: passing')
  await report(sha, 'test', 'error')
  for (const ref of ['main', '']) t.equal(await badge(`?ref=${ref}`), 'checks: failing')
  t.equal(await badge('?ref=main&context=build'), 'build: passing')
  t.equal(await badge('?context=test'), 'test: failing')
  t.equal(await badge('?context=%3Cscript%3E%00'), '&lt;script&gt;: no status')
  const second = await makeCommit(directory, 'second', 'next')
  await report(second, 'build', 'pending')
  t.equal(await badge('?ref=next'), 'checks: pending')
  t.equal(await badge('?ref=next&settled'), 'checks: no status')
  const third = await makeCommit(directory, 'third')
  await report(third, 'build', 'pending')
  await makeCommit(directory, 'nothing is reported on it')
  // By a name that was not asked for before: what one means is remembered for two seconds.
  t.equal(await badge('?ref=heads/main'), 'checks: no status')
  t.equal(await badge('?ref=heads/main&settled'), 'checks: failing')
  t.equal(await badge('?ref=heads/main&settled&context=build'), 'build: passing')
})

t.test('The badge of a ref that is not there says so; a repository without commits has one', async (t) => {
  const { service, home, directory } = await pagesOf(t)
  await git('-C', directory, 'tag', 'tree', 'main^{tree}')
  for (const query of ['ref=missing', 'ref=--all', 'ref=tree', 'ref=tree&settled', 'ref=tree&context=x']) {
    const { status, text, headers } = await visit(service, `${home}/badge.svg?${query}`)
    t.match([status, text], [200, 'branch not found'], query)
    t.match(headers.get('content-type'), 'image/svg+xml')
    t.match(headers.get('cache-control'), 'max-age=60')
  }
  t.match((await visit(service, `${home}/badge.svg?ref=`)).text, 'no status', 'without a name it is the default branch')
  t.equal((await visit(service, `${home}/badge.svg?context=${'x'.repeat(256)}`)).status, 404)
  await makeRepository(service.repositories, 'alice/empty', { public: true })
  t.match((await visit(service, '/repos/alice/empty/badge.svg')).text, 'no status')
})

t.test('Of a private repository it is as of a missing one, and kept by nobody', async (t) => {
  const { service, home } = await pagesOf(t, { private: true })
  const [hidden, missing] = [
    await visit(service, `${home}/badge.svg`),
    await visit(service, '/repos/alice/x/badge.svg'),
  ]
  // Each has a link to sign in that leads back to its own address.
  t.strictSame([hidden.status, hidden.text], [404, missing.text.replaceAll('/alice/x/', '/alice/hello/')])
  const shown = await visit(service, `${home}/badge.svg`, { cookie: await signIn(service, 'alice') })
  t.strictSame([shown.status, shown.headers.get('cache-control')], [200, 'private, no-cache'])
})
