import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { formats, makeFinder, unknownId } from '../fixtures/finder.js'
import { git, makeCommit, makeRepository } from '../fixtures/git.js'
import { makeEachType, makeRepositoryWithHistory } from '../fixtures/history.js'

for (const format of formats) {
  t.test(`Only commits count, in a repository of the ${format} format`, async (t) => {
    const finder = makeFinder(t)
    const directory = await makeRepository(t.testdir(), 'alice/hello', { format })
    const each = await makeEachType(directory)
    for (const layout of ['loose', 'packed']) {
      for (const [type, id] of Object.entries(each))
        t.equal(await finder.has(directory, id), type === 'commit', `${layout} ${type}`)
      t.equal(await finder.has(directory, unknownId(format)), false, `${layout}: an id that is not there`)
      t.equal(await finder.has(directory, '0'.repeat(unknownId(format).length)), false, `${layout}: the null id`)
      await git('-C', directory, 'repack', '-adq')
      t.strictSame(readdirSync(join(directory, 'objects')).sort(), ['info', 'pack'], 'git has packed everything')
    }
  })

  t.test(`A commit that is stored as a delta is found, format ${format}`, async (t) => {
    const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello', { format, commits: 60 })
    await git('-C', directory, 'repack', '-adfq', '--window=250', '--depth=50')
    const [index = ''] = readdirSync(join(directory, 'objects/pack')).filter((file) => file.endsWith('.idx'))
    const lines = (
      await git('verify-pack', '-v', `--object-format=${format}`, join(directory, 'objects/pack', index))
    ).split('\n')
    const deltas = lines
      .map((line) => line.split(/ +/))
      .filter(([, type, , , , depth]) => type === 'commit' && depth !== undefined)
      .map(([id]) => id ?? '')
    t.ok(deltas.length >= 10, `git has made deltas of ${deltas.length} commits`)
    const finder = makeFinder(t)
    t.strictSame(
      await Promise.all(deltas.map(async (id) => await finder.has(directory, id))),
      deltas.map(() => true),
    )
    t.equal(deltas.filter((id) => commits.includes(id)).length, deltas.length)
  })

  t.test(
    `An id of the other object format is no commit of a ${format} repository, however often it is asked for`,
    async (t) => {
      const finder = makeFinder(t)
      const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello', { format })
      const [commit = ''] = commits
      const other = (hex: string): string => (format === 'sha1' ? hex.padEnd(64, '0') : hex.slice(0, 40))
      for (const layout of ['loose', 'packed']) {
        t.equal(await finder.has(directory, other(commit)), false, `${layout}: one that begins like a commit of it`)
        const ids = Array.from({ length: 3000 }, (_, number) =>
          other(unknownId(format, number).split('').reverse().join('')),
        )
        t.notOk((await Promise.all(ids.map(async (id) => await finder.has(directory, id)))).includes(true), layout)
        t.equal(await finder.has(directory, commit), true, `${layout}: the repository is as well as before`)
        await git('-C', directory, 'repack', '-adq')
      }
    },
  )

  t.test(`A reftable repository of the ${format} format is read: no refs are needed`, async (t) => {
    const { directory, commits } = await makeRepositoryWithHistory(t.testdir(), 'alice/hello', { format })
    await git('-C', directory, 'repack', '-adq')
    await git('config', '--file', join(directory, 'config'), 'core.repositoryFormatVersion', '1')
    await git('config', '--file', join(directory, 'config'), 'extensions.refStorage', 'reftable')
    rmSync(join(directory, 'refs/heads'), { recursive: true })
    const finder = makeFinder(t)
    t.strictSame(
      await Promise.all(commits.map(async (commit) => await finder.has(directory, commit))),
      commits.map(() => true),
    )
    t.equal(await finder.has(directory, unknownId(format)), false)
  })
}

t.test('A look-up that takes too long is refused, and the next one is answered', async (t) => {
  const directory = await makeRepository(t.testdir(), 'alice/hello')
  await t.rejects(
    makeFinder(t, { deadlineMilliseconds: 1 }).has(directory, unknownId('sha1')),
    { name: 'RepositoryUnreadable', cause: { message: 'it has not answered for 0.001 s' } },
    'to open a repository takes longer',
  )
  t.equal(await makeFinder(t).has(directory, unknownId('sha1')), false)
})

t.test(
  'A repository that is held open is looked at anew each half second: another one in its place is seen',
  async (t) => {
    const folder = t.testdir({})
    const [directory, other] = [
      await makeRepository(folder, 'alice/hello'),
      await makeRepository(folder, 'alice/other'),
    ]
    const [commit, another] = [await makeCommit(directory, 'one'), await makeCommit(other, 'another')]
    const finder = makeFinder(t)
    t.equal(await finder.has(directory, commit), true)
    renameSync(directory, `${directory}.aside`)
    renameSync(other, directory)
    // By the clock: the finder asks no more often.
    await setTimeout(600)
    t.equal(await finder.has(directory, another), true)
    t.equal(await finder.has(directory, commit), false)
  },
)
