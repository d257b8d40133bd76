import t, { type Test } from 'tap'
import type { Administration } from '../../lib/admin/administration.js'
import type { Identity } from '../../lib/index.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { repositoryNamed } from '../fixtures/names.js'
import { refused } from '../fixtures/refusal.js'
import { itemsOf } from '../fixtures/work.js'

type Limits = Pick<Parameters<Administration['createToken']>[0], 'repositories' | 'contexts' | 'access'>

async function limited({ service }: HostedCommit, limits: Limits): Promise<string> {
  const request = { user: 'alice', name: '', scopes: ['repo'], expiresAt: null, ...limits }
  return (await service.admin.createToken(request)).token
}

const DENIED = 'the token may not report this context'

t.test('A token is to a repository that it is not for what it is to a user without rights', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const { service } = hosted
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/open', { public: true })
  const token = await limited(hosted, { repositories: ['alice/open2', 'alice/hell', 'Alice/hello', 'bob/x'] })
  const stranger = await service.tokenOf('stranger')
  for (const path of [
    hosted.listPath,
    `/api/v1/repos/alice/missing/commits/${hosted.sha}/statuses`,
    `/api/v1/repos/alice/open/commits/${sha}/statuses`,
  ]) {
    const [ours, theirs] = [
      await service.call('GET', path, { token }),
      await service.call('GET', path, { token: stranger }),
    ]
    t.strictSame([ours.status, ours.body], [theirs.status, theirs.body], path)
  }
  for (const [repository, id] of [
    ['alice/hello', hosted.sha],
    ['alice/open', sha],
  ] as const) {
    const body = { state: 'success' }
    const ours = await service.report(repository, id, token, body)
    const theirs = await service.report(repository, id, stranger, body)
    t.strictSame([ours.status, ours.body], [theirs.status, theirs.body], repository)
    t.not(ours.status, 201)
  }
  t.strictSame(await hosted.stored(), [])
  const its = await limited(hosted, { repositories: ['bob/x', 'alice/hello'] })
  t.equal((await service.report('alice/hello', hosted.sha, its, { state: 'success' })).status, 201)
})

t.test('For another repository the same is asked, whatever the token is limited to', async (t) => {
  const asked: string[] = []
  const { service } = await embed(t, {
    repositories: { find: async ({ full }) => void asked.push(`find ${full}`) },
    accessPolicy: {
      access: async (user, { full }) => {
        asked.push(`access ${user} ${full}`)
        return 'write'
      },
    },
  })
  for (const repositories of [['a/b'], ['a/c'], undefined]) {
    await service.access({ user: 'alice', scopes: [], ...(repositories && { repositories }) }, 'a/b')
    t.strictSame(asked.splice(0).sort(), ['access alice a/b', 'find a/b'])
  }
})

t.test('A token can report the contexts that it is for, and no others; nothing else is saved', async (t) => {
  const hosted = await hostCommit(t)
  const token = await limited(hosted, { contexts: ['test/*', 'build'] })
  const report = async (body: object) => await hosted.service.report(hosted.repository, hosted.sha, token, body)
  for (const context of ['test/unit', 'test/', 'build'])
    t.equal((await report({ state: 'success', context })).status, 201)
  const saved = await hosted.stored()
  for (const context of ['test', 'build2', 'Build', 'lint', 'default'])
    refused(t, await report({ state: 'success', context }), 403, DENIED)
  refused(t, await report({ state: 'success' }), 403, DENIED)
  refused(t, await report({ state: 'success', context: 'lint', target_url: 'x' }), 422, /^target_url /)
  const [, other] = [hosted.sha, '0'.repeat(40)]
  refused(
    t,
    await hosted.service.report(hosted.repository, other, token, { state: 'success', context: 'lint' }),
    404,
    'commit not found',
  )
  t.strictSame(await hosted.stored(), saved)
  t.equal((await hosted.service.list(hosted.repository, hosted.sha, token)).status, 200, 'it reads all of them')
})

