import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Store } from '../../lib/contracts/store.js'
import { openStore } from '../../lib/embedding/open-store.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import { resultOf } from '../fixtures/work.js'
import { claimedDaySuite } from '../suites/claimed-days.js'

t.test('In a folder', async (t) => {
  claimedDaySuite(t, async (t) => {
    const address = `level:${join(t.testdir(), 'store')}`
    let store: Store | undefined
    t.teardown(async () => await store?.close())
    return await Promise.resolve(async () => {
      await store?.close()
      return (store = await openStore(address))
    })
  })
})

t.test('In a database, for all instances', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  claimedDaySuite(t, async (t) => {
    const url = await server.database()
    return async () => {
      const store = await openStore(url)
      t.teardown(async () => await store.close())
      return store
    }
  })
})

t.test('The day in a folder is its owner’s alone, and no damage', async (t) => {
  const folder = join(t.testdir(), 'store')
  const store = await LevelStore.open(folder)
  t.equal(await store.claimDay(0), true)
  await store.close()
  const again = await LevelStore.open(folder)
  t.teardown(async () => await again.close())
  const files = readdirSync(folder).map((name) => statSync(join(folder, name)))
  t.strictSame(
    files.filter((file) => (file.mode & 0o077) !== 0),
    [],
  )
  t.match(await resultOf(again.maintenance.verify()), { damaged: 0, problems: [] })
})
