import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { toApiStatus } from '../../lib/domain/commit-status.js'
import type { Administration, ListedRepository } from '../../lib/admin/administration.js'
import { openAdministration } from '../../lib/embedding/open-administration.js'
import { openStore } from '../../lib/embedding/open-store.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { makeCommit, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'
import { itemsOf, resultOf } from '../fixtures/work.js'

const SHA = 'c0ffee'.padEnd(40, '0')

t.test('A token is shown once, when it is created; lists have neither it nor its digest', async (t) => {
  const { admin } = await startService(t)
  const { token, ...record } = await admin.createToken({
    user: 'alice',
    name: 'CI \u{1f600}',
    scopes: ['repo'],
    expiresAt: '2031-01-31T12:00:00+01:00',
  })
  t.match(token, /^cst_[0-9a-f]{48}$/)
  t.match(record, { id: /^[0-9a-f]{12}$/, created_at: /Z$/ })
  t.strictSame(record, {
    ...record,
    user: 'alice',
    name: 'CI \u{1f600}',
    scopes: ['repo'],
    expires_at: '2031-01-31T11:00:00.000Z',
    last_used_at: null,
  })
  t.strictSame(await admin.listTokens(null), [record])
  t.strictSame(Object.keys(record).sort(), ['created_at', 'expires_at', 'id', 'last_used_at', 'name', 'scopes', 'user'])
})

t.test('Tokens are listed for everybody or for one user', async (t) => {
  const { admin } = await startService(t)
  for (const user of ['bob', 'alice']) await admin.createToken({ user, name: '', scopes: [], expiresAt: null })
  t.strictSame(
    (await admin.listTokens(null)).map(({ user }) => user),
    ['alice', 'bob'],
  )
  t.match(await admin.listTokens('bob'), [{ user: 'bob', scopes: [], expires_at: null }])
  t.strictSame(await admin.listTokens('carol'), [])
})

t.test('A revoked token is refused by the next request', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const { id, token } = await service.admin.createToken({ user: 'alice', name: '', scopes: ['repo'], expiresAt: null })
  t.equal((await service.list('alice/hello', sha, token)).status, 200)
  await service.admin.revokeToken(id)
  t.equal((await service.list('alice/hello', sha, token)).status, 401)
  t.strictSame(await service.admin.listTokens(null), [])
})

t.test('The last use of a token is kept when the service stops', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  await service.list('alice/hello', sha, await service.tokenOf('alice'))
  await service.close()
  const store = await openStore(`level:${service.store}`)
  t.teardown(async () => await store.close())
  t.match(
    (await store.tokens.list()).map((token) => token.last_used_at),
    [/T\d\d:00:00\.000Z$/],
    'to the hour',
  )
})

t.test('A right that is given or taken back decides the next request', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const token = await service.tokenOf('bob')
  const report = async () => (await service.report('alice/hello', sha, token, { state: 'success' })).status
  t.equal(await report(), 404)
  await service.admin.grantAccess('alice', 'bob', 'read')
  t.equal(await report(), 403)
  await service.admin.grantAccess('alice/hello', 'bob', 'write')
  t.equal(await report(), 201)
  await service.admin.revokeAccess('alice/hello', 'bob')
  t.equal(await report(), 403)
  await service.admin.revokeAccess('alice', 'bob')
  t.equal(await report(), 404)
})

t.test('Rights are listed: all, those of an owner, those of a repository', async (t) => {
  const { admin } = await startService(t)
  const grants = [
    { on: 'alice', user: 'bob', access: 'read' },
    { on: 'alice/hello', user: 'bob', access: 'write' },
    { on: 'carol/hello', user: 'bob', access: 'read' },
  ]
  for (const { on, user, access } of grants) await admin.grantAccess(on, user, access)
  t.strictSame(await admin.listAccess(null), grants)
  t.strictSame(await admin.listAccess('alice'), grants.slice(0, 2))
  t.strictSame(await admin.listAccess('alice/hello'), grants.slice(1, 2))
  t.strictSame(await admin.listAccess('dave'), [])
})

