import { join } from 'node:path'
import t from 'tap'
import { guardStore } from '../../lib/embedding/guarded-store.js'
import type { Store } from '../../lib/index.js'
import { JournalStore } from '../fixtures/journal-store.js'
import { storeSuite } from '../suites/store.js'

let journals = 0

// As the service uses the store of a host: behind its guard, which must let every right answer through.
storeSuite(t, (t) => {
  const path = join(t.testdir({}), `journal-${journals++}`)
  let open: Store | undefined
  t.teardown(async () => await open?.close())
  return { open: async () => (open = guardStore(new JournalStore(path), { part: 'store', milliseconds: 10_000 })) }
})
