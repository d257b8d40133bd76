import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express from 'express'
import t, { type Test } from 'tap'
import { createCommitStatusService, type CommitStatusOptions, type HostPages } from '../../lib/index.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { JournalStore } from '../fixtures/journal-store.js'
import { ModelStore } from '../fixtures/model-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { visit } from '../fixtures/visit.js'

/** A host with a session of its own: the user is in a header of its own making. */
async function host(t: Test, pages: HostPages | undefined, mount?: string, more: Partial<CommitStatusOptions> = {}) {
  const folder = t.testdir({ repositories: {} })
  const repositories = join(folder, 'repositories')
  const service = await createCommitStatusService({
    repositories,
    store: `level:${join(folder, 'store')}`,
    ...(pages && { pages }),
    ...more,
  })
  const app = express()
  if (mount === undefined) app.use(service.handler)
  else app.use(mount, service.handler)
  app.use((_, response) => void response.send('the host'))
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
    await service.close()
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sha, service }
}

const session = ({ headers }: IncomingMessage): string | undefined =>
  typeof headers['x-test-user'] === 'string' ? headers['x-test-user'] : undefined

const alice = { headers: { 'X-Test-User': 'alice' } }

t.test("Without the option, every page address is the host's", async (t) => {
  const place = await host(t, undefined)
  for (const path of [
    '/',
    '/repos/alice/hello',
    '/settings/tokens',
    '/sign-in',
    '/style.css',
    '/marks.js',
    '/robots.txt',
  ])
    t.equal((await visit(place, path)).text, 'the host', path)
})

t.test('Its way to sign in is told where people come from', async (t) => {
  const place = await host(t, { session, base: '/x', signInUrl: '/login?next={return}' })
  const next = async (path: string) => /href="\/login\?next=([^"]*)"/.exec((await visit(place, path)).text)?.[1]
  t.equal(await next('/x/repos/alice/hello?ref=$%26'), encodeURIComponent('/x/repos/alice/hello?ref=$%26'))
  t.equal(await next('/x/sign-in?return=/x/settings/tokens'), encodeURIComponent('/x/'), 'in the header')
  const { text } = await visit(place, '/x/sign-in?return=/x/settings/tokens')
  t.match(text, `class="button" href="/login?next=${encodeURIComponent('/x/settings/tokens')}"`)
})

t.test('With it, the host tells who looks', async (t) => {
  const place = await host(t, { session, signInUrl: '/login' })
  t.equal((await visit(place, '/repos/alice/hello', alice)).status, 200)
  const { status, text } = await visit(place, '/repos/alice/hello')
  t.strictSame([status, text.includes('href="/login"')], [404, true])
  for (const path of ['/elsewhere', '/robots.txt']) t.equal((await visit(place, path)).text, 'the host', path)
  const form = { name: 'x', expires: '7d', scope: 'repo' }
  t.equal((await visit(place, '/settings/tokens', { form, headers: alice.headers })).status, 201)
  t.match((await visit(place, '/sign-in')).text, 'href="/login"')
  t.equal((await visit(place, '/sign-out', { form: {} })).status, 404, "sessions are the host's to end")
})

