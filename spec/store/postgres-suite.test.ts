import t from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import { storeSuite } from '../suites/store.js'

t.test('The PostgreSQL store is a store', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  storeSuite(t, async (t) => {
    const url = await server.database()
    return {
      async open() {
        const store = await openStore(url)
        t.teardown(async () => await store.close())
        return store
      },
    }
  })
})
