import { join } from 'node:path'
import { Level } from 'level'
import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { resultOf } from '../fixtures/work.js'
import { until } from '../fixtures/within.js'

type WriteOptions = { readonly sync?: boolean } | undefined

/** How `level` writes, by any of its ways: these end in the native library. */
interface Writing {
  _put: (key: unknown, value: unknown, options: WriteOptions) => Promise<void>
  _del: (key: unknown, options: WriteOptions) => Promise<void>
  _batch: (operations: unknown, options: WriteOptions) => Promise<void>
}

/** Whether each write was asked to reach the disk before it is answered. */
const writes: boolean[] = []
let failNext = false

function note(options: WriteOptions): void {
  writes.push(options?.sync === true)
  if (!failNext) return
  failNext = false
  throw new Error('no space left on device')
}

// The real library works; it is only watched. No strace is needed for that, so it holds on every machine.
t.before(async () => {
  const prototype = Level.prototype as unknown as Writing
  const { _put, _del, _batch } = prototype
  prototype._put = async function (this: Writing, key, value, options) {
    note(options)
    await _put.call(this, key, value, options)
  }
  prototype._del = async function (this: Writing, key, options) {
    note(options)
    await _del.call(this, key, options)
  }
  prototype._batch = async function (this: Writing, operations, options) {
    note(options)
    await _batch.call(this, operations, options)
  }
  const database = new Level(join(t.testdir({}), 'any'))
  await database.open()
  const chained = Object.getPrototypeOf(database.batch()) as { _write: (options: WriteOptions) => Promise<void> }
  const { _write } = chained
  chained._write = async function (this: typeof chained, options) {
    note(options)
    await _write.call(this, options)
  }
  await database.close()
})

t.test('Every write of a LevelDB store is on disk before it is answered', async (t) => {
  const folder = t.testdir({})
  const store = await LevelStore.open(join(folder, 'store'))
  t.teardown(async () => await store.close())
  const [hello, world, commit] = [repositoryNamed('alice/hello'), repositoryNamed('alice/world'), commitId('c0ffee')]
  const token = { id: 'id', digest: '', user: 'alice', name: '', scopes: [], created_at: '', expires_at: null }
  const save = async () => await store.statuses.save(hello, commit, reportOf('ci'), 0)
  const merge = async (): Promise<void> => {
    const merging = store.contents.merge(world)
    await merging.add(await store.statuses.list(hello, commit), [])
    await merging.commit()
  }
  const changes: Record<string, () => Promise<unknown>> = {
    'a report': save,
    'a token': async () => await store.tokens.add(token),
    'the use of a token': async () => await store.tokens.noteUse(new Map([['id', '2031-01-31T12:00:00.000Z']])),
    'a grant': async () => await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' }),
    'an import': merge,
    'a backup': async () => await resultOf(store.maintenance.backUp(join(folder, 'backup'))),
    'a rename': async () => await store.renameRepository(world, repositoryNamed('alice/other')),
    'a prune': async () => await store.contents.remove(hello, await store.statuses.list(hello, commit)),
    'another report': save,
    'a status that is removed': async () => await store.statuses.remove(hello, commit, 'ci'),
    'a repository that is deleted': async () => await store.deleteRepository(repositoryNamed('alice/other')),
    'a grant that is revoked': async () => await store.grants.remove({ owner: 'alice', user: 'bob' }),
    'a token that is revoked': async () => await store.tokens.remove('id'),
    'the proof after a write that failed': async () => {
      failNext = true
      await t.rejects(save(), { name: 'StoreFenced' })
      await until(() => store.unavailableReason() === undefined)
      t.ok(writes.length > 1, 'the store was proved before it took anything')
    },
  }
  for (const [name, change] of Object.entries(changes)) {
    writes.length = 0
    await change()
    t.ok(writes.length > 0 && writes.every(Boolean), `${name}: ${writes.length} writes, all with fsync`)
  }
})