t.test('A token to read reads what its user may, and writes nothing', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const token = await limited(hosted, { access: 'read' })
  t.equal((await hosted.service.list(hosted.repository, hosted.sha, token)).status, 200)
  refused(
    t,
    await hosted.service.report(hosted.repository, hosted.sha, token, { state: 'success' }),
    403,
    'write access to the repository is required',
  )
  const write = await limited(hosted, { access: 'write' })
  t.equal((await hosted.service.report(hosted.repository, hosted.sha, write, { state: 'success' })).status, 201)
  const reader = { user: 'bob', name: '', scopes: ['repo'], expiresAt: null, access: 'write' as const }
  await hosted.service.admin.grantAccess(hosted.repository, 'bob', 'read')
  const { token: more } = await hosted.service.admin.createToken(reader)
  t.equal(
    (await hosted.service.report(hosted.repository, hosted.sha, more, { state: 'success' })).status,
    403,
    'no more',
  )
})

t.test('A body that is late is judged by what the token is limited to by then', async (t) => {
  let identity: Identity = { user: 'alice', scopes: ['repo'], contexts: ['build'] }
  const { service, repositories } = await embed(t, { authenticator: { authenticate: async () => identity } })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const base = await listen(t, (request, response) => service.handler(request, response))
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        identity = { ...identity, contexts: ['test'] }
        await new Promise((resolve) => setTimeout(resolve, 100))
        controller.enqueue(Buffer.from('{"state":"success","context":"build"}'))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const response = await fetch(`${base}/api/v1/repos/alice/hello/statuses/${sha}`, {
    method: 'POST',
    headers: { Authorization: 'Bearer x' },
    body,
    duplex: 'half',
  })
  t.strictSame([response.status, await response.json()], [403, { error: DENIED }])
  t.strictSame((await service.list('alice/hello', sha)).statuses, [])
})

t.test('A host hears the limits of a token, and may ask with what it heard', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const limits = { repositories: ['alice/hello'], contexts: ['build'], access: 'read' as const }
  const request = { user: 'alice', name: '', scopes: ['repo'], expiresAt: null }
  const { token, id: tokenId } = await service.administration.createToken({ ...request, ...limits })
  const identity = await service.authenticate(token)
  t.strictSame(identity, { user: 'alice', scopes: ['repo'], tokenId, ...limits })
  t.strictSame(
    [await service.access('alice', 'alice/hello'), await service.access(identity, 'alice/hello')],
    ['write', 'read'],
  )
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }, identity), { code: 'write_denied' })
  const writer = { user: 'alice', scopes: [], contexts: ['build'] }
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }, writer), {
    code: 'context_denied',
    status: 403,
  })
  t.match(await service.report('alice/hello', sha, { state: 'success', context: 'build' }, writer), {
    context: 'build',
  })
})

const NONSENSE: Record<string, unknown>[] = [
  { repositories: 'alice/hello' },
  { repositories: [1] },
  { contexts: 'build' },
  { contexts: null },
  { access: 'none' },
  { access: null },
  { tokenId: 7 },
]

