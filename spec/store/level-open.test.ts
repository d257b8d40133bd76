import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { StoreLocked, StoreUnavailable } from '../../lib/errors.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { makeFolder } from '../../lib/store/level/make-folder.js'
import { startStoreProcess } from '../fixtures/store-process.js'

t.test('A second process gets StoreLocked, until the first has closed the store', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  const inChild = async () => (await startStoreProcess(t, 'open', folder).lines.next()).value as string
  t.equal(await inChild(), `StoreLocked: the store ${folder} is in use by another process`)
  await store.close()
  t.equal(await inChild(), 'opened')
})

t.test('So does a second opening in the same process', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  await t.rejects(LevelStore.open(folder), StoreLocked)
  t.equal(store.unavailableReason(), undefined, 'the first is not disturbed')
  await store.close()
  await (await LevelStore.open(folder)).close()
})

t.test('Folders of a new store are open to their owner only', async (t) => {
  const outer = join(t.testdir(), 'new')
  const folder = join(outer, 'folders', 'store')
  await (await LevelStore.open(folder)).close()
  t.strictSame([outer, join(outer, 'folders'), folder].map(modeOf), ['700', '700', '700'])
})

t.test('Those who make the same folders at once all have them', async (t) => {
  const folder = join(t.testdir(), 'new', 'store')
  await Promise.all(Array.from({ length: 8 }, async () => await makeFolder(folder)))
  t.equal(modeOf(folder), '700')
})

t.test('A folder that is there keeps its mode', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'store'), { mode: 0o750 })
  await (await LevelStore.open(join(folder, 'store'))).close()
  t.equal(modeOf(join(folder, 'store')), '750')
})

t.test('A store that cannot be opened says which one, and why', async (t) => {
  const folder = t.testdir({ file: '', damaged: { CURRENT: 'nonsense\n' } })
  await t.rejects(LevelStore.open(join(folder, 'file')), {
    name: 'StoreUnavailable',
    message: /^the store \/.*\/file cannot be opened: .*EEXIST/,
  })
  await t.rejects(LevelStore.open(join(folder, 'file', 'store')), {
    name: 'StoreUnavailable',
    message: /^the store \/.*\/file\/store cannot be opened: .*ENOTDIR/,
  })
  await t.rejects(LevelStore.open(join(folder, 'damaged')), {
    name: 'StoreUnavailable',
    message: /^the store \/.*\/damaged cannot be opened: /,
  })
  await t.rejects(LevelStore.open('/proc/none/store'), {
    name: 'StoreUnavailable',
    message: /^the store \/proc\/none\/store cannot be opened: .*ENOENT/,
  })
  writeFileSync(join(folder, 'damaged', 'CURRENT'), '')
  await t.rejects(LevelStore.open(join(folder, 'damaged')), StoreUnavailable)
})

t.test('A store whose file CURRENT is gone is not taken for a new one', async (t) => {
  const folder = join(t.testdir(), 'store')
  await (await LevelStore.open(folder)).close()
  rmSync(join(folder, 'CURRENT'))
  const before = readdirSync(folder)
  await t.rejects(LevelStore.open(folder), {
    name: 'StoreUnavailable',
    message: /^the store \/.*\/store cannot be opened: its file CURRENT is missing; restore the store from a backup/,
  })
  t.strictSame(readdirSync(folder), before, 'and nothing in it was touched')
})

t.test('What a recovery left behind when it was killed goes at the next opening', async (t) => {
  const folder = join(t.testdir(), 'store')
  await (await LevelStore.open(folder)).close()
  writeFileSync(join(folder, 'room'), 'x')
  await (await LevelStore.open(folder)).close()
  t.notOk(readdirSync(folder).includes('room'))
})

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}
