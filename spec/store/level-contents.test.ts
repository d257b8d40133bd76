import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { StoreCorrupt, StoreFenced, StoreUnavailable } from '../../lib/errors.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { LevelContents } from '../../lib/store/level/contents.js'
import { LevelDatabase } from '../../lib/store/level/database.js'
import { LevelGrants } from '../../lib/store/level/grants.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { LevelHooks } from '../../lib/store/level/hooks.js'
import { LevelStatuses } from '../../lib/store/level/statuses.js'
import { LevelWriter } from '../../lib/store/level/writer.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'
import { resultOf } from '../fixtures/work.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'

const hello = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

t.test('A merge that a failed write comes in between of changes nothing, and is no failed write itself', async (t) => {
  const database = await LevelDatabase.open(t.testdir({}))
  const writer = new LevelWriter(database, silentLogger)
  const statuses = new LevelStatuses(database, writer, new LevelHooks(database, writer).outbox)
  const contents = new LevelContents(database, writer, statuses, new LevelGrants(database, writer))
  t.teardown(async () => {
    await writer.close()
    await database.close()
  })
  const { status } = await statuses.save(hello, commit, reportOf('there'), 0)
  const merge = contents.merge(hello)
  await merge.add([{ ...status, context: 'merged' }], [])
  const write = database.write.bind(database)
  database.write = async () => {
    database.write = write
    await Promise.reject(new Error('the disk is gone'))
  }
  await t.rejects(statuses.save(hello, commit, reportOf('lost'), 0), StoreFenced)
  const voided = { name: 'StoreUnavailable', message: /^alice\/hello was not changed: / }
  await t.rejects(merge.add([{ ...status, context: 'more' }], []), StoreUnavailable)
  await until(() => writer.unavailableReason === undefined)
  await t.rejects(merge.commit(), voided)
  await merge.discard()
  t.equal(writer.unavailableReason, undefined)
  t.strictSame(await statuses.list(hello, commit), [status])
})

t.test('A merge mends a value that is damaged', async (t) => {
  const folder = join(t.testdir({}), 'store')
  const first = await LevelStore.open(folder)
  const { status } = await first.statuses.save(hello, commit, reportOf('ci'), 0)
  await first.close()
  await withRawLevel(folder, async (level) => {
    await level.put(`alice/hello/${commit.hex}/ci`, '{}')
  })
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  const merge = store.contents.merge(hello)
  t.equal(await merge.add([status], []), 1)
  await merge.commit()
  await merge.discard()
  t.strictSame(await store.statuses.list(hello, commit), [status])
})

t.test('What lies in a damaged table is refused, not passed over', async (t) => {
  const folder = join(t.testdir({}), 'store')
  for (let openings = 0; openings < 2; openings++) {
    const store = await LevelStore.open(folder)
    await store.statuses.save(hello, commit, reportOf(`ci ${openings}`), 0)
    await store.close()
  }
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  t.equal((await store.statuses.list(hello, commit)).length, 2)
  for (const table of readdirSync(folder).filter((name) => name.endsWith('.ldb')))
    writeFileSync(join(folder, table), 'nonsense')
  await resultOf(store.maintenance.verify())
  await t.rejects(collect(store.contents.pages()), {
    constructor: StoreCorrupt,
    message: /^the store is damaged: .*\.ldb is damaged/,
  })
  await t.rejects(collect(store.statuses.scan(hello)), {
    constructor: StoreCorrupt,
    message: /lies in a damaged table/,
  })
})
