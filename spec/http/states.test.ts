import t from 'tap'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { startService } from '../fixtures/service.js'

const path = (shas: readonly string[], repository = 'alice/hello'): string =>
  `/api/v1/repos/${repository}/states?${shas.map((sha) => `sha=${sha}`).join('&')}`

t.test('The states of many commits come in one answer; those that are not there are left out', async (t) => {
  const { service, directory, sha, token, report } = await hostCommit(t)
  const second = await makeCommit(directory, 'second')
  const third = await makeCommit(directory, 'third')
  await report({ state: 'success', context: 'a' })
  await report({ state: 'pending', context: 'b' })
  await service.report('alice/hello', second, token, { state: 'error' })
  await service.report('alice/hello', second, token, { state: 'success', context: 'x' })
  const { status, body } = await service.call('GET', path([sha.toUpperCase(), second, third, sha, '0'.repeat(40)]))
  t.equal(status, 200)
  t.strictSame(body, {
    states: {
      [sha]: { state: 'pending', statuses: 2 },
      [second]: { state: 'failure', statuses: 2 },
      [third]: { state: null, statuses: 0 },
    },
  })
  await report({ state: 'success', context: 'b' })
  const later = await service.call('GET', path([sha]))
  t.strictSame(later.body, { states: { [sha]: { state: 'success', statuses: 2 } } })
  t.strictSame((await service.call('GET', path(['1'.repeat(64)]))).body, { states: {} })
})

t.test('No id, more than 100 and one that is none are refused', async (t) => {
  const { service, sha } = await hostCommit(t)
  const refusal = async (shas: readonly string[]) => {
    const { status, body } = await service.call('GET', path(shas))
    return [status, body['error']]
  }
  const count = [422, 'sha must be given 1 to 100 times']
  const form = [422, 'sha must be a full 40 or 64 character hex commit id']
  t.strictSame(await refusal([]), count)
  t.strictSame(await refusal(Array<string>(101).fill(sha)), count)
  for (const wrong of ['', 'main', sha.slice(1), `${sha}0`]) t.strictSame(await refusal([sha, wrong]), form, wrong)
  t.equal((await service.call('GET', path(Array<string>(100).fill(sha)))).status, 200)
})

t.test('On request they tell the contexts that failed, so many of each, in the order of a list', async (t) => {
  const { service, directory, sha, token, report } = await hostCommit(t)
  const second = await makeCommit(directory, 'second')
  const third = await makeCommit(directory, 'third')
  for (const [context, state] of [
    ['é"\\', 'failure'],
    ['b', 'error'],
    ['a', 'success'],
    ['\u{1f600}', 'error'],
    ['\uff5e', 'failure'],
    ['z', 'failure'],
    ['c', 'pending'],
  ])
    await report({ context, state })
  await service.report('alice/hello', second, token, { state: 'pending' })
  const ask = async (failed: string) => await service.call('GET', `${path([sha, second, third])}${failed}`)
  const without = (await ask('')).text
  const known = { [second]: { state: 'pending', statuses: 1 }, [third]: { state: null, statuses: 0 } }
  t.strictSame(JSON.parse(without), { states: { [sha]: { state: 'failure', statuses: 7 }, ...known } })
  for (const most of [1, 3, 5, 20]) {
    t.strictSame((await ask(`&failed=${most}`)).body, {
      states: {
        [sha]: { state: 'failure', statuses: 7, failed: ['b', 'z', 'é"\\', '\uff5e', '\u{1f600}'].slice(0, most) },
        [second]: { ...known[second], failed: [] },
        [third]: { ...known[third], failed: [] },
      },
    })
  }
  const { status, body } = await ask('&failed=21')
  t.strictSame([status, body['error']], [422, 'failed must be given once, 1 to 20'])
  const both = await service.call('GET', `${path([])}&failed=0`)
  t.equal(both.body['error'], 'sha must be given 1 to 100 times', 'the ids are looked at first')
  t.equal((await ask('')).text, without)
})

t.test('Rights are those of the list, and come before the ids', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const [alice, bob] = [await service.tokenOf('alice'), await service.tokenOf('bob')]
  const statusOf = async (repository: string, token?: string, shas = [sha]) =>
    (await service.call('GET', path(shas, repository), { token })).status
  t.equal(await statusOf('alice/hello', alice), 200)
  for (const shas of [[sha], ['x']]) {
    for (const repository of ['alice/hello', 'alice/missing']) {
      t.equal(await statusOf(repository, undefined, shas), 401)
      t.equal(await statusOf(repository, bob, shas), 404)
      t.equal(await statusOf(repository, 'cst_wrong', shas), 401)
    }
  }
  await service.admin.grantAccess('alice/hello', 'bob', 'read')
  t.equal(await statusOf('alice/hello', bob), 200)
  t.equal((await service.call('POST', path([sha]))).status, 405)
})

t.test('They have an ETag; other sites may read what everybody may read, and nothing else', async (t) => {
  const { service, sha, token, report } = await hostCommit(t)
  const first = await service.call('GET', path([sha]))
  const etag = first.headers.get('etag') ?? ''
  t.match(etag, /^"[\w-]{22}"$/)
  const known = await service.call('GET', path([sha]), { headers: { 'If-None-Match': etag } })
  t.strictSame([known.status, known.text, known.headers.get('access-control-allow-origin')], [304, '', '*'])
  await report({ state: 'success' })
  t.equal((await service.call('GET', path([sha]), { headers: { 'If-None-Match': etag } })).status, 200)
  t.equal(first.headers.get('access-control-allow-origin'), '*')
  t.equal((await service.call('GET', path([sha]), { token })).headers.get('access-control-allow-origin'), null)
  const refused = await service.call('GET', path([sha], 'alice/missing'))
  t.equal(refused.headers.get('access-control-allow-origin'), null)
})

t.test('A repository that cannot be read is 503, never an empty answer', async (t) => {
  const { service, directory, sha, token } = await hostCommit(t)
  const { rmSync } = await import('node:fs')
  rmSync(`${directory}/HEAD`)
  const { status } = await service.call('GET', path([sha, '0'.repeat(40)]), { token })
  t.equal(status, 503)
})

t.test('A list that is too large for the memory is counted whole', async (t) => {
  const { service, sha, report } = await hostCommit(t)
  const description = '\u{1F600}'.repeat(1024)
  const contexts = Array.from({ length: 260 }, (_, index) => `c${index}`)
  await Promise.all(contexts.map(async (context) => await report({ state: 'success', context, description })))
  t.strictSame((await service.call('GET', path([sha]))).body, {
    states: { [sha]: { state: 'success', statuses: 260 } },
  })
  const last = contexts.slice(-30).sort()
  await Promise.all(last.map(async (context) => await report({ state: 'error', context, description })))
  for (const most of [1, 20])
    t.strictSame((await service.call('GET', `${path([sha])}&failed=${most}`)).body, {
      states: { [sha]: { state: 'failure', statuses: 260, failed: last.slice(0, most) } },
    })
})
