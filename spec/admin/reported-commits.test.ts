import t from 'tap'
import { latestCommits } from '../../lib/admin/reported-commits.js'
import type { CommitStatus } from '../../lib/domain/commit-status.js'
import { commitId } from '../fixtures/names.js'
import { resultOf } from '../fixtures/work.js'

/** Statuses in the order of a scan; a commit `1a` has its reports at the given minutes. */
async function* scan(commits: Record<string, readonly number[]>): AsyncGenerator<CommitStatus> {
  for (const digits of Object.keys(commits).sort()) {
    for (const [index, minute] of (commits[digits] ?? []).entries()) {
      const time = new Date(minute * 60_000).toISOString()
      yield {
        id: `${digits} ${index}`,
        sha: commitId(digits).hex,
        context: `c${index}`,
        state: index === 1 ? 'failure' : 'success',
        description: null,
        target_url: null,
        created_at: time,
        updated_at: time,
      }
    }
  }
}

async function inOneLine(commits: Record<string, readonly number[]>, limit: number): Promise<string[]> {
  return (await resultOf(latestCommits(scan(commits), limit))).map(({ sha, state, updated_at }) =>
    [sha.slice(0, 2), state, Date.parse(updated_at) / 60_000].join(' '),
  )
}

t.test('The commits that were reported on last come first, with their combined state', async (t) => {
  t.strictSame(await inOneLine({ '1a': [5], '2b': [1, 9, 3], '3c': [7, 2], '4d': [6] }, 3), [
    '2b failure 9',
    '3c failure 7',
    '4d success 6',
  ])
  t.strictSame(
    await inOneLine({ '1a': [5], '2b': [5], '3c': [5] }, 2),
    ['1a success 5', '2b success 5'],
    'those of the same time in the order of their ids',
  )
  t.strictSame(await inOneLine({}, 1), [])
  t.strictSame(await inOneLine({ '1a': [1] }, 1), ['1a success 1'])
})