t.test('Repositories are listed by owner and name, and nothing else that stands in the folder', async (t) => {
  const { admin, repositories } = await startService(t)
  t.strictSame(await admin.listRepositories(), { repositories: [], problems: [], skipped: [], skippedCount: 0 })
  for (const name of ['bob/x', 'alice/b-c', 'alice/b', 'alice/b.c'])
    await makeRepository(repositories, name, { public: name === 'alice/b' })
  for (const folder of [
    '.hidden/x.git',
    'alice/.x.git',
    'alice/x.lock.git',
    'alice/plain',
    '-x/x.git',
    'alice/x y.git',
  ])
    mkdirSync(join(repositories, folder), { recursive: true })
  for (const file of ['file', 'alice/file.git']) writeFileSync(join(repositories, file), '')
  const { repositories: listed, problems, skipped, skippedCount } = await admin.listRepositories()
  t.strictSame(problems, [])
  t.strictSame(skipped, [
    { path: '-x', reason: 'its name begins with -' },
    { path: '.hidden', reason: 'its name begins with .' },
    { path: 'alice/.x.git', reason: 'its name begins with .' },
    { path: 'alice/x y.git', reason: 'a blank in its name' },
    { path: 'alice/x.lock.git', reason: 'its name ends in .git or .lock' },
  ])
  t.equal(skippedCount, 5)
  t.strictSame(listed, [
    { repository: 'alice/b', visibility: 'public' },
    { repository: 'alice/b-c', visibility: 'private' },
    { repository: 'alice/b.c', visibility: 'private' },
    { repository: 'bob/x', visibility: 'private' },
  ])
  const some: [on: string | null, listed: readonly ListedRepository[]][] = [
    ['alice', listed.slice(0, 3)],
    ['alice/b', listed.slice(0, 1)],
    ['alice/nothere', []],
    ['carol', []],
    [null, listed],
  ]
  for (const [on, expected] of some)
    t.match(await admin.listRepositories(on), { repositories: expected, problems: [] }, String(on))
})

t.test('What of the folder of repositories cannot be read is named, and the rest is listed', async (t) => {
  const { admin, repositories } = await startService(t)
  for (const name of ['alice/a', 'alice/c', 'carol/x']) await makeRepository(repositories, name)
  for (const loop of [join(repositories, 'bob'), join(repositories, 'alice/b.git')]) symlinkSync(loop, loop)
  const { repositories: listed, problems } = await admin.listRepositories()
  t.strictSame(
    listed.map(({ repository }) => repository),
    ['alice/a', 'alice/c', 'carol/x'],
  )
  t.match(problems, [/^ELOOP: .*alice\/b\.git/, /^ELOOP: .*bob/])
  t.match((await admin.listRepositories('alice/b')).problems, [/^ELOOP: .*alice\/b\.git/])
  t.strictSame((await admin.listRepositories('carol')).problems, [], 'of what is listed')
})

