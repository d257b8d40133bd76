import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'

const [from, to] = [repositoryNamed('alice/a'), repositoryNamed('alice/b')]
const commit = commitId('c0ffee')

t.test('A damaged status moves with its repository, and stays damaged: never a silent gap', async (t) => {
  const folder = t.testdir({})
  const store = await filled(folder, { [`${from.full}/${commit.hex}/ci`]: 'damaged' })
  t.teardown(async () => await store.close())
  await store.renameRepository(from, to)
  await t.rejects(store.statuses.list(to, commit), {
    name: 'StoreCorrupt',
    message: `the value of "${to.full}/${commit.hex}/ci" is damaged`,
  })
  t.strictSame(await store.statuses.list(from, commit), [])
  await store.deleteRepository(to)
  t.strictSame(await store.statuses.list(to, commit), [], 'and goes with it')
})

t.test('Where both names have a status of a context, a damaged one gives way to the other', async (t) => {
  for (const damaged of [from, to]) {
    const store = await filled(t.testdir({}), { [`${damaged.full}/${commit.hex}/lint`]: 'damaged' }, [from, to])
    await store.renameRepository(from, to)
    t.equal((await store.statuses.list(to, commit)).length, 2, damaged.full)
    t.strictSame(await store.statuses.list(from, commit), [])
    await store.close()
  }
})

/** A store with two statuses in each repository, some values changed behind its back. */
async function filled(folder: string, changed: Record<string, string>, repositories = [from]): Promise<LevelStore> {
  const store = await LevelStore.open(folder)
  for (const repository of repositories)
    for (const context of ['ci', 'lint']) await store.statuses.save(repository, commit, reportOf(context), 0)
  await store.close()
  await withRawLevel(
    folder,
    async (level) =>
      await level.batch(Object.entries(changed).map(([key, value]) => ({ type: 'put' as const, key, value }))),
  )
  return await LevelStore.open(folder)
}
