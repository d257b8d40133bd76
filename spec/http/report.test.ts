import t from 'tap'
import { STATES } from '../../lib/domain/commit-status.js'
import { git, makeCommit, makeRepository } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { itemsOf } from '../fixtures/work.js'

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
const START = Date.parse('2026-01-31T12:34:56.789Z')

t.test('201 with a JSON object that is the saved status', async (t) => {
  const { report, sha, list } = await hostCommit(t, { clock: { now: () => START } })
  const sent = {
    state: 'failure',
    context: 'ci/build',
    description: '3 tests failed',
    target_url: 'https://ci.example/42',
  }
  const answer = await report(sent)
  t.equal(answer.status, 201)
  t.type(answer.body['id'], 'string')
  t.not(answer.body['id'], '')
  const time = '2026-01-31T12:34:56.789Z'
  t.strictSame(
    answer.body,
    { id: answer.body['id'], sha, ...sent, created_at: time, updated_at: time },
    'these members and no other',
  )
  t.strictSame((await list()).body['statuses'], [answer.body], 'the list shows the same')
})

t.test('The same holds for a SHA-256 repository, whose commit ids have 64 hex characters', async (t) => {
  const { report, sha, list } = await hostCommit(t, { format: 'sha256' })
  t.equal(sha.length, 64)
  const answer = await report({ state: 'success' })
  t.match(answer, { status: 201, body: { sha } })
  t.strictSame((await list()).body, { state: 'success', statuses: [answer.body] })
})

t.test('context is default when omitted; description and target_url are null when none was given', async (t) => {
  const { report } = await hostCommit(t)
  t.match(await report({ state: 'success' }), {
    status: 201,
    body: { context: 'default', description: null, target_url: null },
  })
  t.match(await report({ state: 'success', description: null, target_url: null }), {
    status: 201,
    body: { description: null, target_url: null },
  })
})

t.test('created_at and updated_at are UTC timestamps in ISO 8601 form', async (t) => {
  const { report } = await hostCommit(t)
  const before = Date.now()
  const { created_at, updated_at } = (await report({ state: 'success' })).body
  for (const time of [created_at, updated_at]) {
    t.match(time, TIMESTAMP)
    t.ok(Date.parse(String(time)) >= before && Date.parse(String(time)) <= Date.now(), 'the time of the report')
  }
})

t.test('A context can be reported on more than a thousand times', async (t) => {
  const { report, list } = await hostCommit(t)
  let at = 0
  const reporter = async (): Promise<void> => {
    while (at++ < 1_100) t.equal((await report({ state: 'pending', context: 'build' })).status, 201)
  }
  await Promise.all(Array.from({ length: 20 }, reporter))
  t.match((await list()).body, { state: 'pending', statuses: [{ context: 'build' }] })
})

t.test('Any state can be reported at any time; there is no ordering between them', async (t) => {
  const { report, list } = await hostCommit(t)
  for (const from of STATES) {
    for (const to of STATES) {
      for (const state of [from, to]) t.match(await report({ state }), { status: 201, body: { state } })
      t.match((await list()).body['statuses'], [{ state: to }], `${from}, then ${to}`)
    }
  }
})

t.test(
  'A new report for the same context replaces the earlier one: id and created_at stay, all else is new',
  async (t) => {
    let now = START
    const { report, list, stored } = await hostCommit(t, { clock: { now: () => now } })
    const first = await report({
      state: 'pending',
      context: 'ci',
      description: 'running',
      target_url: 'https://ci.example/1',
    })
    now += 1500
    const second = await report({ state: 'success', context: 'ci' })
    t.equal(second.status, 201)
    const replaced = {
      ...first.body,
      state: 'success',
      description: null,
      target_url: null,
      updated_at: '2026-01-31T12:34:58.289Z',
    }
    t.strictSame(second.body, replaced, 'an omitted description or target_url becomes null')
    t.strictSame(
      (await list()).body,
      { state: 'success', statuses: [replaced] },
      'the commit still has one status for the context',
    )
    t.strictSame(await stored(), [replaced], 'the earlier one is not kept')
  },
)

t.test('Since when a status was pending is told in lists of an admin and exports, and in no answer', async (t) => {
  const { service, repository, sha, report, list } = await hostCommit(t)
  const pending = await report({ state: 'pending' })
  const settled = await report({ state: 'success' })
  for (const { text } of [pending, settled, await list()]) t.notMatch(text, 'pending_since')
  const pending_since = pending.body['updated_at']
  t.match(await itemsOf(service.admin.listStatuses(repository, sha)), [{ pending_since }])
  const exported = (await itemsOf(service.admin.exportStore(null))).map((line) => JSON.parse(line) as object)
  t.match(
    exported.filter((line) => 'context' in line),
    [{ pending_since }],
  )
})

