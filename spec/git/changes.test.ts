import { linkSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { formats, makeFinder, unknownId } from '../fixtures/finder.js'
import { git, makeCommit, makeRepository } from '../fixtures/git.js'
import { makeHistory, makeRepositoryWithHistory } from '../fixtures/history.js'
import { within } from '../fixtures/within.js'

/** On a machine that has the time; here it may be busy. What is not noticed stays for a quarter of a minute. */
const SECOND = 5000

for (const format of formats) {
  t.test(`A pushed commit is seen at once, after it was missing a moment before, format ${format}`, async (t) => {
    const folder = t.testdir()
    const [hosted, clone] = [
      await makeRepository(folder, 'alice/hello', { format }),
      await makeRepository(folder, 'alice/clone', { format }),
    ]
    const finder = makeFinder(t)
    for (const [how, unpackLimit] of Object.entries({
      'as loose objects': 1000,
      'as a pack': 1,
      'as loose objects beside a pack': 1000,
      'as another pack': 1,
    })) {
      await git('-C', hosted, 'config', 'receive.unpackLimit', String(unpackLimit))
      const commits = await makeHistory(clone, 3)
      t.strictSame(
        await Promise.all(commits.map(async (id) => await finder.has(hosted, id))),
        [false, false, false],
        `before the push ${how}`,
      )
      await git('-C', clone, 'push', '--quiet', hosted, 'main')
      t.strictSame(await Promise.all(commits.map(async (id) => await finder.has(hosted, id))), [true, true, true], how)
    }
  })

  t.test(
    `A repository that is replaced by another of the same name is noticed within a second, format ${format}`,
    async (t) => {
      const folder = t.testdir()
      const finder = makeFinder(t)
      const { directory, commits } = await makeRepositoryWithHistory(folder, 'alice/hello', { format })
      await git('-C', directory, 'repack', '-adq')
      const [old = ''] = commits
      for (const otherFormat of formats) {
        const other = await makeRepository(folder, `alice/other-${otherFormat}`, { format: otherFormat })
        const id = await makeCommit(other, 'only in the other one')
        t.equal(await finder.has(directory, old), otherFormat === formats[0])
        rmSync(directory, { recursive: true })
        renameSync(other, directory)
        t.ok(
          await within(SECOND, async () => (await finder.has(directory, id)) && !(await finder.has(directory, old))),
          `by one of the format ${otherFormat}`,
        )
      }
    },
  )
}

t.test('A repository that is deleted is noticed within a second, and again when it comes back', async (t) => {
  const folder = t.testdir()
  const finder = makeFinder(t)
  const { directory, commits } = await makeRepositoryWithHistory(folder, 'alice/hello')
  await git('-C', directory, 'repack', '-adq')
  const [id = ''] = commits
  t.equal(await finder.has(directory, id), true)
  renameSync(directory, `${directory}.gone`)
  const unreadable = async (): Promise<boolean> =>
    await finder.has(directory, id).then(
      () => false,
      (error: unknown) => error instanceof RepositoryUnreadable,
    )
  t.ok(await within(SECOND, unreadable), 'deleted')
  renameSync(`${directory}.gone`, directory)
  t.equal(await finder.has(directory, id), true)
})

t.test('Equal look-ups at once are answered alike, and together', async (t) => {
  const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello')
  const finder = makeFinder(t)
  const [id = ''] = commits
  t.strictSame(
    new Set(await Promise.all(Array.from({ length: 500 }, async () => await finder.has(directory, id)))),
    new Set([true]),
  )
  t.strictSame(
    new Set(await Promise.all(Array.from({ length: 500 }, async () => await finder.has(directory, unknownId('sha1'))))),
    new Set([false]),
  )
})

t.test('An answer that an earlier look-up gives does not hide a push that came after it', async (t) => {
  const folder = t.testdir()
  const { directory } = await makeRepositoryWithHistory(folder, 'alice/hello')
  const source = await makeRepositoryWithHistory(folder, 'alice/source', { commits: 300 })
  const finder = makeFinder(t)
  const hidden: string[] = []
  for (const [round, id] of source.commits.slice(5).entries()) {
    const [from = '', to = ''] = [source.directory, directory].map((each) =>
      join(each, 'objects', id.slice(0, 2), id.slice(2)),
    )
    mkdirSync(dirname(to), { recursive: true })
    const early = finder.has(directory, id)
    for (let turns = round % 8; turns > 0; turns--) await new Promise(setImmediate)
    linkSync(from, to)
    if (!(await finder.has(directory, id))) hidden.push(id)
    await early
  }
  t.strictSame(hidden, [])
})

t.test('What a finder is told to forget is not remembered by a look-up under way either', async (t) => {
  const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello')
  const finder = makeFinder(t)
  const [id = ''] = commits
  for (let round = 0; round < 8; round++) {
    t.equal(await finder.has(directory, id), true)
    const early = finder.has(directory, id).catch(() => false)
    for (let turns = round % 4; turns > 0; turns--) await new Promise(setImmediate)
    renameSync(directory, `${directory}.gone`)
    finder.forget()
    await t.rejects(finder.has(directory, id), RepositoryUnreadable)
    await early
    renameSync(`${directory}.gone`, directory)
    finder.forget()
  }
})
