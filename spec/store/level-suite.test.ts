import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import { storeSuite } from '../suites/store.js'

const folder = t.testdir()

t.test('The LevelDB store is a store', async (t) => {
  storeSuite(t, (t) => {
    const address = `level:${join(mkdtempSync(join(folder, 'place-')), 'store')}`
    return {
      async open() {
        const store = await openStore(address)
        t.teardown(async () => await store.close())
        return store
      },
    }
  })
})