t.test('Making a repository public or private sets git’s own mark, and decides the next request', async (t) => {
  const service = await startService(t)
  const { directory, sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  for (const visibility of ['public', 'public', 'private', 'private', 'public'] as const) {
    await service.admin.setVisibility('alice/hello', visibility)
    t.equal(existsSync(join(directory, 'git-daemon-export-ok')), visibility === 'public')
    t.equal((await service.list('alice/hello', sha)).status, visibility === 'public' ? 200 : 401)
  }
})

t.test('Statuses are listed for a repository or a commit of it, also when git no longer has them', async (t) => {
  const service = await startService(t)
  const directory = await makeRepository(service.repositories, 'alice/hello')
  const commits = [await makeCommit(directory, 'one'), await makeCommit(directory, 'two')].sort()
  const token = await service.tokenOf('alice')
  for (const sha of commits)
    for (const context of ['b', 'a']) await service.report('alice/hello', sha, token, { state: 'success', context })
  const { admin } = service
  const found = (await itemsOf(admin.listStatuses('alice/hello', null))).map(({ sha, context }) => [sha, context])
  t.strictSame(
    found,
    commits.flatMap((sha) => [
      [sha, 'a'],
      [sha, 'b'],
    ]),
  )
  const [sha = ''] = commits
  t.strictSame(
    (await itemsOf(admin.listStatuses('alice/hello', sha.toUpperCase()))).map(toApiStatus),
    (await service.list('alice/hello', sha, token)).body['statuses'],
  )
  t.strictSame(await itemsOf(admin.listStatuses('alice/hello', SHA)), [])
  t.strictSame(await itemsOf(admin.listStatuses('alice/gone', null)), [])
})

t.test('What is in the store is counted, and what is gone goes', async (t) => {
  const service = await startService(t)
  const directory = await makeRepository(service.repositories, 'alice/hello')
  const [kept, lost] = [
    await makeCommit(directory, 'kept'),
    await makeCommit(await makeRepository(service.repositories, 'alice/other'), 'lost'),
  ]
  const token = await service.tokenOf('alice')
  await service.report('alice/hello', kept, token, { state: 'success' })
  await service.report('alice/other', lost, token, { state: 'success' })
  t.match(await resultOf(service.admin.storeStatistics(1)), {
    repositories: 2,
    commits: 2,
    statuses: 2,
    tokens: 1,
    top: [{ repository: 'alice/hello', statuses: 1 }],
  })
  await rm(join(service.repositories, 'alice/other.git'), { recursive: true })
  const request = { goneCommits: true, goneRepositories: true, olderThan: null, remove: true }
  t.strictSame(await itemsOf(service.admin.pruneStore(request)), [
    { repository: 'alice/other', reason: 'repository gone', statuses: 1 },
  ])
  t.strictSame(await resultOf(service.admin.pruneStore(request)), { statuses: 0, kept: 0 })
})

t.test('Statuses are removed from a commit, and the next list and report know', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const token = await service.tokenOf('alice')
  for (const context of ['a', 'b', 'c']) await service.report('alice/hello', sha, token, { state: 'failure', context })
  const listed = async () =>
    ((await service.list('alice/hello', sha, token)).body['statuses'] as { context: string }[]).map(
      ({ context }) => context,
    )
  t.strictSame(await listed(), ['a', 'b', 'c'])
  t.equal(await service.admin.deleteStatuses('alice/hello', sha.toUpperCase(), 'b'), 1)
  t.strictSame(await listed(), ['a', 'c'])
  t.equal(await service.admin.deleteStatuses('alice/hello', sha, null), 2)
  t.strictSame(await listed(), [])
})

t.test('What is stored of a repository moves or goes, and is counted', async (t) => {
  const service = await startService(t)
  const { directory, sha } = await makeRepositoryWithCommit(service.repositories, 'alice/a')
  const { admin } = service
  const token = await service.tokenOf('alice')
  for (const context of ['x', 'y']) await service.report('alice/a', sha, token, { state: 'success', context })
  await admin.grantAccess('alice/a', 'bob', 'read')
  await admin.grantAccess('alice', 'carol', 'read')
  renameSync(directory, join(service.repositories, 'alice/b.git'))
  t.strictSame(await admin.renameRepository('alice/a', 'alice/b'), { statuses: 2, grants: 1 })
  t.match((await service.list('alice/b', sha, await service.tokenOf('bob'))).body, {
    statuses: [{ context: 'x' }, { context: 'y' }],
  })
  t.strictSame(await admin.countRepository('alice/b'), { statuses: 2, grants: 1 })
  for (const asked of [null, sha])
    t.match(await itemsOf(admin.listCommits('alice/b', asked, 1)), [
      { commit: { sha, state: 'success' } },
      { status: { context: 'x' } },
      { status: { context: 'y' } },
    ])
  t.strictSame(await itemsOf(admin.listCommits('alice/b', '0'.repeat(40), 1)), [])
  t.strictSame(await admin.deleteRepository('alice/b'), { statuses: 2, grants: 1 })
  t.strictSame(await itemsOf(admin.listCommits('alice/b', null, 1)), [])
  t.strictSame(await admin.listAccess(null), [{ on: 'alice', user: 'carol', access: 'read' }])
})

