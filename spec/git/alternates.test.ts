import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RepositoryUnreadable } from '../../lib/git/commits.js'
import { formats, makeFinder, unknownId } from '../fixtures/finder.js'
import { git, makeCommit, makeRepository } from '../fixtures/git.js'
import { borrow } from '../fixtures/history.js'

for (const format of formats) {
  t.test(`Objects that a repository borrows are its own, format ${format}`, async (t) => {
    const folder = t.testdir()
    const names = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven']
    const chain = await Promise.all(
      names.map(async (name) => await makeRepository(folder, `chain/${name}`, { format })),
    )
    const commits = await Promise.all(
      chain.map(async (directory, at) => await makeCommit(directory, `in the repository ${at}`)),
    )
    for (const [at, directory] of chain.entries()) {
      if (at % 3 === 1) await git('-C', directory, 'repack', '-adq')
      const next = names[at + 1]
      if (next !== undefined)
        borrow(
          directory,
          at % 2 ? `../../${next}.git/objects` : join(folder, `chain/${next}.git/objects`),
          '# a remark',
        )
    }
    const finder = makeFinder(t)
    const found = await Promise.all(commits.map(async (commit) => await finder.has(chain[0] ?? '', commit)))
    t.strictSame(
      found,
      commits.map((_, at) => at <= 6),
      'through alternates of alternates, absolute and relative, as deep as git goes',
    )
    t.equal(await finder.has(chain[0] ?? '', unknownId(format)), false)
    writeFileSync(join(chain[6] ?? '', 'objects/pack/pack-1.idx'), '')
    await t.rejects(
      finder.has(chain[0] ?? '', unknownId(format)),
      RepositoryUnreadable,
      'and the deepest one must be readable',
    )
  })

  t.test(`Repositories may borrow from each other in a circle, format ${format}`, async (t) => {
    const folder = t.testdir()
    const circle = await Promise.all(
      ['one', 'two', 'three'].map(async (name) => await makeRepository(folder, `circle/${name}`, { format })),
    )
    const commits = await Promise.all(circle.map(async (directory) => await makeCommit(directory, directory)))
    for (const directory of circle) borrow(directory, ...circle.map((other) => join(other, 'objects')))
    const finder = makeFinder(t)
    for (const directory of circle) {
      for (const commit of commits) t.equal(await finder.has(directory, commit), true)
      t.equal(await finder.has(directory, unknownId(format)), false)
    }
  })

  t.test(`An alternate that is named later counts at once, format ${format}`, async (t) => {
    const folder = t.testdir()
    const [borrower, lender] = [
      await makeRepository(folder, 'alice/fork', { format }),
      await makeRepository(folder, 'alice/hello', { format }),
    ]
    const commit = await makeCommit(lender)
    const finder = makeFinder(t)
    t.equal(await finder.has(borrower, commit), false)
    borrow(borrower)
    t.equal(await finder.has(borrower, commit), false)
    appendFileSync(join(borrower, 'objects/info/alternates'), '../../hello.git/objects\n')
    t.equal(await finder.has(borrower, commit), true)
  })
}
