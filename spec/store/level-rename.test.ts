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
  await t.rejects(store.statuses.list(to, commit), { name: 'StoreCorrupt', message: `the value of "${to.full}/${commit.hex}/ci" is damaged` })
  t.strictSame(await store.statuses.list(from, commit), [])
  await store.deleteRepository(to)
  t.strictSame(await store.statuses.list(to, commit), [], 'and goes with it')
})

t.test('A rename that cannot be decided changes nothing, and the store goes on', async (t) => {
  const folder = t.testdir({})
  const store = await filled(folder, { [`${to.full}/${commit.hex}/lint`]: 'damaged' })
  t.teardown(async () => await store.close())
  const before = await store.statuses.list(from, commit)
  await t.rejects(store.renameRepository(from, to), { name: 'StoreCorrupt' })
  t.strictSame(await store.statuses.list(from, commit), before)
  t.equal(store.trouble(), undefined)
  await store.statuses.save(from, commit, reportOf('new'), 0)
  t.equal((await store.statuses.list(from, commit)).length, before.length + 1)
})

/** A store with two statuses in `from`, some values changed behind its back. */
async function filled(folder: string, changed: Record<string, string>): Promise<LevelStore> {
  const store = await LevelStore.open(folder)
  for (const context of ['ci', 'lint']) await store.statuses.save(from, commit, reportOf(context), 0)
  await store.close()
  await withRawLevel(folder, async (level) => await level.batch(Object.entries(changed).map(([key, value]) => ({ type: 'put' as const, key, value }))))
  return await LevelStore.open(folder)
}