t.test('A home page that shows no repository names no way to sign in by links where there is none', async (t) => {
  const { text } = await visit(await host(t, { session, signInUrl: '/login' }), '/')
  t.match(text, /TOKEN=\$\(.* token create alice/)
  t.match(text, 'Bare repositories are looked for in <code>/', 'to who sits at the machine')
  t.notMatch(text, 'sign-in alice')
})

t.test('Nor where repositories are looked for, to others', async (t) => {
  const place = await host(t, { session, signInUrl: '/login' })
  t.notMatch((await visit(place, '/', { headers: { 'X-Forwarded-For': '192.0.2.1' } })).text, 'are looked for in')
})

t.test("Nor a command that makes tokens, where tokens are the host's", async (t) => {
  const authenticator = { authenticate: () => Promise.resolve(undefined) }
  const { text } = await visit(await host(t, { session, signInUrl: '/login' }, undefined, { authenticator }), '/')
  t.match(text, 'Make the first one')
  t.notMatch(text, 'token create')
})

t.test('Commits of the APIs of others lead to the pages where they are', async (t) => {
  const compatibleApis = ['github', 'gitlab'] as const
  const place = await host(t, { session, base: '/status' }, undefined, { compatibleApis })
  await place.service.administration.setVisibility('alice/hello', 'public')
  const page = `${place.url}/status/repos/alice/hello/commits/${place.sha}`
  for (const path of ['/api/v3/repos/alice/hello/git/commits', '/api/v3/repos/alice/hello/commits'])
    t.equal((await fetchJson(`${place.url}${path}/${place.sha}`)).body['html_url'], page, path)
  t.equal((await fetch(page)).status, 200)
})

t.test('They have a title, and lead to where the host shows a commit', async (t) => {
  const place = await host(t, { session, title: 'Acme <checks>', commitUrl: '/{repo}/-/commit/{id}' })
  const { text } = await visit(place, `/repos/alice/hello/commits/${place.sha}`, alice)
  t.match(text, ': a commit · Acme &lt;checks&gt;</title>')
  t.match(text, '<a class="site" href="/">Acme &lt;checks&gt;</a>')
  t.match(text, `href="/alice/hello/-/commit/${place.sha}"`)
  t.match(
    (await visit(place, '/repos/alice/missing', alice)).text,
    'Repository not found · Acme &lt;checks&gt;</title>',
  )
})

t.test('Pages may have a base, whether the host takes it away or not', async (t) => {
  for (const mount of [undefined, '/status']) {
    await t.test(mount ?? 'not', async (t) => {
      const place = await host(t, { session, base: '/status' }, mount)
      const { status, text } = await visit(place, '/status/repos/alice/hello', alice)
      t.equal(status, 200)
      t.match(text, `href="hello/commits/${place.sha}"`)
      for (const path of ['/status', '/status/', '/status/style.css'])
        t.equal((await visit(place, path, alice)).status, 200, path)
      for (const path of ['/', '/repos/alice/hello', '/statuses/']) t.equal((await visit(place, path)).text, 'the host')
      t.match((await visit(place, '/status/marks.js')).text, 'const base = "/status"')
    })
  }
})

t.test('A session that throws, hangs or answers nonsense costs the page, and shows nobody as anybody', async (t) => {
  const wrong: unknown[] = ['', 7, null, { user: 'alice' }]
  let answer: unknown
  const place = await host(t, {
    session: () => {
      if (answer instanceof Error) throw answer
      return answer as string
    },
  })
  for (const each of [...wrong, new Error('no session')]) {
    answer = each
    const { status, text } = await visit(place, '/repos/alice/hello')
    t.strictSame([status, text.includes('Internal error')], [500, true], String(each))
  }
  answer = undefined
  t.equal((await visit(place, '/repos/alice/hello')).status, 404)
})

t.test('The tokens of its store are shown as they are; where it fails, so does the page', async (t) => {
  const store = new ModelStore()
  const place = await host(t, { session }, undefined, { store })
  const { administration } = place.service
  const { id } = await administration.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })
  await store.tokens.noteUse(new Map([[id, '2026-01-31T12:00:00.000Z']]))
  const { text } = await visit(place, '/settings/tokens', alice)
  for (const words of ['without a name', 'without a scope', 'last used on <time>2026-01-31</time>'])
    t.ok(text.includes(words), words)
  t.match((await visit(place, `/settings/tokens/${id}/revoke`, alice)).text, `Revoke ${id}?`)
  store.tokens.add = async () => await Promise.reject(new Error('a fault of the store'))
  const form = { name: 'x', expires: '7d', scope: 'repo' }
  const failed = await visit(place, '/settings/tokens', { form, headers: alice.headers })
  t.strictSame([failed.status, failed.text.includes('a fault of the store')], [500, false])
})

