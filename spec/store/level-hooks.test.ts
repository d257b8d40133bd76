import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { silentLogger } from '../../lib/contracts/logger.js'
import type { State } from '../../lib/domain/commit-status.js'
import { LevelDatabase } from '../../lib/store/level/database.js'
import { LevelHooks } from '../../lib/store/level/hooks.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { encode } from '../../lib/store/level/record.js'
import { LevelStatuses } from '../../lib/store/level/statuses.js'
import { LevelWriter } from '../../lib/store/level/writer.js'
import { hookOf, openHooks } from '../fixtures/hooks.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'

const hello = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')
const key = `!outbox!${hello.full}/a/${commit.hex}/ci`

t.test('What waits and was not tried yet is written once, however often its status is reported', async (t) => {
  const store = await LevelStore.open(`${t.testdir({ store: {} })}/store`)
  t.teardown(async () => await store.close())
  const { hooks, noted } = await openHooks(t, store, hookOf('a'))
  const save = async (context: string, state: State, max?: number) =>
    await store.statuses.save(hello, commit, reportOf(context, { state }), 0, max)
  const claim = async () => await hooks.outbox.claim('a', 10)
  const deliveries = new Set<string | undefined>()
  await save('ci', 'pending')
  const [tried] = await claim()
  if (!tried) throw new Error('nothing is noted')
  await hooks.outbox.release(tried)
  for (const state of ['failure', 'success', 'failure'] as const) {
    await save('ci', state)
    t.strictSame(noted.splice(0).at(-1), 'a', 'whoever delivers is called')
  }
  for (let repeat = 0; repeat < 2; repeat++) {
    const [entry] = await claim()
    if (!entry) throw new Error('nothing is noted')
    deliveries.add(entry.delivery)
    await hooks.outbox.release(entry)
  }
  t.equal(deliveries.size, 1)
  t.notOk(deliveries.has(tried.delivery), 'what was tried before is another delivery')
  await t.rejects(save('lint', 'success', 1), { name: 'ContextLimitReached' })
  t.equal((await claim()).length, 1)
})

t.test('Of what is reported while others are told, the last state is told', async (t) => {
  const store = await LevelStore.open(`${t.testdir({ store: {} })}/store`)
  t.teardown(async () => await store.close())
  const { hooks } = await openHooks(t, store, hookOf('a'))
  const told = new Map<string, State>()
  const contexts = ['one', 'two', 'three']
  const tell = async (): Promise<number> => {
    const entries = await hooks.outbox.claim('a', 10)
    for (const entry of entries) {
      const context = entry.subject.slice(commit.hex.length + 1)
      const { state } = (await store.statuses.status(hello, commit, context)) ?? { state: 'error' }
      told.set(context, state)
      await hooks.outbox.settle(entry, state)
    }
    return entries.length
  }
  const save = async (state: State): Promise<unknown> =>
    await Promise.all(
      contexts.map(async (context) => await store.statuses.save(hello, commit, reportOf(context, { state }), 0)),
    )
  for (let round = 0; round < 100; round++) {
    const state = round % 2 === 0 ? 'success' : 'failure'
    await save('pending')
    const saving = save(state)
    // Each time at another moment of the write.
    for (let turn = 0; turn < round % 10; turn++) await setImmediate()
    await Promise.all([saving, tell()])
    while ((await tell()) > 0);
    t.strictSame([...told].toSorted(), contexts.map((context) => [context, state]).toSorted())
  }
  t.strictSame(await hooks.outbox.waiting(), new Map())
})

t.test('What waits is whole as the rest of the store: verified and backed up', async (t) => {
  const folder = t.testdir({ store: {} })
  const store = await LevelStore.open(`${folder}/store`)
  t.teardown(async () => await store.close())
  const { hooks } = await openHooks(t, store, hookOf('a', { events: ['status', 'broken'] }))
  for (const context of ['ci', 'lint']) await store.statuses.save(hello, commit, reportOf(context), 0)
  const [, branches] = await hooks.outbox.claim('a', 10)
  if (!branches) throw new Error('nothing is noted')
  await hooks.outbox.settle(branches, null, ['main'])
  const found = await finished(store.maintenance.verify())
  t.strictSame(found, { statuses: 2, tokens: 0, grants: 0, damaged: 0, keys: [], problems: [] })
  await finished(store.maintenance.backUp(`${folder}/copy`))
  const copy = await LevelStore.open(`${folder}/copy`)
  t.teardown(async () => await copy.close())
  t.strictSame(await copy.hooks.list(), await store.hooks.list())
  await copy.hooks.outbox.open(() => undefined)
  t.equal((await copy.hooks.outbox.claim('a', 10)).length, 1)
})

