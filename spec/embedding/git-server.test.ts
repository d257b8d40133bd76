import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCommitStatusService } from '../../lib/index.js'
import { newToken } from '../fixtures/embedded.js'
import { startGitServer } from '../fixtures/git-server.js'
import { git, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'

/** A git server with the service inside, and a client with a clone of alice/hello. */
async function startAll(t: Test) {
  const folder = t.testdir({ repositories: {} })
  const repositories = join(folder, 'repositories')
  const service = await createCommitStatusService({
    repositories,
    store: `level:${join(folder, 'store')}`,
    authFailures: { limit: 5 },
  })
  const url = await startGitServer(t, service, repositories)
  const token = async (user: string) => await newToken(service, user)
  const withToken = (password: string) => `${url.replace('//', `//x:${password}@`)}/alice/hello.git`
  const api = async (method: string, path: string, password: string, body?: object) => {
    const response = await fetch(`${url}/api/v1/repos/${path}`, {
      method,
      headers: { Authorization: `Bearer ${password}` },
      ...(body && { body: JSON.stringify(body) }),
    })
    return {
      status: response.status,
      body: (await response.json()) as { state?: unknown; statuses?: unknown[]; error?: string },
    }
  }
  /** Clones, commits and pushes with the real git client; resolves to the commit's id. */
  const push = async (password: string, message: string) => {
    const clone = join(folder, `clone-${message}`)
    await git('clone', '--quiet', withToken(password), clone)
    await git('-C', clone, 'commit', '--quiet', '--allow-empty', '-m', message)
    await git('-C', clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/main')
    return await git('-C', clone, 'rev-parse', 'HEAD')
  }
  return { folder, repositories, service, url, token, withToken, api, push }
}

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`A commit pushed with a token can be reported on in the next line, and listed (${format})`, async (t) => {
    const { repositories, token, api, push } = await startAll(t)
    // Of an empty repository git 2.39 does not learn the object format.
    await makeRepositoryWithCommit(repositories, 'alice/hello', { format })
    const alice = await token('alice')
    const sha = await push(alice, 'first')
    t.equal((await api('POST', `alice/hello/statuses/${sha}`, alice, { state: 'success' })).status, 201)
    const { body } = await api('GET', `alice/hello/commits/${sha}/statuses`, alice)
    t.match(body, { state: 'success', statuses: [{ sha, context: 'default' }] })
  })
}

t.test('git gets in with the same tokens and the same rights', async (t) => {
  const { folder, repositories, service, token, withToken, push } = await startAll(t)
  await makeRepository(repositories, 'alice/hello')
  const bob = await token('bob')
  await t.rejects(git('clone', '--quiet', withToken(bob), join(folder, 'no')), 'without a right there is no clone')
  await service.administration.grantAccess('alice', 'bob', 'read')
  await git('clone', '--quiet', withToken(bob), join(folder, 'yes'))
  await t.rejects(push(bob, 'by-bob'), 'a reader may not push')
})

t.test('A limited token gets no further by git than by the API', async (t) => {
  const { folder, repositories, service, withToken, push } = await startAll(t)
  for (const name of ['alice/hello', 'alice/other']) await makeRepository(repositories, name)
  const limited = async (limits: object) => {
    const wanted = { user: 'alice', name: '', scopes: ['repo'], expiresAt: null, ...limits }
    return (await service.administration.createToken(wanted)).token
  }
  const reader = await limited({ access: 'read' })
  await git('clone', '--quiet', withToken(reader), join(folder, 'read'))
  await t.rejects(push(reader, 'by-reader'), 'it may not push')
  const other = await limited({ repositories: ['alice/other'] })
  await t.rejects(
    git('clone', '--quiet', withToken(other), join(folder, 'other')),
    'the repository is not there for it',
  )
})

t.test('Wrong passwords given to git use up the budget of the API', async (t) => {
  const { folder, repositories, service, token, withToken, api } = await startAll(t)
  await makeRepository(repositories, 'alice/hello')
  const alice = await token('alice')
  for (let failure = 1; failure <= 5; failure++) {
    t.equal(await service.authFailures.retryAfter('127.0.0.1'), 0)
    await t.rejects(git('clone', '--quiet', withToken('wrong'), join(folder, `clone-${failure}`)))
    await git('clone', '--quiet', withToken(alice), join(folder, `good-${failure}`)).catch(() => undefined)
  }
  t.equal((await api('GET', `alice/hello/commits/${'0'.repeat(40)}/statuses`, alice)).status, 429)
  await t.rejects(git('clone', '--quiet', withToken(alice), join(folder, 'clone-6')), 'git is refused too')
})

t.test('Wrong tokens given to the API use up the budget of git, and a right token gives nothing back', async (t) => {
  const { folder, repositories, token, withToken, api } = await startAll(t)
  await makeRepository(repositories, 'alice/hello')
  const alice = await token('alice')
  for (let failure = 1; failure <= 5; failure++) {
    t.equal((await api('GET', `alice/hello/commits/${'0'.repeat(40)}/statuses`, 'wrong')).status, 401)
    if (failure < 5) t.equal((await api('GET', `alice/hello/commits/${'0'.repeat(40)}/statuses`, alice)).status, 404)
  }
  await t.rejects(git('clone', '--quiet', withToken(alice), join(folder, 'clone')))
})

t.test('A repository that is deleted and made again starts empty', async (t) => {
  const { repositories, service, token, api, push } = await startAll(t)
  const directory = await makeRepository(repositories, 'alice/hello')
  const alice = await token('alice')
  const sha = await push(alice, 'first')
  await api('POST', `alice/hello/statuses/${sha}`, alice, { state: 'failure' })
  renameSync(directory, `${directory}.kept`)
  await service.deleteRepository('alice/hello')
  t.equal((await api('GET', `alice/hello/commits/${sha}/statuses`, alice)).status, 404)
  // Even with the very same commit in it.
  renameSync(`${directory}.kept`, directory)
  t.strictSame((await api('GET', `alice/hello/commits/${sha}/statuses`, alice)).body, { state: null, statuses: [] })
  rmSync(directory, { recursive: true })
})

t.test('A renamed repository takes its statuses with it, and a new one under its old name shows none', async (t) => {
  const { repositories, service, token, api, push } = await startAll(t)
  const directory = await makeRepository(repositories, 'alice/hello')
  const alice = await token('alice')
  const sha = await push(alice, 'first')
  await api('POST', `alice/hello/statuses/${sha}`, alice, { state: 'failure' })
  mkdirSync(join(repositories, 'carol'))
  renameSync(directory, join(repositories, 'carol/moved.git'))
  await service.renameRepository('alice/hello', 'carol/moved')
  const carol = await token('carol')
  t.match((await api('GET', `carol/moved/commits/${sha}/statuses`, carol)).body, {
    state: 'failure',
    statuses: [{ sha }],
  })
  await git('clone', '--quiet', '--bare', join(repositories, 'carol/moved.git'), directory)
  t.strictSame((await api('GET', `alice/hello/commits/${sha}/statuses`, alice)).body, { state: null, statuses: [] })
})