t.test(
  'updated_at is never earlier than created_at or than its own former value, even when the clock steps back',
  async (t) => {
    let now = START
    const { report } = await hostCommit(t, { clock: { now: () => now } })
    const updated = []
    for (const step of [0, -3_600_000, 1000, -1000, 2000]) {
      now = START + step
      const { created_at, updated_at, state } = (await report({ state: step === -1000 ? 'error' : 'success' })).body
      t.equal(created_at, '2026-01-31T12:34:56.789Z')
      t.equal(state, step === -1000 ? 'error' : 'success', 'the latest report wins whatever the clock says')
      updated.push(Date.parse(String(updated_at)) - START)
    }
    t.strictSame(updated, [0, 0, 1000, 1000, 2000])
  },
)

t.test('Reports of other contexts, commits and repositories are left alone', async (t) => {
  const { service, sha, token, directory } = await hostCommit(t)
  const other = await makeCommit(directory, 'another')
  const fork = await makeRepository(service.repositories, 'alice/hello2')
  await git('-C', fork, 'fetch', '--quiet', directory, 'main:main')
  const reports = [
    ['alice/hello', sha, 'ci', 'success'],
    ['alice/hello', sha, 'ci/', 'failure'],
    ['alice/hello', sha, 'c', 'pending'],
    ['alice/hello', sha, `${other}/ci`, 'error'],
    ['alice/hello', other, 'ci', 'pending'],
    ['alice/hello2', sha, 'ci', 'error'],
    ['alice/hello2', other, 'ci', 'success'],
  ] as const
  const ids = new Set()
  for (const [repository, commit, context, state] of reports) {
    const answer = await service.report(repository, commit, token, { context, state })
    t.match(answer, { status: 201, body: { context, state } })
    ids.add(answer.body['id'])
  }
  t.equal(ids.size, reports.length, 'every status has an id of its own')
  for (const [repository, commit] of [
    ['alice/hello', sha],
    ['alice/hello', other],
    ['alice/hello2', sha],
    ['alice/hello2', other],
  ] as const) {
    const expected = reports
      .filter((report) => report[0] === repository && report[1] === commit)
      .map(([, , context, state]) => `${context} ${state}`)
    const { statuses } = (await service.list(repository, commit, token)).body as {
      statuses: { context: string; state: string }[]
    }
    t.strictSame(statuses.map(({ context, state }) => `${context} ${state}`).sort(), expected.sort(), repository)
  }
})

t.test('Upper-case hex names the same commit; sha in answers is lower case', async (t) => {
  for (const format of ['sha1', 'sha256'] as const) {
    const { service, sha, token, report } = await hostCommit(t, { format })
    const first = await report({ state: 'pending' })
    const mixed = sha.replace(/[a-f]/, (digit) => digit.toUpperCase())
    for (const written of [sha.toUpperCase(), mixed]) {
      t.match(await service.report('alice/hello', written, token, { state: 'success' }), {
        status: 201,
        body: { sha, id: first.body['id'] },
      })
      t.match((await service.list('alice/hello', written)).body, { statuses: [{ sha, id: first.body['id'] }] })
    }
    await service.close()
  }
})

t.test('A repeat is harmless', async (t) => {
  const { report, list } = await hostCommit(t, { clock: { now: () => START } })
  const sent = { state: 'success', context: 'ci', description: 'fine', target_url: 'https://ci.example/' }
  const first = await report(sent)
  for (let repeat = 0; repeat < 3; repeat++) t.strictSame((await report(sent)).body, first.body)
  t.strictSame((await list()).body['statuses'], [first.body])
})

t.test(
  'Parallel reports of one context never fail, keep one id and one created_at, and leave one whole winner',
  async (t) => {
    const { report, list } = await hostCommit(t)
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const state = STATES[index % STATES.length]
        return await report({ state, description: `report ${index}`, target_url: `https://ci.example/${index}` })
      }),
    )
    t.strictSame(new Set(answers.map(({ status }) => status)), new Set([201]))
    t.equal(new Set(answers.map(({ body }) => body['id'])).size, 1, 'one id')
    t.equal(new Set(answers.map(({ body }) => body['created_at'])).size, 1, 'one created_at')
    answers.forEach(({ body }, index) => {
      t.match(
        body,
        {
          state: STATES[index % STATES.length],
          description: `report ${index}`,
          target_url: `https://ci.example/${index}`,
        },
        'each is told of its own report',
      )
    })
    const { statuses } = (await list()).body as { statuses: Record<string, unknown>[] }
    t.equal(statuses.length, 1)
    const winner = answers.find(({ body }) => body['description'] === statuses[0]?.['description'])
    t.strictSame(statuses[0], winner?.body, 'one of the reports, whole')
  },
)

t.test('A report answered 201 is in the next list, among others that are reported at the same time', async (t) => {
  const { report, list } = await hostCommit(t)
  await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      for (const state of STATES) {
        const { body } = await report({ context: `check ${index}`, state })
        const { statuses } = (await list()).body as { statuses: Record<string, unknown>[] }
        t.strictSame(
          statuses.find(({ context }) => context === `check ${index}`),
          body,
        )
      }
    }),
  )
  t.equal(((await list()).body['statuses'] as unknown[]).length, 10)
})
