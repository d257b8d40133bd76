import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BackupRefused, StoreUnavailable } from '../../lib/errors.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'
import { withSmallDisk } from '../fixtures/small-disk.js'
import { startStoreProcess } from '../fixtures/store-process.js'
import { resultOf } from '../fixtures/work.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

async function openedStore(t: Test, folder: string): Promise<LevelStore> {
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  return store
}

/** Statuses of 1 kB each, and a token that was used and a grant. */
async function fill(store: LevelStore, statuses: number): Promise<void> {
  await Promise.all(
    Array.from(
      { length: statuses },
      async (_, index) =>
        await store.statuses.save(repository, commit, reportOf(`check ${index}`, { description: 'x'.repeat(1000) }), 0),
    ),
  )
  await store.tokens.add({
    id: '0a',
    digest: 'd',
    user: 'alice',
    name: '',
    scopes: [],
    created_at: '2026-01-31T12:00:00.000Z',
    expires_at: null,
  })
  await store.tokens.noteUse(new Map([['0a', '2026-01-31T12:00:00.000Z']]))
  await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' })
}

t.test('Verifying a sound store counts what is in it', async (t) => {
  const store = await openedStore(t, join(t.testdir(), 'store'))
  t.strictSame(await resultOf(store.maintenance.verify()), {
    statuses: 0,
    tokens: 0,
    grants: 0,
    damaged: 0,
    keys: [],
    problems: [],
  })
  await fill(store, 12)
  t.strictSame(await resultOf(store.maintenance.verify()), {
    statuses: 12,
    tokens: 1,
    grants: 1,
    damaged: 0,
    keys: [],
    problems: [],
  })
})

t.test('Verifying counts every damaged value of every kind, and names the first thousand', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  await fill(store, 3)
  await store.close()
  const prefix = `alice/hello/${commit.hex}/`
  const damaged = [
    `${prefix}check 1`,
    '!tokens!0a',
    '!token-uses!0a',
    '!grants!alice//bob',
    'nonsense',
    `${prefix.slice(0, -2)}/check 1`,
  ]
  await withRawLevel(folder, async (level) => {
    for (const key of damaged) await level.put(key, '{}')
  })
  const second = await openedStore(t, folder)
  t.strictSame(await resultOf(second.maintenance.verify()), {
    statuses: 2,
    tokens: 0,
    grants: 0,
    damaged: damaged.length,
    keys: [...damaged].sort(),
    problems: [],
  })
  await second.close()
  await withRawLevel(folder, async (level) => {
    await level.batch(
      Array.from({ length: 2000 }, (_, index) => ({ type: 'put' as const, key: `nonsense ${index}`, value: '' })),
    )
  })
  const { damaged: many, keys } = await resultOf((await openedStore(t, folder)).maintenance.verify())
  t.strictSame([many, keys.length], [damaged.length + 2000, 1000])
})

t.test('What verifying finds in the files is refused from then on', async (t) => {
  const folder = join(t.testdir(), 'store')
  const first = await LevelStore.open(folder)
  await fill(first, 3)
  await first.close()
  const store = await openedStore(t, folder)
  t.equal((await store.statuses.list(repository, commit)).length, 3)
  const table = readdirSync(folder).find((name) => name.endsWith('.ldb')) ?? ''
  writeFileSync(join(folder, table), 'nonsense')
  const { problems } = await resultOf(store.maintenance.verify())
  t.match(problems, [new RegExp(`^${table} is damaged: "!grants!alice//bob" to "alice/hello/c0ffee.*/check 2"$`)])
  t.strictSame((await resultOf(store.maintenance.verify())).problems, problems, 'it is told once')
  await t.rejects(store.statuses.list(repository, commit), { name: 'StoreCorrupt', message: /lies in a damaged table/ })
})

t.test('A backup is a store with all that was acknowledged before it began; the original goes on', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await openedStore(t, folder)
  await fill(store, 8000)
  let running = true
  let contexts = 0
  const report = async (): Promise<void> => {
    while (running) await store.statuses.save(repository, commit, reportOf(`later ${contexts++}`), 0)
  }
  const reporters = Array.from({ length: 8 }, report)
  const copy = join(t.testdirName, 'new', 'copy')
  const counts = await resultOf(store.maintenance.backUp(copy))
  running = false
  await Promise.all(reporters)

  t.match(counts, { tokens: 1, grants: 1 })
  t.ok(counts.statuses >= 8000 && counts.statuses < 8000 + contexts, 'reports went on meanwhile')
  const restored = await openedStore(t, copy)
  const there = await restored.statuses.list(repository, commit)
  t.equal(there.length, counts.statuses)
  t.equal(there.filter(({ context }) => context.startsWith('check')).length, 8000)
  t.match(await restored.tokens.list(), [{ id: '0a', last_used_at: '2026-01-31T12:00:00.000Z' }])
  t.match(await restored.grants.list(), [{ user: 'bob', access: 'read' }])
  t.match(await resultOf(restored.maintenance.verify()), { damaged: 0, problems: [] })
  await restored.statuses.save(repository, commit, reportOf('check 1'), 1000)
  t.equal(
    (await store.statuses.list(repository, commit)).length,
    8000 + contexts,
    'nothing is missing from the original',
  )
})