t.test(
  'Every change is one line of the log: who, what, and to whom; no token, and nothing for what only looks',
  async (t) => {
    const { admin, log, repositories, ...service } = await startService(t)
    const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
    const by = { user: 'carol', uid: 1001 }
    const { id, token } = await admin.createToken({ user: 'alice', name: 'CI', scopes: ['repo'], expiresAt: null }, by)
    for (const context of ['a', 'b']) await service.report('alice/hello', sha, token, { state: 'success', context })
    await admin.grantAccess('alice/hello', 'bob', 'read', by)
    await admin.setVisibility('alice/hello', 'public', by)
    await admin.setVisibility('alice/hello', 'private', by)
    await admin.deleteStatuses('alice/hello', sha, 'a', by)
    await admin.renameRepository('alice/hello', 'alice/world', by)
    for (const look of [
      admin.listTokens(null),
      admin.listAccess(null),
      admin.listRepositories(),
      itemsOf(admin.listCommits('alice/world', null, 1)),
      admin.countRepository('alice/world'),
    ])
      await look
    await admin.deleteRepository('alice/world', by)
    await admin.grantAccess('alice', 'bob', 'write', by)
    await admin.revokeAccess('alice', 'bob', by)
    await admin.revokeToken(id, by)
    await admin.grantAccess('alice', 'bob', 'write')
    const lines = log
      .filter(({ msg }) => String(msg).startsWith('audit: '))
      .map(({ level, time: _, ...line }) => {
        t.equal(level, 30)
        return line
      })
    t.strictSame(lines, [
      { by, token: id, user: 'alice', name: 'CI', scopes: ['repo'], expires_at: null, msg: 'audit: token created' },
      { by, on: 'alice/hello', user: 'bob', access: 'read', msg: 'audit: access granted' },
      { by, repository: 'alice/hello', msg: 'audit: repository made public' },
      { by, repository: 'alice/hello', msg: 'audit: repository made private' },
      { by, repository: 'alice/hello', sha, context: 'a', statuses: 1, msg: 'audit: statuses deleted' },
      { by, from: 'alice/hello', to: 'alice/world', statuses: 1, grants: 1, msg: 'audit: repository renamed' },
      { by, on: 'alice/hello', user: 'bob', access: 'read', to: 'alice/world', msg: 'audit: access moved' },
      { by, repository: 'alice/world', statuses: 1, grants: 1, msg: 'audit: repository deleted' },
      { by, on: 'alice/world', user: 'bob', access: 'read', msg: 'audit: access revoked' },
      { by, on: 'alice', user: 'bob', access: 'write', msg: 'audit: access granted' },
      { by, on: 'alice', user: 'bob', msg: 'audit: access revoked' },
      { by, token: id, user: 'alice', name: 'CI', msg: 'audit: token revoked' },
      { by: 'unknown', on: 'alice', user: 'bob', access: 'write', msg: 'audit: access granted' },
    ])
    t.notMatch(JSON.stringify(log), token)
    t.notMatch(JSON.stringify(log), createHash('sha256').update(token).digest('hex'))
  },
)

const token = { user: 'alice', name: '', scopes: ['repo'], expiresAt: null }
const NO_SLASH =
  '"alice" is no repository name: <owner>/<repo>; at the top of the folder it is git/alice, unless topOwner names ' +
  'another owner'

const names = '1 to 100 of A-Z a-z 0-9 . _ - + @ ~ , =, not starting with . or -'