t.test('Options that cannot work are refused', async (t) => {
  const folder = t.testdir()
  const make = async (pages: unknown) =>
    await createCommitStatusService({ repositories: folder, store: `level:${folder}/store`, pages: pages as HostPages })
  await t.rejects(make({}), /the option pages must be an object with session\(\)/)
  await t.rejects(make({ session, base: '/x/' }), /pages\.base must be like/)
  await t.rejects(make({ session, base: 7 }), /pages\.base must be like/)
  await t.rejects(make({ session, signInUrl: 'javascript:alert(1)' }), /pages\.signInUrl must be/)
  for (const title of ['', 7, 'x'.repeat(61)]) await t.rejects(make({ session, title }), /pages\.title must be a text/)
  const addresses = [
    '//x/{id}',
    'ftp://x/{id}',
    'https://x/{repo}',
    '/{id}/{id}',
    '/{sha}/{id}',
    '/ {id}',
    'https:///{id}',
  ]
  for (const commitUrl of [...addresses, `/{id}${'x'.repeat(500)}`, 'https://[/{id}', 'javascript:{id}', 7])
    await t.rejects(make({ session, commitUrl }), /pages\.commitUrl must be .* with \{id\}/, String(commitUrl))
})

t.test('Where the host finds repositories in its own way, one is opened by its name', async (t) => {
  const folder = t.testdir({ repositories: {} })
  const { directory, sha } = await makeRepositoryWithCommit(join(folder, 'repositories'), 'alice/hello')
  const store = new ModelStore()
  const report = { state: 'success', context: 'ci', description: null, target_url: 'javascript:alert(1)' } as const
  await store.statuses.save(repositoryNamed('alice/hello'), commitId(sha), report, 0)
  const service = await createCommitStatusService({
    repositories: {
      find: ({ full }) => Promise.resolve(full === 'alice/hello' ? { directory, public: true } : undefined),
    },
    store,
    authenticator: { authenticate: () => Promise.resolve(undefined) },
    pages: { session },
  })
  const server = createServer(service.handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
    await service.close()
  })
  const place = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  t.match((await visit(place, '/')).text, 'Open a repository, owner/repo')
  t.equal((await visit(place, '/?q=alice/hello')).headers.get('location'), '/repos/alice/hello')
  t.equal((await visit(place, '/repos/alice/hello')).status, 200)
  for (const _ of ['first', 'again']) {
    const { text } = await visit(place, `/repos/alice/hello/commits/${sha}`)
    t.ok(text.includes('Details') && !text.includes('javascript:'), 'what its store holds becomes no link')
  }
  t.equal((await visit(place, '/settings/tokens', alice)).status, 404, "tokens are the host's")
  t.match((await visit(place, '/sign-in')).text, 'Ask whoever runs it where that is done.')
})

t.test(
  "A store of the host's may leave out since when a status was pending, or tell a time that is none",
  async (t) => {
    const store = new JournalStore(join(t.testdir(), 'journal'), { keepsPendingSince: false })
    const { list } = store.statuses
    let told: { pending_since?: string } = {}
    Object.assign(store.statuses, {
      list: async (...args: Parameters<typeof list>) => (await list(...args)).map((status) => ({ ...status, ...told })),
    })
    const { service, repositories } = await embed(t, { store, pages: { session: () => 'alice' } })
    const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
    const url = await listen(t, (request, response) => service.handler(request, response))
    for (const pending_since of [undefined, 'noon', '9999-01-31T12:00:00.000Z', '']) {
      told = pending_since === undefined ? {} : { pending_since }
      for (const state of ['pending', 'success']) {
        await service.report('alice/hello', sha, { state, description: String(pending_since) })
        const { status, text } = await visit({ url }, `/repos/alice/hello/commits/${sha}`)
        t.strictSame([status, text.includes(`>${String(pending_since)}<`)], [200, true])
        t.notMatch(text, /pending for | took |NaN|Invalid/, `${state} ${pending_since}`)
      }
    }
    // One that has no way to a single context.
    for (const [context, word] of [
      ['default', 'passing'],
      ['other', 'no status'],
    ] as const)
      t.match((await visit({ url }, `/repos/alice/hello/badge.svg?context=${context}`)).text, word)
  },
)
