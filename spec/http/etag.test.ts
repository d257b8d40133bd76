import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'

const path = (sha: string): string => `/api/v1/repos/alice/hello/commits/${sha}/statuses`

t.test(
  'A list has a strong ETag: the same for the same content, also after a restart, another one for another',
  async (t) => {
    const service = await startService(t)
    const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
    const token = await service.tokenOf('alice')
    const etagOf = async (): Promise<string | null> =>
      (await service.list('alice/hello', sha, token)).headers.get('etag')
    const empty = await etagOf()
    t.match(empty, /^"[\w-]{22}"$/)
    await service.report('alice/hello', sha, token, { state: 'pending' })
    const one = await etagOf()
    t.not(one, empty)
    t.equal(await etagOf(), one)
    await service.report('alice/hello', sha, token, { state: 'success' })
    const two = await etagOf()
    t.not(two, one)
    await service.close()

    await t.test('after a restart', async (t) => {
      const again = await startService(t, { settings: { repositories: service.repositories, store: service.address } })
      t.equal((await again.list('alice/hello', sha, token)).headers.get('etag'), two)
    })
  },
)

t.test('Whoever has the list already gets 304, without a body', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const token = await service.tokenOf('alice')
  await service.report('alice/hello', sha, token, { state: 'pending' })
  const { headers } = await service.list('alice/hello', sha, token)
  const etag = headers.get('etag') ?? ''
  const conditional = async (condition: string, method = 'GET') =>
    await service.call(method, path(sha), { token, headers: { 'If-None-Match': condition } })
  for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, `${etag},"other"`, '*', ' * ']) {
    const answer = await conditional(condition)
    t.strictSame([answer.status, answer.text], [304, ''], condition)
    for (const name of ['etag', 'cache-control', 'x-content-type-options'])
      t.equal(answer.headers.get(name), headers.get(name), name)
    t.match(answer.headers.get('x-request-id'), /./)
    t.equal(answer.headers.get('content-type'), null)
    t.equal((await conditional(condition, 'HEAD')).status, 304)
  }
  for (const condition of ['"other"', etag.replaceAll('"', ''), `${etag.slice(0, -1)}x"`, '""', 'W/'])
    t.equal((await conditional(condition)).status, 200, condition)
  await service.report('alice/hello', sha, token, { state: 'success' })
  const later = await conditional(etag)
  t.strictSame([later.status, later.body['state']], [200, 'success'], 'a report makes the list another one at once')
})

t.test('A condition opens nothing: who may not read gets what everybody gets', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const { headers } = await service.list('alice/hello', sha, await service.tokenOf('alice'))
  const etag = headers.get('etag') ?? ''
  for (const condition of [etag, '*']) {
    t.equal((await service.call('GET', path(sha), { headers: { 'If-None-Match': condition } })).status, 401)
    t.equal(
      (
        await service.call('GET', path(sha), {
          token: await service.tokenOf('bob'),
          headers: { 'If-None-Match': condition },
        })
      ).status,
      404,
    )
  }
})

t.test('Other answers have no ETag', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello', { public: true })
  const token = await service.tokenOf('alice')
  const answers = [
    await service.report('alice/hello', sha, token, { state: 'pending' }),
    await service.list('alice/hello', '0'.repeat(40)),
    await service.call('GET', '/healthz', { headers: { 'If-None-Match': '*' } }),
  ]
  t.strictSame(
    answers.map(({ status, headers }) => [status, headers.get('etag')]),
    [
      [201, null],
      [404, null],
      [200, null],
    ],
  )
})
