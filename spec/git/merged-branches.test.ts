import t from 'tap'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { MergedBranches } from '../../lib/git/merged-branches.js'
import { ServiceError } from '../../lib/errors.js'
import { makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'

t.test('What is merged is asked for once; where git cannot say, nothing is', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  await makeCommit(directory, 'same', 'old')
  const base = await makeCommit(directory, 'later', 'main')
  const processes = new GitProcesses()
  let runs = 0
  const merged = new MergedBranches({
    read: async (...call) => {
      runs++
      return await processes.read(...call)
    },
  })
  const [main, one] = [
    { name: 'refs/heads/main', id: base },
    { name: 'refs/heads/main', id: sha },
  ]
  for (let count = 0; count < 2; count++) {
    const isMerged = await merged.into(directory, base, [main, one])
    t.strictSame([isMerged(main), isMerged(one)], [false, false], 'it is another commit now')
  }
  t.equal(runs, 1)
  const unsaid = await merged.into(directory, 'e'.repeat(40), [one])
  t.equal(unsaid(one), false, 'git does not know the commit')
  const failing = (error: Error) => new MergedBranches({ read: async () => await Promise.reject(error) })
  const hung = await failing(new RepositoryUnreadable(directory, 'late')).into(directory, base, [one])
  t.equal(hung(one), false)
  const overloaded = failing(new ServiceError('overloaded'))
  await t.rejects(overloaded.into(directory, base, [one]), { code: 'overloaded' })
})
