import { join } from 'node:path'
import t from 'tap'
import { OpenRepository, loadLibgit2 } from '../../lib/git/nodegit.js'
import { formats, objectId, unknownId } from '../fixtures/finder.js'
import { git, makeRepository } from '../fixtures/git.js'
import { makeEachType, makeRepositoryWithHistory } from '../fixtures/history.js'
import { openFiles, within } from '../fixtures/open-files.js'

for (const format of formats) {
  t.test(`An id names a commit, another object, or nothing, format ${format}`, async (t) => {
    const directory = await makeRepository(t.testdir(), 'alice/hello', { format })
    const each = await makeEachType(directory)
    for (const layout of ['loose', 'packed']) {
      const repository = await OpenRepository.open(directory)
      for (const [type, id] of Object.entries(each)) t.equal(await repository.find(objectId(id)), type === 'commit' ? 'commit' : 'another object', `${layout} ${type}`)
      t.equal(await repository.find(objectId(unknownId(format))), 'nothing')
      t.equal(await repository.find(objectId(each.commit.toUpperCase())), 'commit')
      for (const other of formats) if (other !== format) t.equal(await repository.find(objectId(unknownId(other))), 'nothing')
      repository.close()
      await git('-C', directory, 'repack', '-adq')
    }
  })
}

t.test('What is no repository cannot be opened', async (t) => {
  const folder = t.testdir({ 'empty.git': {}, 'file.git': '' })
  for (const name of ['empty.git', 'file.git', 'missing.git']) await t.rejects(OpenRepository.open(join(folder, name)), Error, name)
})

t.test('A closed repository lets go of its files once its look-ups have ended; they all end well', async (t) => {
  const folder = t.testdir()
  const { directory, commits } = await makeRepositoryWithHistory(folder, 'alice/hello', { commits: 20 })
  await git('-C', directory, 'repack', '-adq')
  const repository = await OpenRepository.open(directory)
  const ids = commits.map(objectId)
  const underWay = ids.map(async (id) => await repository.find(id))
  repository.close()
  t.strictSame(new Set(await Promise.all(underWay)), new Set(['commit']))
  t.ok(await within(2000, () => openFiles(folder).length === 0))
  t.equal(await repository.find(objectId(commits[0] ?? '')), 'commit', 'one that begins later ends well, too')
  t.ok(await within(2000, () => openFiles(folder).length === 0), 'and leaves nothing open')
  repository.close()
})

t.test('libgit2 lacks nothing as the set-up builds it', async (t) => {
  t.strictSame(await loadLibgit2(), {})
})
