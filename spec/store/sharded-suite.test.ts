import t from 'tap'
import { migrateStore, openStore } from '../../lib/embedding/open-store.js'
import { standIns } from '../fixtures/citus.js'
import { isMissing, newDatabase, PostgresServer } from '../fixtures/postgres.js'
import { closeSuite } from '../suites/store-close.js'
import { contentsSuite } from '../suites/store-contents.js'
import { hookSuite } from '../suites/store-hooks.js'
import { modelSuite } from '../suites/store-model.js'
import { statusSuite } from '../suites/store-statuses.js'
import type { StoreFactory } from '../suites/store.js'

t.test('The PostgreSQL store is a store with the statements that it has for Citus', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const template = await server.emptyDatabase()
  await standIns(template)
  await migrateStore(template)
  const factory: StoreFactory = async (t) => {
    const url = await newDatabase(template)
    return {
      async open() {
        const store = await openStore(url)
        t.teardown(async () => await store.close())
        return store
      },
    }
  }
  // What is not about statuses is as it was.
  for (const suite of [statusSuite, closeSuite, contentsSuite, hookSuite, modelSuite])
    t.test(suite.name, async (t) => suite(t, factory))
})
