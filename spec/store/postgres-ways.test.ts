import t, { type Test } from 'tap'
import { makeToken } from '../../lib/auth/token.js'
import { DIALECTS } from '../fixtures/api-client.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { FarDatabase } from '../fixtures/far-database.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import type { CallOptions } from '../fixtures/service.js'

/** So long that whatever is asked together is on its way together. */
const MILLISECONDS = 20

const ATTEMPTS = 3

type Ask = () => Promise<{ readonly status: number }>

t.test('Ways to a database and back that a request makes, one after the other', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const database = await FarDatabase.of(t, server, await server.database(), MILLISECONDS)
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
      await makes(t, 1, 200, 'the user', call('GET', `${mount}/user`))
      await makes(t, 0, 401, 'nobody in particular', call('GET', list, {}))
    })
  }
})

const REPORT = { state: 'success', context: 'ci/build' }
