import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommitLog } from '../../lib/git/commit-log.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { git, gitWithInput, makeRepositoryWithCommit } from '../fixtures/git.js'
import { makeRepositoryWithHistory } from '../fixtures/history.js'
import { commitId } from '../fixtures/names.js'

function logOf(t: Test): CommitLog {
  const processes = new GitProcesses()
  t.teardown(() => {
    processes.close()
  })
  return new CommitLog(processes)
}

const unreadable = { name: 'RepositoryUnreadable' }

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`A log has a commit and its ancestors, the latest first: ${format}`, async (t) => {
    const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello', { format })
    const [repository, log, latest] = [{ directory, public: true }, logOf(t), commitId(commits.at(-1) ?? '')]
    const of = async (skip: number, limit: number): Promise<string[]> =>
      (await log.list(repository, latest, { skip, limit })).map(({ sha }) => sha)
    const all = commits.toReversed()
    t.strictSame([await of(0, 100), await of(1, 2), await of(5, 10)], [all, all.slice(1, 3), []])
    t.strictSame(
      { ...(await log.list(repository, latest, { skip: 0, limit: 1 }))[0], parents: [all[1]], body: [] },
      await log.one(repository, latest),
      'each as it is by itself, where its parents and the rest of its message are told too',
    )
  })
}

t.test('The commits after one are told where they are among the latest thousand of a history', async (t) => {
  const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello')
  const [first = '', second = '', third = ''] = commits
  const [repository, log] = [{ directory, public: true }, logOf(t)]
  const after = async (commit: string, start: string) =>
    await log.childrenOf(repository, commitId(start), commitId(commit))
  const tree = await git('-C', directory, 'rev-parse', 'main^{tree}')
  const merge = await git('-C', directory, 'commit-tree', tree, '-m', 'merge', '-p', third, '-p', first)
  t.strictSame(
    [await after(first, third), await after(second, third), await after(third, third)],
    [[second], [third], []],
  )
  t.strictSame(await after(first, merge), [merge, second])
  t.strictSame(await after(merge, third), [], 'of another history')
  renameSync(directory, `${directory}.gone`)
  t.strictSame(await after(first, merge), [merge, second], 'it is remembered')
  await t.rejects(after(second, merge), unreadable)
})

t.test('A commit says who made it and when, and its first paragraph in a line, cut where it is long', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const tree = await git('-C', directory, 'rev-parse', 'main^{tree}')
  const make = async (author: string, message: string | Buffer, more = ''): Promise<string> => {
    const head = `tree ${tree}\nauthor ${author}\ncommitter C <c@example.com> 0 +0000\n${more}\n`
    const bytes = Buffer.concat([Buffer.from(head), Buffer.from(message)])
    return await gitWithInput(bytes, '-C', directory, 'hash-object', '-t', 'commit', '-w', '--stdin', '--literally')
  }
  const log = logOf(t)
  const told = async (sha: string) => {
    const { author, time, subject } = (await log.one({ directory, public: true }, commitId(sha))) ?? {}
    return [author, time, subject]
  }
  t.strictSame(await told(await make('Zoë <z@x> 1800000000 -0330', 'one\ntwo\n\nthree\n')), [
    'Zoë',
    '2027-01-15T04:30:00-03:30',
    'one two',
  ])
  t.strictSame(await told(await make('A <a@x> 0 +0000', '')), ['A', '1970-01-01T00:00:00+00:00', ''])
  const [author, , subject] = await told(await make(`${'a'.repeat(300)} <a@x> 0 +0000`, 'm'.repeat(100_000)))
  t.strictSame([author, subject], [`${'a'.repeat(98)}..`, `${'m'.repeat(198)}..`])
  const accents = (count: number) => `a${'\u0301'.repeat(count)}`
  const [name, , many] = await told(await make(`${accents(140_000)} <a@x> 0 +0000`, accents(140_000)))
  const cut = `${accents(299)}…`
  t.ok(name === cut && many === cut, 'an accent has no column, and none is cut in two')
  const latin = await make('A <a@x> 0 +0000', Buffer.from('gr\u00fc\u00df', 'latin1'), 'encoding ISO-8859-1\n')
  t.equal((await told(latin))[2], 'grüß')
})

t.test(
  'What was read is remembered of this very repository, and of none that cannot be told from others',
  async (t) => {
    const { directory, sha } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
    const [log, commit, range] = [logOf(t), commitId(sha), { skip: 0, limit: 10 }]
    const [one, other, any] = ['one', 'other', undefined].map((identity) => ({
      directory,
      public: true,
      ...(identity !== undefined && { identity }),
    }))
    if (!one || !other || !any) return
    const read = await Promise.all([one, any].map(async (each) => await log.list(each, commit, range)))
    t.strictSame(read[0], read[1])
    const [known, same] = [await log.one(one, commit), await log.one(any, commit)]
    t.strictSame(known, same)
    renameSync(join(directory, 'HEAD'), join(directory, 'HEAD.away'))
    t.strictSame([await log.list(one, commit, range), await log.one(one, commit)], [read[0], known])
    for (const each of [other, any]) {
      await t.rejects(log.list(each, commit, range), unreadable)
      await t.rejects(log.one(each, commit), unreadable)
    }
  },
)

t.test('What is no commit has nothing to say; of what is not there it cannot be told', async (t) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const [log, repository] = [logOf(t), { directory, public: true, identity: 'one' }]
  const tree = commitId(await git('-C', directory, 'rev-parse', 'main^{tree}'))
  t.equal(await log.one(repository, tree), undefined)
  await t.rejects(log.one(repository, commitId('c0ffee')), unreadable)
})