const refusals: [asked: string, call: (admin: Administration) => Promise<unknown>, message: string | RegExp][] = [
  ['a token of nobody', (admin) => admin.createToken({ ...token, user: '' }), `"" is no user name: ${names}`],
  [
    'a token of a strange user',
    (admin) => admin.createToken({ ...token, user: 'a\nb' }),
    `"a\\nb" is no user name: ${names}`,
  ],
  [
    'an unknown scope',
    (admin) => admin.createToken({ ...token, scopes: ['repo', 'admin'] }),
    'there is no scope admin',
  ],
  ['a time that is none', (admin) => admin.createToken({ ...token, expiresAt: 'soon' }), 'soon is no time'],
  [
    'a time that is hardly meant',
    (admin) => admin.createToken({ ...token, expiresAt: '+021191-01-31T12:00:00.000Z' }),
    'a token expires within 100 years or never, and +021191-01-31T12:00:00.000Z is later',
  ],
  [
    'revoking what can be no token',
    (admin) => admin.revokeToken('..'),
    '".." is no id of a token, as token list shows it',
  ],
  // Users of repositories in other places may be called so, and their rights must go when they leave.
  [
    'a right that a user called as a repository has not',
    (admin) => admin.revokeAccess('alice', 'bob.git'),
    'bob.git has no grant on alice',
  ],
  ['revoking an unknown token', (admin) => admin.revokeToken('none'), 'there is no token none'],
  [
    'a right that is none',
    (admin) => admin.grantAccess('alice', 'bob', 'none'),
    'access must be read or write, not none',
  ],
  [
    'an unknown right',
    (admin) => admin.grantAccess('alice', 'bob', 'admin'),
    'access must be read or write, not admin',
  ],
  [
    'a right on a strange owner',
    (admin) => admin.grantAccess('.', 'bob', 'read'),
    `"." is no owner name: ${names}, nor ending in .git or .lock`,
  ],
  [
    'a right on a strange repository',
    (admin) => admin.grantAccess('alice/hello.git', 'bob', 'read'),
    '"alice/hello.git" is no repository name: <owner>/<repo>',
  ],
  [
    'a right of a strange user',
    (admin) => admin.grantAccess('alice', 'alice/bob', 'read'),
    `"alice/bob" is no user name: ${names}`,
  ],
  ['taking back what was not given', (admin) => admin.revokeAccess('alice', 'bob'), 'bob has no grant on alice'],
  [
    'repositories of a strange name',
    (admin) => admin.listRepositories('a//c'),
    '"a//c" is no repository name: <owner>/<repo>',
  ],
  [
    'rights on a strange repository',
    (admin) => admin.listAccess('a/b c'),
    '"a/b c" is no repository name: <owner>/<repo>',
  ],
  [
    'visibility of a missing repository',
    (admin) => admin.setVisibility('alice/none', 'public'),
    'there is no repository alice/none',
  ],
  [
    'visibility of a strange repository',
    (admin) => admin.setVisibility('../x', 'public'),
    '"../x" is no repository name: <owner>/<repo>',
  ],
  ['statuses of an owner', (admin) => itemsOf(admin.listStatuses('alice', null)), NO_SLASH],
  [
    'statuses of a short commit id',
    (admin) => itemsOf(admin.listStatuses('alice/hello', 'c0ffee')),
    'c0ffee is not a full 40 or 64 character hex commit id',
  ],
  ['no commits', (admin) => itemsOf(admin.listCommits('alice/hello', null, 0)), 'the limit must be 1 to 1000, not 0'],
  [
    'too many commits',
    (admin) => itemsOf(admin.listCommits('alice/hello', null, 1001)),
    'the limit must be 1 to 1000, not 1001',
  ],
  [
    'half a commit',
    (admin) => itemsOf(admin.listCommits('alice/hello', null, 1.5)),
    'the limit must be 1 to 1000, not 1.5',
  ],
  ['commits of a strange repository', (admin) => itemsOf(admin.listCommits('alice', null, 1)), NO_SLASH],
  [
    'commits of a missing repository',
    (admin) => itemsOf(admin.listCommits('alice/none', null, 1)),
    /^there is no repository alice\/none in \//,
  ],
  [
    'removing what is not there',
    (admin) => admin.deleteStatuses('alice/hello', SHA.toUpperCase(), null),
    `alice/hello has no status on ${SHA}`,
  ],
  [
    'removing a context that is not there',
    (admin) => admin.deleteStatuses('alice/hello', SHA, 'ci'),
    `alice/hello has no status "ci" on ${SHA}`,
  ],
  [
    'removing from a short commit id',
    (admin) => admin.deleteStatuses('alice/hello', 'c0ffee', null),
    'c0ffee is not a full 40 or 64 character hex commit id',
  ],
  ['removing from a strange repository', (admin) => admin.deleteStatuses('alice', SHA, null), NO_SLASH],
  [
    'renaming what has nothing',
    (admin) => admin.renameRepository('alice/hello', 'alice/x'),
    'nothing is stored of alice/hello: no status, no grant on it',
  ],
  [
    'renaming to the same name',
    (admin) => admin.renameRepository('alice/hello', 'alice/hello'),
    'alice/hello is its name already',
  ],
  ['renaming a strange repository', (admin) => admin.renameRepository('alice', 'alice/x'), NO_SLASH],
  [
    'renaming to a strange name',
    (admin) => admin.renameRepository('alice/hello', 'alice/x.git'),
    '"alice/x.git" is no repository name: <owner>/<repo>',
  ],
  [
    'counting what has nothing',
    (admin) => admin.countRepository('alice/hello'),
    'nothing is stored of alice/hello: no status, no grant on it',
  ],
  ['counting a strange repository', (admin) => admin.countRepository('alice'), NO_SLASH],
  [
    'deleting what has nothing',
    (admin) => admin.deleteRepository('alice/hello'),
    'nothing is stored of alice/hello: no status, no grant on it',
  ],
  [
    'deleting a strange repository',
    (admin) => admin.deleteRepository('../x'),
    '"../x" is no repository name: <owner>/<repo>',
  ],
  ['a backup into a folder with something in it', (admin) => itemsOf(admin.backUpStore('/')), '/ is not empty'],
]