t.test('What is damaged of what waits costs no report, and is put right by the next one', async (t) => {
  const folder = t.testdir({})
  const first = await LevelStore.open(folder)
  await first.hooks.add(hookOf('a'))
  await first.close()
  await withRawLevel(folder, async (level) => {
    await level.put(key, 'damaged')
    await level.put(`!outbox!${hello.full}/gone/${commit.hex}/ci`, 'of no hook')
  })
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  t.match(await finished(store.maintenance.verify()), { damaged: 2 })
  await store.hooks.outbox.open(() => undefined)
  t.strictSame(await store.hooks.outbox.claim('a', 10), [])
  await store.statuses.save(hello, commit, reportOf('ci'), 0)
  t.match(await store.hooks.outbox.claim('a', 10), [{ subject: `${commit.hex}/ci` }])
})

t.test('What noted something before the database failed is told after it was opened again', async (t) => {
  const { database, hooks, statuses, noted } = await opened(t)
  await statuses.save(hello, commit, reportOf('ci'), 0)
  // Written all the same, as a batch that was refused may be.
  const other = key.replace(/ci$/, 'lint')
  const value = encode(other, { delivery: 'x', since: '2026-01-31T12:00:00.000Z', from: null })
  await database.write([{ type: 'put', key: other, value }])
  t.equal((await hooks.outbox.waiting()).get('a')?.count, 1)
  noted.length = 0
  await database.reopen()
  t.strictSame(noted, ['a'])
  t.equal((await hooks.outbox.claim('a', 10)).length, 1)
  t.equal((await hooks.outbox.waiting()).get('a')?.count, 2)
})

t.test('What has gone while it waited is not taken, and holds up nothing behind it', async (t) => {
  const { database, hooks, statuses } = await opened(t)
  await statuses.save(hello, commit, reportOf('ci'), 0)
  await database.write([{ type: 'del', key }])
  t.strictSame(await hooks.outbox.claim('a', 10), [])
  t.equal((await hooks.outbox.waiting()).get('a')?.count ?? 0, 0)
  await statuses.save(hello, commit, reportOf('ci'), 1)
  t.match(await hooks.outbox.claim('a', 10), [{ subject: `${commit.hex}/ci` }])
})

t.test('What cannot be read is not taken, and can be taken later', async (t) => {
  const { database, hooks, statuses } = await opened(t)
  await statuses.save(hello, commit, reportOf('ci'), 0)
  const read = database.read.bind(database)
  database.read = async () => await Promise.reject(new Error('a bad block'))
  await t.rejects(hooks.outbox.claim('a', 10), { message: 'a bad block' })
  database.read = read
  t.equal((await hooks.outbox.claim('a', 10)).length, 1)

  const { scan } = database
  hooks.outbox.reload()
  database.scan = () => {
    throw new Error('a bad block')
  }
  await t.rejects(hooks.outbox.claim('a', 10), { message: 'a bad block' })
  database.scan = scan
  await statuses.save(hello, commitId('2'), reportOf('ci'), 0)
  t.equal((await hooks.outbox.claim('a', 10)).length, 1)
})

t.test('What is told costs no count of contexts', async (t) => {
  const { database, hooks, statuses } = await opened(t)
  let counts = 0
  const count = database.count.bind(database)
  database.count = async (...args) => {
    counts++
    return await count(...args)
  }
  await statuses.save(hello, commit, reportOf('ci'), 0)
  t.equal(counts, 1)
  for (const entry of await hooks.outbox.claim('a', 10)) await hooks.outbox.settle(entry, 'success')
  await statuses.save(hello, commit, reportOf('lint'), 0)
  t.equal(counts, 1, 'it is remembered')
  await statuses.save(hello, commit, reportOf('lint'), 0)
  t.equal(counts, 1, 'and a report that replaces another one needs none, although nothing waits yet')
})

async function opened(t: Parameters<typeof openHooks>[0]) {
  const database = await LevelDatabase.open(t.testdir({}))
  t.teardown(async () => await database.close())
  const writer = new LevelWriter(database, silentLogger)
  const hooks = new LevelHooks(database, writer)
  const noted: string[] = []
  await hooks.add(hookOf('a'))
  await hooks.outbox.open((ids) => noted.push(...ids))
  return { database, hooks, noted, statuses: new LevelStatuses(database, writer, hooks.outbox) }
}

async function finished<Result>(task: AsyncGenerator<unknown, Result>): Promise<Result> {
  for (;;) {
    const next = await task.next()
    if (next.done) return next.value
  }
}