t.test('During a backup and after it, no other process can open the original', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await openedStore(t, folder)
  await fill(store, 4000)
  const { lines, child } = startStoreProcess(t, 'openAgainAndAgain', folder)
  const outcomes = new Set<string>()
  outcomes.add(((await lines.next()) as { value: string }).value)
  await resultOf(store.maintenance.backUp(join(t.testdirName, 'copy')))
  for (let tries = 0; tries < 3; tries++) outcomes.add(((await lines.next()) as { value: string }).value)
  child.kill()
  for await (const line of lines) outcomes.add(line)
  t.strictSame([...outcomes], [`StoreLocked: the store ${folder} is in use by another process`])
})

t.test('A folder with anything in it is refused, and not touched', async (t) => {
  const store = await openedStore(t, join(t.testdir({ full: { file: 'x' } }), 'store'))
  await fill(store, 10)
  const [full, copy, empty] = ['full', 'copy', 'empty'].map((name) => join(t.testdirName, name)) as [
    string,
    string,
    string,
  ]
  await t.rejects(resultOf(store.maintenance.backUp(full)), {
    constructor: BackupRefused,
    message: `${full} is not empty`,
  })
  t.strictSame(readdirSync(full), ['file'])
  const inside = join(t.testdirName, 'store/copy')
  await t.rejects(resultOf(store.maintenance.backUp(inside)), {
    constructor: BackupRefused,
    message: `${inside} is in the folder of the store: choose another one`,
  })
  await resultOf(store.maintenance.backUp(copy))
  const before = readdirSync(copy)
  await t.rejects(resultOf(store.maintenance.backUp(copy)), BackupRefused)
  t.strictSame(readdirSync(copy), before)
  mkdirSync(empty)
  t.match(await resultOf(store.maintenance.backUp(empty)), { statuses: 10 }, 'an empty one is taken')
  await t.rejects(resultOf(store.maintenance.backUp(join(full, 'file'))), { code: 'EEXIST' })
})

t.test('A backup of damaged values is refused: it must not take the place of a sound one', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  await fill(store, 3)
  await store.close()
  await withRawLevel(folder, async (level) => {
    await level.put(`alice/hello/${commit.hex}/check 1`, '{}')
  })
  const copy = join(t.testdirName, 'copy')
  await t.rejects(resultOf((await openedStore(t, folder)).maintenance.backUp(copy)), {
    constructor: BackupRefused,
    message: /1 values are not what was written$/,
  })
  t.strictSame(readdirSync(copy), [])
})

t.test('A backup can be read by its owner only, whatever the folder; one on a new file system is taken', async (t) => {
  const store = await openedStore(t, join(t.testdir({ copy: { 'lost+found': {} } }), 'store'))
  await fill(store, 3)
  const copy = join(t.testdirName, 'copy')
  await resultOf(store.maintenance.backUp(copy))
  const files = readdirSync(copy).filter((name) => name !== 'lost+found')
  t.ok(files.length > 3)
  t.strictSame(
    files.filter((name) => (statSync(join(copy, name)).mode & 0o077) !== 0),
    [],
  )
})

t.test('A backup that was ended half-way is no store, and no folder for another one', async (t) => {
  const store = await openedStore(t, join(t.testdir({ copy: { incomplete: {} } }), 'store'))
  const copy = join(t.testdirName, 'copy')
  await t.rejects(resultOf(store.maintenance.backUp(copy)), {
    message: `${copy} is not empty: it has a backup that was not finished`,
  })
  await t.rejects(LevelStore.open(copy), {
    message: `the store ${copy} cannot be opened: it is a backup that was not finished`,
  })
})

t.test('A backup that fails leaves nothing behind', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  await fill(store, 5000)
  const copy = join(t.testdirName, 'copy')
  const failed = resultOf(store.maintenance.backUp(copy))
  const rejected = t.rejects(failed, StoreUnavailable, 'the store was closed meanwhile')
  await store.close()
  await rejected
  t.strictSame(readdirSync(copy), [])
})

t.test(
  'A disk that is full during a backup harms nothing',
  {
    skip:
      spawnSync('mount', ['--version']).status !== 0 || process.geteuid?.() !== 0
        ? 'only root can make a small disk'
        : false,
  },
  async (t) => {
    const store = await openedStore(t, join(t.testdir(), 'store'))
    await fill(store, 5000)
    await withSmallDisk(t, 2, async (disk) => {
      await t.rejects(resultOf(store.maintenance.backUp(join(disk, 'copy'))), Error)
      t.strictSame(readdirSync(join(disk, 'copy')), [])
      t.throws(() => {
        writeFileSync(join(disk, 'ballast'), Buffer.alloc(3 * 1024 * 1024))
      })
      await t.rejects(
        resultOf(store.maintenance.backUp(join(disk, 'other'))),
        StoreUnavailable,
        'not even to begin is possible',
      )
      t.strictSame(readdirSync(join(disk, 'other')), [])
    })
    t.equal(store.unavailableReason(), undefined)
    await store.statuses.save(repository, commit, reportOf('after'), 0)
    t.match(await resultOf(store.maintenance.verify()), { statuses: 5001, damaged: 0, problems: [] })
  },
)
