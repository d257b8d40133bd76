import { join } from 'node:path'
import t from 'tap'
import { embed } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { JournalStore } from '../fixtures/journal-store.js'
import { refused } from '../fixtures/refusal.js'

function verdictOf({ service, repository, sha, token }: HostedCommit) {
  return async (query = '', options: Parameters<typeof service.call>[2] = { token }) =>
    await service.call('GET', `/api/v1/repos/${repository}/commits/${sha}/verdict${query}`, options)
}

t.test('The verdict of a commit, with what was required', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const verdict = verdictOf(hosted)
  t.match(await verdict(), { status: 200, text: '{"verdict":"pending","required":[]}\n' })
  await hosted.report({ state: 'success', context: 'build' })
  t.match(await verdict(), { status: 200, text: '{"verdict":"success","required":[]}\n' })
  t.match(await verdict('?require=build&require=test/*&by=alice&stale=6h'), {
    status: 200,
    text:
      '{"verdict":"pending","required":[{"require":"build","state":"success"},{"require":"test/*","state":null}]}' +
      '\n',
  })
  await hosted.report({ state: 'error', context: 'test/x' })
  t.match((await verdict('?require=build&require=test/*')).body, { verdict: 'failure' })
  t.match((await verdict('?require=build')).body, { verdict: 'success' })
  t.match((await verdict('?require=build&by=bob')).body, { verdict: 'pending' })
})

t.test('A verdict has an entity tag, and is answered with 304 while it is the same', async (t) => {
  const hosted = await hostCommit(t)
  const verdict = verdictOf(hosted)
  const first = await verdict('?require=build')
  const etag = first.headers.get('etag') ?? ''
  t.match(etag, /^"[\w-]{22}"$/)
  const again = async () => (await verdict('?require=build', { headers: { 'If-None-Match': etag } })).status
  await hosted.report({ state: 'success', context: 'other' })
  t.equal(await again(), 304)
  await hosted.report({ state: 'success', context: 'build' })
  t.equal(await again(), 200)
})

t.test('Its checks and rights are those of the list, in their order', async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const { service, repository, sha } = hosted
  const stranger = await service.tokenOf('stranger')
  const paths: [string, string][] = [
    [repository, sha],
    [repository, 'abc'],
    [repository, '0'.repeat(40)],
    ['alice/missing', sha],
    ['alice/missing', 'abc'],
  ]
  for (const token of [undefined, 'wrong', stranger, hosted.token]) {
    for (const [name, id] of paths) {
      const list = await service.list(name, id, token)
      const at = `/api/v1/repos/${name}/commits/${id}/verdict`
      const verdict = await service.call('GET', at, { token })
      t.equal(verdict.status, list.status, `${name} ${id}`)
      if (list.status === 200) continue
      t.strictSame(verdict.body, list.body)
      const wrong = await service.call('GET', `${at}?x=1`, { token })
      t.equal(wrong.status, token === hosted.token && name === repository && id !== 'abc' ? 422 : list.status)
    }
  }
  refused(t, await verdictOf(hosted)('?required=build'), 422, 'there is no parameter "required"')
  const posted = await service.call('POST', `/api/v1/repos/${repository}/commits/${sha}/verdict`)
  t.strictSame([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
})

t.test('What is pending for too long has failed', async (t) => {
  let now = Date.parse('2026-01-31T12:00:00.000Z')
  const hosted = await hostCommit(t, { clock: { now: () => now } })
  const verdict = verdictOf(hosted)
  await hosted.report({ state: 'pending', context: 'build' })
  t.match((await verdict('?stale=6h')).body, { verdict: 'pending' })
  now += 6 * 60 * 60 * 1000 + 1
  t.match((await verdict('?stale=6h&require=build')).body, {
    verdict: 'failure',
    required: [{ require: 'build', state: 'failure' }],
  })
  t.match((await verdict()).body, { verdict: 'pending' })
})

t.test('In the library, whatever the store: the same answers, the same refusals', async (t) => {
  const path = join(t.testdir(), 'journal')
  for (const options of [{}, { store: new JournalStore(path) }]) {
    const { service, repositories } = await embed(t, options)
    const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
    t.strictSame(await service.verdict('alice/hello', sha), { verdict: 'pending', required: [] })
    await service.report('alice/hello', sha, { state: 'success', context: 'build' }, 'alice')
    for (let n = 0; n < 300; n++) await service.report('alice/hello', sha, { state: 'success', context: `test/${n}` })
    t.strictSame(await service.verdict('alice/hello', sha, { require: ['build', 'test/*'] }), {
      verdict: 'success',
      required: [
        { require: 'build', state: 'success' },
        { require: 'test/*', state: 'success' },
      ],
    })
    t.match(await service.verdict('alice/hello', sha, { require: ['build'], by: ['alice'] }), { verdict: 'success' })
    t.match(await service.verdict('alice/hello', sha, { require: ['test/*'], by: ['alice'] }), { verdict: 'pending' })
    await t.rejects(service.verdict('alice/hello', sha, { stale: 'soon' }), { code: 'parameter_invalid', status: 422 })
    await t.rejects(service.verdict('alice/hello', 'abc'), { code: 'sha_invalid' })
    await t.rejects(service.verdict('alice/none', sha), { code: 'repository_not_found' })
    await service.close()
    await t.rejects(service.verdict('alice/hello', sha), { code: 'shutting_down' })
  }
})
