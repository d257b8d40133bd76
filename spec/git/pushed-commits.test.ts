import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { CommitContents } from '../../lib/git/commit-content.js'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { PushedCommits } from '../../lib/git/pushed-commits.js'
import { environment, git, makeRepository } from '../fixtures/git.js'

const ZEROS = '0'.repeat(40)

/** A bare repository, a checkout of it in which a shell works, and what reads pushes. */
async function world(t: Test) {
  const folder = t.testdir()
  const directory = await makeRepository(folder, 'alice/hello')
  const checkout = join(folder, 'checkout')
  await git('clone', '--quiet', directory, checkout)
  const processes = new GitProcesses()
  t.teardown(() => {
    processes.close()
  })
  const pushed = new PushedCommits(processes, new CommitContents(processes))
  return {
    directory,
    processes,
    /** Runs a script there, whose output has words. */
    run: async (script: string): Promise<string[]> => {
      const { stdout } = await promisify(execFile)('sh', ['-euc', script], { cwd: checkout, env: environment })
      return stdout.trim().split(/\s+/)
    },
    read: async (ref: string, before: string, after: string) => await pushed.of(directory, { ref, before, after }),
  }
}

t.test('The commits that came to a branch are read, the oldest first, with the files that they change', async (t) => {
  const { run, read } = await world(t)
  const [one = '', two = '', merge = ''] = await run(`
    echo 1 > a; mkdir d; echo 2 > 'd/b é'; git add .; git commit -qm one
    git rev-parse HEAD
    echo 3 > a; git rm -q 'd/b é'; echo 4 > c; git add .; git commit -qm two
    git rev-parse HEAD
    git checkout -qb side HEAD^; git commit -q --allow-empty -m side; git checkout -q main; git merge -q --no-edit side
    git rev-parse HEAD
    git push -q origin main`)
  const first = await read('refs/heads/main', ZEROS, one)
  t.match(first, { total: 1, forced: false, head: { id: one } })
  t.match(first.commits, [{ id: one, message: 'one\n', added: ['a', 'd/b é'], modified: [], removed: [] }])
  const rest = await read('refs/heads/main', one, merge)
  t.match(rest, { total: 3, forced: false, head: { id: merge } })
  t.equal(rest.commits.at(-1)?.id, merge)
  t.same(new Set(rest.commits.map(({ message }) => message)), new Set(['two\n', 'side\n', "Merge branch 'side'\n"]))
  const changed = rest.commits.find(({ id }) => id === two)
  t.match(changed, { added: ['c'], modified: ['a'], removed: ['d/b é'] })
  t.notOk('added' in (rest.commits.at(-1) ?? {}), 'of a merge no files are told')
})

t.test('A branch that is new has what no other one has; one that was forced has lost something', async (t) => {
  const { run, read, directory } = await world(t)
  const [one = '', two = '', other = ''] = await run(`
    git commit -q --allow-empty -m one; git rev-parse HEAD
    git commit -q --allow-empty -m two; git rev-parse HEAD
    git push -q origin main HEAD:refs/heads/topic
    git checkout -qb other HEAD^; git commit -q --allow-empty -m other; git rev-parse HEAD
    git push -q origin +other:topic`)
  t.match(await read('refs/heads/topic', two, other), {
    ...{ total: 1, forced: true, head: { id: other } },
    commits: [{ id: other, message: 'other\n' }],
  })
  t.match(await read('refs/heads/main', one, two), { forced: false })
  t.match(await read('refs/heads/topic', two, one), { total: 0, commits: [], forced: true, head: { id: one } })
  t.match(await read('refs/heads/topic', ZEROS, other), { total: 1, commits: [{ id: other }], forced: false })
  await git('-C', directory, 'branch', 'same', 'topic')
  t.match(await read('refs/heads/same', ZEROS, other), { total: 0, commits: [], head: { id: other } })
  t.strictSame(await read('refs/heads/topic', other, ZEROS), { commits: [], total: 0, forced: false })
})

t.test('A tag is told with the commit that it leads to', async (t) => {
  const { run, read } = await world(t)
  const [sha = '', tag = '', blob = ''] = await run(`
    echo 1 > a; git add .; git commit -qm one; git rev-parse HEAD
    git tag -m 'a tag' v1; git tag light; git rev-parse refs/tags/v1
    git rev-parse HEAD:a; git tag blob HEAD:a
    git push -q --tags origin main`)
  const named = { commits: [], total: 0, head: { id: sha, added: ['a'] } }
  t.match(await read('refs/tags/v1', ZEROS, tag), { ...named, forced: false })
  t.match(await read('refs/tags/light', tag, sha), { ...named, forced: true })
  t.strictSame(await read('refs/tags/blob', ZEROS, blob), { commits: [], total: 0, forced: false })
})

t.test('Of many commits and files the latest and the first are told', async (t) => {
  const { run, read } = await world(t)
  const [first = '', many = '', last = ''] = await run(`
    git commit -q --allow-empty -m first; git rev-parse HEAD
    mkdir d; (cd d; seq -f '%0200.0f' 1500 | xargs touch); git add .; git commit -qm many; git rev-parse HEAD
    i=0; while [ $i -lt 21 ]; do git commit -q --allow-empty -m $i; i=$((i+1)); done; git rev-parse HEAD
    git push -q origin main`)
  const { commits, total, head } = await read('refs/heads/main', first, last)
  t.equal(total, 22)
  t.strictSame(
    commits.map(({ message }) => message.trim()),
    Array.from({ length: 20 }, (_, index) => String(index + 1)),
  )
  t.equal(head?.id, last)
  const wide = await read('refs/heads/main', first, many)
  const { added = [] } = wide.commits[0] ?? {}
  t.equal(added.length, Math.floor((256 * 1024 - 41) / 205), 'as many as fit')
  t.ok(added.every((name) => name.length === 202))
})

t.test('What is not there any more is not told, and what cannot be read is said', async (t) => {
  const { run, read, processes, directory } = await world(t)
  const [sha = ''] = await run('git commit -q --allow-empty -m one; git rev-parse HEAD; git push -q origin main')
  const gone = 'c0ffee'.padEnd(40, '0')
  t.match(await read('refs/heads/main', gone, sha), { commits: [], total: 0, forced: false, head: { id: sha } })
  t.strictSame(await read('refs/heads/main', sha, gone), { commits: [], total: 0, forced: false })
  t.strictSame(await read('refs/tags/v1', ZEROS, gone), { commits: [], total: 0, forced: false })
  const fails = new PushedCommits(
    {
      run: processes.run.bind(processes),
      read: async () => await Promise.reject(new RepositoryUnreadable(directory, new Error('EIO'))),
    },
    new CommitContents(processes),
  )
  const pushed = { ref: 'refs/heads/main', before: ZEROS, after: sha }
  await t.rejects(fails.of(directory, pushed), { name: 'RepositoryUnreadable' })
  processes.close()
  await t.rejects(read('refs/heads/main', ZEROS, sha), { name: 'RepositoryUnreadable' })
})
