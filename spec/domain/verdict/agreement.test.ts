// The verdict over HTTP, the library's, that of who waits and that of the gate: one answer, the plainest model's.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { STATES } from '../../../lib/domain/commit-status.js'
import { milliseconds } from '../../../lib/domain/verdict/duration.js'
import { CommandPlace } from '../../fixtures/command.js'
import { embed, fetchJson, listen } from '../../fixtures/embedded.js'
import { git, makeCommit, makeRepositoryWithCommit } from '../../fixtures/git.js'
import { modelVerdict } from '../../fixtures/verdict-model.js'

const HOUR = 60 * 60 * 1000
const WAITED = { success: 0, failure: 1, pending: 3 }

const statuses = fc.uniqueArray(
  fc.record({
    context: fc.constantFrom('build', 'test/a', 'test/b', 'lint'),
    // Mostly green: otherwise hardly a verdict is.
    state: fc.oneof({ weight: 3, arbitrary: fc.constant('success' as const) }, fc.constantFrom(...STATES)),
    user: fc.constantFrom('ci', 'bob'),
    age: fc.nat({ max: 3 * HOUR }),
  }),
  { selector: ({ context }) => context, minLength: 2, maxLength: 4 },
)
const query = fc.record(
  {
    require: fc.uniqueArray(fc.constantFrom('build', 'test/*', '*', '*b', 'lint'), { minLength: 1, maxLength: 3 }),
    by: fc.uniqueArray(fc.constantFrom('ci', 'bob', 'eve'), { minLength: 1, maxLength: 2 }),
    stale: fc.constantFrom('1h', '2h'),
  },
  { requiredKeys: ['require'] },
)

t.test('HTTP, library, wait and gate never disagree', async (t) => {
  let now = Date.now()
  const { service, repositories, tokenOf } = await embed(t, { clock: { now: () => now } })
  const url = await listen(t, (request, response) => {
    service.handler(request, response)
  })
  const { directory, sha: first } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  for (const user of ['ci', 'bob']) await service.administration.grantAccess('alice/hello', user, 'write')
  const place = new CommandPlace(t.testdir())
  const environment = { COMMIT_STATUS_URL: url, COMMIT_STATUS_TOKEN: await tokenOf('alice'), HOME: place.folder }
  const ofGate = { ...environment, COMMIT_STATUS_REPOSITORIES: repositories }
  const tokenFile = join(place.folder, 'gate.token')
  writeFileSync(tokenFile, environment.COMMIT_STATUS_TOKEN)
  const configure = async (key: string, value: string) =>
    await git('-C', directory, 'config', '--add', `commit-status.${key}`, value)
  await configure('url', url)
  await configure('tokenFile', tokenFile)
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}`)
  const green = {
    statuses: [{ context: 'test/a', state: 'success', user: 'ci', age: 3 * HOUR }],
    query: { require: ['test/*'], by: ['ci'], stale: '1h' },
  } as const
  const scenes = [green, ...fc.sample(fc.record({ statuses, query }), { numRuns: 10, seed })]
  const commits = [first]
  while (commits.length < scenes.length) commits.push(await makeCommit(directory))

  const begun = now
  for (const [index, { statuses }] of scenes.entries()) {
    for (const { user, age, ...report } of statuses) {
      now = begun - age
      await service.report('alice/hello', commits[index] ?? '', report, user)
    }
  }
  now = begun

  const seen = new Set<string>()
  for (const [index, { statuses, query }] of scenes.entries()) {
    const sha = commits[index] ?? ''
    const { require, by = [], stale } = query
    const expected = modelVerdict(
      statuses.map(({ context, state, user, age }) => ({
        ...{ context, state, reporter: { user, token: null } },
        updated_at: new Date(begun - age).toISOString(),
      })),
      { require, by, ...(stale !== undefined && { stale: Number(milliseconds(stale)) }) },
      begun,
    )
    seen.add(expected)
    const library = await service.verdict('alice/hello', sha, query)
    t.equal(library.verdict, expected, JSON.stringify({ statuses, query }))

    const rule = [
      ...require.map((pattern) => ['require', pattern] as const),
      ...by.map((user) => ['by', user] as const),
      ...(stale === undefined ? [] : [['stale', stale] as const]),
    ]
    const parameters = new URLSearchParams(rule.map(([name, value]): [string, string] => [name, value])).toString()
    const path = `/api/v1/repos/alice/hello/commits/${sha}/verdict?${parameters}`
    const http = await fetchJson(url + path, { token: environment.COMMIT_STATUS_TOKEN })
    t.strictSame(http.body, library, 'over HTTP: the same, whole')

    const ref = `refs/heads/rule-${index}`
    for (const [name, value] of rule) await configure(`${ref}.${name}`, value)
    const options = rule.flatMap(([name, value]) => [`--${name}`, value])
    const [waited, explained] = await Promise.all([
      place.run(['status', 'wait', 'alice/hello', sha, '--timeout', '1s', ...options], { environment }),
      place.run(['gate', '--explain', ref, sha], { environment: ofGate, directory }),
    ])
    t.equal(waited.status, WAITED[expected], `wait: ${waited.stdout}${waited.stderr}`)
    t.equal(explained.status, expected === 'success' ? 0 : 1, `gate: ${explained.stdout}${explained.stderr}`)
  }
  t.comment(`verdicts: ${[...seen].join(', ')}`)
})
