import t from 'tap'
import { SerialisedList } from '../../../lib/domain/status-list.js'
import { commitFile } from '../../fixtures/git.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { DIALECTS } from '../../fixtures/api-client.js'
import { compatibleApiSuite } from '../../suites/compatible-api.js'
import { compatibleListSuite } from '../../suites/compatible-lists.js'

for (const dialect of DIALECTS.filter(({ name }) => name === 'gitlab')) {
  compatibleApiSuite(t, dialect)
  compatibleListSuite(t, dialect)
}

t.test('Nobody acts for another by a field of the body', async (t) => {
  const { service, sha, token, stored } = await hostCommit(t)
  for (const body of ['state=success&name=x&sudo=bob', '{"state":"success","name":"x","sudo":"bob"}']) {
    const { status } = await fetch(`${service.url}/api/v4/projects/alice%2Fhello/statuses/${sha}`, {
      method: 'POST',
      headers: { 'PRIVATE-TOKEN': token },
      body,
    })
    t.equal(status, 403)
  }
  t.strictSame(await stored(), [])
})

t.test('A commit says how it is, which bots that merge read, and how many lines it has changed', async (t) => {
  let now = Date.parse('2026-01-31T12:00:00.250Z')
  const { service, directory, token } = await hostCommit(t, { clock: { now: () => now } })
  const sha = await commitFile(directory, 'a\nb\n')
  const project = '/api/v4/projects/alice%2Fhello'
  const commit = async () => (await service.call('GET', `${project}/repository/commits/${sha}`, { token })).body
  const stats = { additions: 2, deletions: 0, total: 2 }
  t.match(await commit(), { status: null, last_pipeline: null, stats })
  const report = async (state: string, name: string) =>
    (await service.call('POST', `${project}/statuses/${sha}`, { token, body: { state, name } })).body
  const states = [
    ['running', 'build', 'pending'],
    ['success', 'build', 'success'],
    ['success', 'all', 'success'],
    ['canceled', 'test', 'failed'],
  ] as const
  const made: Record<string, unknown>[] = []
  for (const [state, name, combined] of states) {
    now += 1000
    made.push(await report(state, name))
    const { status, last_pipeline } = await commit()
    t.strictSame(
      [status, last_pipeline],
      [
        combined,
        {
          id: made[0]?.['pipeline_id'],
          sha,
          ref: 'main',
          status: combined,
          web_url: `${service.url}/repos/alice/hello/commits/${sha}`,
          created_at: made[0]?.['created_at'],
          updated_at: new Date(now).toISOString(),
        },
      ],
    )
  }
  const [last, reads] = [await commit(), t.capture(SerialisedList.prototype, 'pages', SerialisedList.prototype.pages)]
  t.strictSame(await commit(), last)
  t.strictSame(reads(), [], 'the list is not taken apart for each who asks')
  const checks = await service.call('GET', `/api/v3/repos/alice/hello/commits/${sha}/check-runs`, { token })
  t.strictSame(checks.body, { total_count: 0, check_runs: [] })
})
