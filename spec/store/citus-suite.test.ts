import t, { type Test } from 'tap'
import type { WholeStore } from '../../lib/contracts/store.js'
import { openStore } from '../../lib/embedding/open-store.js'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { claimedDaySuite } from '../suites/claimed-days.js'
import { storeSuite } from '../suites/store.js'

t.test('The PostgreSQL store is a store where Citus spreads the statuses', { skip: isCitusMissing }, async (t) => {
  const cluster = await CitusCluster.start(t)
  const open = async (t: Test, url: string): Promise<WholeStore> => {
    const store = await openStore(url)
    t.teardown(async () => await store.close())
    return store
  }
  storeSuite(t, async (t) => {
    const url = await cluster.database()
    return { open: async () => await open(t, url) }
  })
  t.test('days', async (t) =>
    claimedDaySuite(t, async (t) => {
      const url = await cluster.database()
      return async () => await open(t, url)
    }),
  )
})
