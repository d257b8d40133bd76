import t from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { storeSuite } from '../suites/store.js'

t.test('The PostgreSQL store is a store where Citus spreads the statuses', { skip: isCitusMissing }, async (t) => {
  const cluster = await CitusCluster.start(t)
  storeSuite(t, async (t) => {
    const url = await cluster.database()
    return {
      async open() {
        const store = await openStore(url)
        t.teardown(async () => await store.close())
        return store
      },
    }
  })
})
