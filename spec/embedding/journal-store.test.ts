import { join } from 'node:path'
import t, { type Test } from 'tap'
import { guardStore } from '../../lib/embedding/guarded-store.js'
import type { Store } from '../../lib/index.js'
import { JournalStore } from '../fixtures/journal-store.js'
import { modelSuite } from '../suites/store-model.js'
import { pendingSuite } from '../suites/store-pending.js'
import { storeSuite, type StorePlace } from '../suites/store.js'

let journals = 0

// As the service uses the store of a host: behind its guard, which must let every right answer through.
function place(t: Test, options?: ConstructorParameters<typeof JournalStore>[1]): StorePlace {
  const path = join(t.testdir({}), `journal-${journals++}`)
  let open: Store | undefined
  t.teardown(async () => await open?.close())
  return {
    withoutLargeLists: true,
    open: async () => (open = guardStore(new JournalStore(path, options), { part: 'store', milliseconds: 10_000 })),
  }
}

storeSuite(t, (t) => place(t), false)

t.test('A store may leave out since when a status has been pending', async (t) => {
  const factory = (t: Test): StorePlace => ({ ...place(t, { keepsPendingSince: false }), withoutPendingSince: true })
  t.test('pending', async (t) => pendingSuite(t, factory))
  t.test('model', async (t) => modelSuite(t, factory))
})