t.test('What cannot be done is refused with the reason, and nothing is done', async (t) => {
  const { admin, log, repositories } = await startService(t)
  await makeRepository(repositories, 'alice/hello')
  for (const [asked, call, message] of refusals)
    await t.rejects(call(admin), { name: /^(?:Administration|Argument)Error$/, message }, asked)
  t.strictSame([await admin.listTokens(null), await admin.listAccess(null)], [[], []])
  t.match(await admin.listRepositories(), { repositories: [{ visibility: 'private' }] })
  t.strictSame(log, [], 'nor is it a fault of the service')
})

t.test('A long task without a service ends when its process is told to stop', async (t) => {
  const folder = t.testdir({ repositories: {} })
  const stopping = new AbortController()
  const { administration, close } = await openAdministration(
    {
      repositories: join(folder, 'repositories'),
      topOwner: 'git',
      store: `level:${join(folder, 'store')}`,
      tokenPrefix: 'cst',
      limits: { tokens: 100 },
    },
    { auditLogger: silentLogger, stopping: stopping.signal },
  )
  t.teardown(close)
  await administration.grantAccess('alice/hello', 'bob', 'read')
  t.equal((await itemsOf(administration.exportStore(null))).length, 3)
  t.strictSame(await administration.deleteRepository('alice/hello'), { statuses: 0, grants: 1 })
  stopping.abort(new Error('told to stop'))
  await t.rejects(itemsOf(administration.exportStore(null)), { message: 'told to stop' })
})
