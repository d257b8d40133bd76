import t from 'tap'
import { ServiceError } from '../../lib/errors.js'
import { ChangedLines } from '../../lib/git/changed-lines.js'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { commitFile, makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId } from '../fixtures/names.js'

t.test('The lines that a commit changes are counted, beside its first parent or nothing', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const lines = new ChangedLines(new GitProcesses())
  const first = await commitFile(directory, 'a\nb\nc\n')
  t.strictSame(await lines.count(directory, commitId(first), undefined), { additions: 3, deletions: 0 })
  t.strictSame(await lines.count('/nowhere', commitId(first), undefined), { additions: 3, deletions: 0 }, 'remembered')
  const second = await commitFile(directory, 'a\nB\nd\n', first)
  t.strictSame(await lines.count(directory, commitId(second), first), { additions: 2, deletions: 2 })
  t.strictSame(await lines.count(directory, commitId(sha), undefined), { additions: 0, deletions: 0 })
  const large = await commitFile(directory, 'line\n'.repeat(300_000), second)
  t.strictSame(await lines.count(directory, commitId(large), second), { additions: 0, deletions: 0 }, 'no text')
})

t.test('Lines that git cannot count are none, and it is not asked again at once', async (t) => {
  const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const none = { additions: 0, deletions: 0 }
  t.strictSame(await new ChangedLines(new GitProcesses()).count(directory, commitId(sha), 'e'.repeat(40)), none)
  let asked = 0
  const failing = (error: Error) =>
    new ChangedLines({
      read: async () => {
        asked++
        return await Promise.reject(error)
      },
    })
  const slow = failing(new RepositoryUnreadable(directory, new Error('git took longer')))
  for (let times = 0; times < 2; times++) t.strictSame(await slow.count(directory, commitId(sha), undefined), none)
  t.equal(asked, 1)
  const busy = failing(new ServiceError('overloaded')).count(directory, commitId(sha), undefined)
  await t.rejects(busy, { code: 'overloaded' })
})
