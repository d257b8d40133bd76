import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import t from 'tap'
import { makeToken } from '../../lib/auth/token.js'
import { createCommitStatusService, type FailureBudget } from '../../lib/index.js'
import { embed, fetchJson, listen, newToken } from '../fixtures/embedded.js'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { Gitolite, gitoliteIsMissing } from '../fixtures/gitolite.js'
import { HashedRepositories } from '../fixtures/hashed-repositories.js'
import { JournalStore } from '../fixtures/journal-store.js'

t.test('Access and repositories of a real gitolite', { skip: gitoliteIsMissing }, async (t) => {
  const home = t.testdir({})
  const gitolite = new Gitolite(home, '\nrepo hello\n    RW+ = alice\n    R = bob\n')
  const { service, tokenOf } = await embed(t, { repositories: gitolite, accessPolicy: gitolite })
  const sha = await makeCommit(join(gitolite.repositories, 'hello.git'))
  const url = await listen(t, (request, response) => service.handler(request, response))
  const [alice, bob, eve] = [await tokenOf('alice'), await tokenOf('bob'), await tokenOf('eve')]
  const report = async (token: string) =>
    (
      await fetchJson(`${url}/api/v1/repos/git/hello/statuses/${sha}`, {
        method: 'POST',
        token,
        body: { state: 'success' },
      })
    ).status
  const list = async (token?: string) =>
    (await fetchJson(`${url}/api/v1/repos/git/hello/commits/${sha}/statuses`, token === undefined ? {} : { token }))
      .status
  t.strictSame([await report(alice), await report(bob), await report(eve)], [201, 403, 404])
  t.strictSame([await list(alice), await list(bob), await list(eve), await list()], [200, 200, 404, 401])
})

t.test('Repositories in a hashed directory layout', async (t) => {
  const folder = t.testdir({})
  const projects = new Map([
    ['alice/hello', { id: 1, public: true }],
    ['alice/hidden', { id: 2, public: false }],
  ])
  const { service } = await embed(t, {
    repositories: new HashedRepositories(folder, projects),
    accessPolicy: { access: async () => await Promise.resolve('none') },
  })
  const { sha } = await makeRepositoryWithCommit(folder, HashedRepositories.path(1))
  await makeRepositoryWithCommit(folder, HashedRepositories.path(2))
  await service.report('alice/hello', sha, { state: 'failure' })
  t.equal((await service.list('alice/hello', sha)).state, 'failure')
  t.equal(await service.access(undefined, 'alice/hello'), 'read')
  t.equal(await service.access(undefined, 'alice/hidden'), 'none')
  const rights = {
    name: 'AdministrationError',
    message: 'the git server that this service lives in has rights of its own',
  }
  await t.rejects(service.administration.grantAccess('alice', 'bob', 'read'), rights)
  await t.rejects(service.administration.checkAccess('bob', 'alice/hello'), rights)
  projects.delete('alice/hello')
  await t.rejects(service.list('alice/hello', sha), { code: 'repository_not_found' })
})

t.test('An authenticator of the host: its users, its tokens', async (t) => {
  const people = new Map([
    ['letmein', { user: 'alice', scopes: ['repo'] }],
    ['readonly', { user: 'alice', scopes: ['other'] }],
  ])
  const { service, repositories } = await embed(t, {
    authenticator: { authenticate: async (token) => people.get(token) },
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const base = await listen(t, (request, response) => service.handler(request, response))
  const url = `${base}/api/v1/repos/alice/hello/statuses/${sha}`
  const report = async (token: string) =>
    (await fetchJson(url, { method: 'POST', token, body: { state: 'success' } })).status
  t.strictSame(
    [await report('letmein'), await report('readonly'), await report('other'), await report(makeToken('cst'))],
    [201, 403, 401, 401],
  )
  people.delete('letmein')
  t.equal(await report('letmein'), 401, 'taken back at once')
  await t.rejects(newToken(service, 'alice'), {
    name: 'AdministrationError',
    message: 'the git server that this service lives in has tokens of its own',
  })
})

t.test('A budget of the host is asked and told', async (t) => {
  const limiter = new RateLimiterMemory({ points: 2, duration: 60 })
  const told: string[] = []
  const authFailures: FailureBudget = {
    retryAfter: async (address) => {
      const spent = await limiter.get(address)
      return spent && spent.remainingPoints <= 0 ? spent.msBeforeNext / 1000 : 0
    },
    recordFailure: async (address) => {
      told.push(address)
      await limiter.penalty(address)
      // As JavaScript may: who only counts has nothing to say.
      return told.length === 1 ? (undefined as never) : 0
    },
  }
  const { service, repositories, tokenOf } = await embed(t, { authFailures })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const base = await listen(t, (request, response) => service.handler(request, response))
  const url = `${base}/api/v1/repos/alice/hello/commits/${sha}/statuses`
  const alice = await tokenOf('alice')
  const answers = [
    await fetchJson(url, { token: 'wrong' }),
    await fetchJson(url, { token: alice }),
    await fetchJson(url, { token: 'wrong' }),
    await fetchJson(url, { token: alice }),
  ]
  t.strictSame(
    answers.map(({ status }) => status),
    [401, 200, 401, 429],
  )
  t.strictSame(told, ['127.0.0.1', '127.0.0.1'])
  t.match(answers[3]?.headers.get('Retry-After'), /^(60|59)$/, 'whole seconds')
})

t.test('A store of the host keeps statuses, tokens and grants, and is closed with the service', async (t) => {
  const folder = t.testdir({})
  const repositories = join(folder, 'repositories')
  mkdirSync(repositories)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const journal = join(folder, 'journal')
  const start = async () => await createCommitStatusService({ repositories, store: new JournalStore(journal) })
  const first = await start()
  const token = await newToken(first, 'alice')
  const saved = await first.report('alice/hello', sha, { state: 'success' })
  await first.close()
  t.notMatch(readFileSync(journal, 'utf8'), token, 'the token itself is nowhere')
  const second = await start()
  t.teardown(async () => await second.close())
  t.strictSame((await second.list('alice/hello', sha)).statuses, [saved])
  t.match(await second.authenticate(token), { user: 'alice' })
})

t.test('A clock of the host sets every time', async (t) => {
  let now = Date.parse('2031-01-31T12:34:56.789Z')
  const { service, repositories } = await embed(t, { clock: { now: () => now } })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  t.match(await service.report('alice/hello', sha, { state: 'pending' }), { created_at: '2031-01-31T12:34:56.789Z' })
  now -= 3_600_000
  t.match(
    await service.report('alice/hello', sha, { state: 'success' }),
    { updated_at: '2031-01-31T12:34:56.789Z' },
    'never earlier',
  )
})

t.test('A logger of the host gets facts and message, and never a token', async (t) => {
  const lines: string[] = []
  const note = (facts: object, message: string) => lines.push(`${message} ${JSON.stringify(facts)}`)
  const { service, repositories } = await embed(t, { logger: { debug: note, info: note, warn: note, error: note } })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const url = await listen(t, (request, response) => service.handler(request, response))
  await fetchJson(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`, { token: 'cst_secret' })
  t.match(lines.join('\n'), /failed authentication attempt .*127\.0\.0\.1/)
  t.notMatch(lines.join('\n'), /cst_secret/)
})
