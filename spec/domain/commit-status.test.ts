import t from 'tap'
import { combinedState } from '../../lib/domain/commit-status.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'

t.test('If any status is failure or error, the combined state is failure', async (t) => {
  t.equal(combinedState(['success', 'failure', 'pending']), 'failure')
  t.equal(combinedState(['success', 'error', 'pending']), 'failure')
})

t.test('Otherwise, if any status is pending, it is pending', async (t) => {
  t.equal(combinedState(['success', 'pending']), 'pending')
})

t.test('Otherwise, it is success', async (t) => {
  t.equal(combinedState(['success', 'success']), 'success')
})

t.test('A commit with no statuses has combined state null', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello', { public: true })
  const listed = await service.list('alice/hello', sha)
  t.equal(listed.status, 200)
  t.strictSame(listed.body, { state: null, statuses: [] })
})

t.test('The combined state follows every report, over HTTP', async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello', { public: true })
  const token = await service.tokenOf('alice')
  const steps = [
    ['build', 'pending', 'pending'],
    ['build', 'success', 'success'],
    ['lint', 'error', 'failure'],
    ['test', 'pending', 'failure'],
    ['lint', 'success', 'pending'],
    ['test', 'failure', 'failure'],
    ['test', 'success', 'success'],
  ] as const
  for (const [context, state, combined] of steps) {
    t.equal((await service.report('alice/hello', sha, token, { context, state })).status, 201)
    t.equal((await service.list('alice/hello', sha)).body['state'], combined, `after ${context} ${state}`)
  }
})