t.test('Limits of a host that make no sense let nobody in', async (t) => {
  let more: object = {}
  const { service, repositories } = await embed(t, {
    authenticator: { authenticate: async () => ({ user: 'alice', scopes: ['repo'], ...more }) },
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const base = await listen(t, (request, response) => service.handler(request, response))
  for (more of NONSENSE) {
    const options = { method: 'POST', token: 'x', body: { state: 'success', context: 'build' } }
    const answer = await fetchJson(`${base}/api/v1/repos/alice/hello/statuses/${sha}`, options)
    t.equal(answer.status, 500, JSON.stringify(more))
  }
  t.strictSame((await service.list('alice/hello', sha)).statuses, [])
})

t.test('A token is not made with limits or a name that break their rules', async (t) => {
  const { service } = await embed(t)
  const bad: [Limits, RegExp][] = [
    [{ repositories: [] }, /^a token is limited to a list of 1 to 100 repositories$/],
    [{ contexts: Array.from({ length: 101 }, () => 'x') }, /^a token is limited to a list of 1 to 100 contexts$/],
    [{ repositories: ['hello'] }, /no repository name/],
    [{ repositories: ['*/*'] }, /no repository name/],
    [{ contexts: [''] }, /^"" is no pattern: 1 to 255 characters$/],
    [{ contexts: ['a'.repeat(256)] }, /is no pattern/],
    // As a host in JavaScript may have it.
    [{ contexts: 'test' } as unknown as Limits, /list of 1 to 100/],
    [{ access: 'none' } as unknown as Limits, /^access must be read or write, not "none"$/],
    [{ name: 'a\u0000' } as Limits, /^"a\\u0000" is no name$/],
    [{ name: '\ud800' } as Limits, /is no name$/],
  ]
  for (const [limits, message] of bad) {
    const request = { user: 'alice', name: '', scopes: ['repo'], expiresAt: null, ...limits }
    await t.rejects(service.administration.createToken(request), { name: 'ArgumentError', message })
  }
  t.strictSame(await service.administration.listTokens(null), [])
})

t.test('Who reported is told to listeners, lists of an admin, exports and the log, and in no answer', async (t) => {
  const hosted = await hostCommit(t)
  const { service, repository, sha } = hosted
  const { token, id } = await service.admin.createToken({ user: 'alice', name: '', scopes: ['repo'], expiresAt: null })
  const answer = await service.report(repository, sha, token, { state: 'success', context: 'build' })
  const members = ['id', 'sha', 'context', 'state', 'description', 'target_url', 'created_at', 'updated_at']
  t.strictSame(Object.keys(answer.body), members)
  t.notMatch((await hosted.list()).text, 'reporter')
  const reporter = { user: 'alice', token: id }
  t.match(await itemsOf(service.admin.listStatuses(repository, sha)), [{ reporter }])
  const exported = (await itemsOf(service.admin.exportStore(null))).map((line) => JSON.parse(line) as object)
  t.match(
    exported.find((line) => 'context' in line),
    { reporter },
  )
  t.match(
    service.log.filter((line) => line['msg'] === 'request' && line['status'] === 201),
    [{ reporter }],
  )
})

t.test('Of the host, and of its users and tokens, a listener hears who it was', async (t) => {
  const { service, repositories } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const told: unknown[] = []
  service.on('status', ({ reporter, status, previous }) => {
    told.push(reporter)
    for (const shown of [status, previous]) if (shown) t.notOk('reporter' in shown)
  })
  await service.report('alice/hello', sha, { state: 'success' })
  await service.report('alice/hello', sha, { state: 'success' }, 'alice')
  const saved = await service.report(
    'alice/hello',
    sha,
    { state: 'error' },
    { user: 'alice', scopes: [], tokenId: '7' },
  )
  t.strictSame(told, [
    { user: 'host', token: null },
    { user: 'alice', token: null },
    { user: 'alice', token: '7' },
  ])
  t.notOk('reporter' in saved)
  t.strictSame((await service.list('alice/hello', sha)).statuses, [saved])
})

t.test('An export of before is read: nobody knows who reported', importsOfBefore)

async function importsOfBefore(t: Test): Promise<void> {
  const from = await hostCommit(t)
  await from.report({ state: 'success' })
  const lines = await itemsOf(from.service.admin.exportStore(from.repository))
  const bare = lines.slice(1, -1).map((line) => line.replace(/,"reporter":\{[^}]*\}/, ''))
  t.not(bare.join(), lines.slice(1, -1).join())
  const { ExportLines } = await import('../../lib/admin/export-lines.js')
  const made = new ExportLines()
  const first = made.first(repositoryNamed('alice/hello'))
  const { type: _, repository: _full, ...status } = JSON.parse(bare.at(-1) ?? '') as Record<string, string>
  const record = { type: 'status', repository: repositoryNamed('alice/hello'), status }
  const all = [first, made.of(record as unknown as Parameters<typeof made.of>[0]), made.last()]
  const { service } = await embed(t)
  const imported = service.administration.importStore(
    (async function* () {
      yield* all
    })(),
  )
  for (;;) if ((await imported.next()).done) break
  const [found] = await itemsOf(service.administration.listStatuses('alice/hello', null))
  t.match(found, { context: 'default' })
  t.notOk(found && 'reporter' in found)
}
