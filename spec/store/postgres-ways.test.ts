import t, { type Test } from 'tap'
import { makeToken } from '../../lib/auth/token.js'
import { projectNumber } from '../../lib/http/compatible/numbers.js'
import { DIALECTS } from '../fixtures/api-client.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { FarDatabase } from '../fixtures/far-database.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import type { CallOptions } from '../fixtures/service.js'
import { signIn, visit } from '../fixtures/visit.js'

/** So long that whatever is asked together is on its way together. */
const MILLISECONDS = 20

const ATTEMPTS = 3

type Ask = () => Promise<{ readonly status: number }>

t.test('Ways to a database and back that a request makes, one after the other', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const url = await server.database()
  const database = await FarDatabase.of(t, server, url, MILLISECONDS)
  const hosted = await hostCommit(t, {
    private: true,
    settings: { store: database.url, compatibleApis: DIALECTS.map(({ name }) => name) },
  })
  const { service, repository, sha, listPath, reportPath } = hosted
  await hosted.report({ state: 'success', context: 'ci/build' })
  await service.admin.grantAccess('alice', 'bob', 'write')
  const token = await service.tokenOf('bob')
  const call = (method: string, path: string, options: CallOptions = { token }): Ask => {
    return async () => await service.call(method, path, { ...options, ...(method === 'POST' && { body: REPORT }) })
  }

  /** Counts the fewest: something that the store does by itself may come in between. */
  const makes = async (t: Test, ways: number, status: number, what: string, ask: Ask): Promise<void> => {
    // The first opens connections.
    t.equal((await ask()).status, status, `${what}: ${status}`)
    const counted: number[] = []
    while (counted.length < ATTEMPTS && counted.at(-1) !== ways) counted.push(await database.waysOf(ask))
    t.equal(Math.min(...counted), ways, `${what}: ${ways}`)
  }

  t.test('The API: who asks is one, and what is asked the second', async (t) => {
    const commit = `/api/v1/repos/${repository}/commits/${sha}`
    await makes(t, 2, 200, 'a list', call('GET', listPath))
    await makes(t, 2, 200, 'a verdict', call('GET', `${commit}/verdict`))
    await makes(t, 2, 200, 'states', call('GET', `/api/v1/repos/${repository}/states?sha=${sha}`))
    await makes(t, 2, 201, 'a report', call('POST', reportPath))
    await makes(t, 1, 404, 'a repository that is not there', call('GET', listPath.replace('hello', 'missing')))
    await makes(t, 2, 401, 'a wrong token', call('GET', listPath, { token: makeToken('cst') }))
    await makes(t, 2, 401, 'what cannot be a token', call('GET', listPath, { token: 'wrong' }))
    await service.admin.setVisibility(repository, 'public')
    await makes(t, 1, 200, 'nobody in particular, a list', call('GET', listPath, {}))
    await service.admin.setVisibility(repository, 'private')
    await makes(t, 0, 401, 'nobody in particular, a private repository', call('GET', listPath, {}))
  })

  for (const { name, mount, listPath, reportPath } of DIALECTS) {
    t.test(`The API of ${name}`, async (t) => {
      const [list, report] = [mount + listPath(repository, sha), mount + reportPath(repository, sha)]
      await makes(t, 2, 200, 'a list', call('GET', list))
      await makes(t, 2, 200, 'a list of what a branch names', call('GET', mount + listPath(repository, 'main')))
      await makes(t, 2, 201, 'a report', call('POST', report))
      const basic = { Authorization: `Basic ${Buffer.from(`bob:${token}`).toString('base64')}` }
      await makes(t, 2, 200, 'a list, with the token as a password', call('GET', list, { headers: basic }))
      await makes(t, 1, 404, 'a repository that is not there', call('GET', list.replace('hello', 'missing')))
      await makes(t, 1, 200, 'the user', call('GET', `${mount}/user`))
      await makes(t, 0, 401, 'nobody in particular', call('GET', list, {}))
    })
  }

  t.test('A report that a webhook is told of', async (t) => {
    // What is paused is noted, and nothing is sent.
    const { id } = await service.admin.createHook({ on: repository, url: 'http://127.0.0.1:9/', format: 'text' })
    await service.admin.pauseHook(id)
    await makes(t, 2, 201, 'the same', call('POST', reportPath))
    const [hook] = await service.admin.listHooks(null)
    t.match(hook, { state: 'paused', waiting: 1 })
    await service.admin.deleteHook(id)
  })

  t.test('A project of GitLab by its number, whether it is there or not', async (t) => {
    const listOf = (number: number): string => `/api/v4/projects/${number}/repository/commits/${sha}/statuses`
    await makes(t, 2, 200, 'one', call('GET', listOf(projectNumber(repository))))
    await makes(t, 1, 404, 'none', call('GET', listOf(1)))
  })

  t.test('Pages: whose session it is, with the right, is one', async (t) => {
    const cookie = await signIn(service, 'bob')
    const page = (path: string, headers: Record<string, string> = { cookie }): Ask => {
      return async () => await visit(service, path, { headers })
    }
    const home = `/repos/${repository}`
    await makes(t, 2, 200, 'a commit that has not changed', page(`${home}/commits/${sha}`))
    await makes(t, 2, 200, 'its statuses alone', page(`${home}/commits/${sha}/fragment`))
    await makes(t, 1, 303, 'a branch', page(`${home}/commits/main`))
    await makes(t, 2, 200, 'a repository', page(home))
    await makes(t, 2, 200, 'its branches', page(`${home}/branches`))
    await makes(t, 2, 200, 'a badge', page(`${home}/badge.svg`))
    await makes(t, 2, 200, 'the badge of a check', page(`${home}/badge.svg?context=ci%2Fbuild`))
    await makes(t, 2, 200, 'tokens', page('/settings/tokens'))
    await makes(t, 3, 200, 'what one may read', page('/'))
    await makes(t, 0, 404, 'nobody in particular', page(home, {}))
    // A new list is read once more, with what the API does not show.
    const changed = async () => {
      await hosted.report({ state: 'success', context: 'ci/build', description: String(performance.now()) })
      return await page(`${home}/commits/${sha}`)()
    }
    await makes(t, 2 + 3, 200, 'a report, and the page of its commit', changed)
  })

  t.test('A part of a host is asked by itself, and what is left is one', async (t) => {
    const parts = {
      accessPolicy: { access: async () => await Promise.resolve('read' as const) },
      authenticator: { authenticate: async () => await Promise.resolve({ user: 'bob', scopes: ['repo'] }) },
      authFailures: {
        retryAfter: async () => await Promise.resolve(0),
        recordFailure: async () => await Promise.resolve(0),
      },
    }
    const listOf = async (options: Partial<typeof parts>) => {
      const embedded = await embed(t, { repositories: service.repositories, store: database.url, ...options })
      const url = await listen(t, (request, response) => {
        embedded.service.handler(request, response)
      })
      return async () => await fetchJson(`${url}${listPath}`, { token })
    }
    await makes(t, 2, 200, 'its rights', await listOf({ accessPolicy: parts.accessPolicy }))
    await makes(t, 4, 200, 'its tokens', await listOf({ authenticator: parts.authenticator }))
    await makes(t, 3, 200, 'its budget', await listOf({ authFailures: parts.authFailures }))
    await makes(t, 1, 200, 'all three', await listOf(parts))
  })

  t.test('Nothing is remembered: what another instance has ended counts at the next request', async (t) => {
    // Its administration is another instance.
    const { admin } = service
    const [carols, cookie] = [await service.tokenOf('carol'), await signIn(service, 'carol')]
    const seen = async (): Promise<number[]> => [
      (await service.list(repository, sha, carols)).status,
      (await visit(service, `/repos/${repository}`, { cookie })).status,
    ]
    t.strictSame(await seen(), [404, 404])
    await admin.grantAccess(repository, 'carol', 'read')
    t.strictSame(await seen(), [200, 200])
    await admin.revokeAccess(repository, 'carol')
    t.strictSame(await seen(), [404, 404], 'a right')
    await admin.grantAccess('alice', 'carol', 'read')
    await sql(url, 'DELETE FROM commit_status.auth_failures')
    await sql(url, "INSERT INTO commit_status.auth_failures VALUES ('127.0.0.1', 20, $1)", [Date.now() + 600_000])
    t.strictSame(await seen(), [429, 200], 'the budget of failed log-ins')
    await sql(url, 'DELETE FROM commit_status.auth_failures')
    t.strictSame(await seen(), [200, 200])
    for (const { id } of await admin.listTokens('carol')) await admin.revokeToken(id)
    await admin.endSignIns('carol')
    t.strictSame(await seen(), [401, 404], 'a token, and a session')
  })
})

const REPORT = { state: 'success', context: 'ci/build' }
