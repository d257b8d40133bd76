import { join } from 'node:path'
import t from 'tap'
import { JournalStore } from '../fixtures/journal-store.js'
import { storeSuite } from '../suites/store.js'

let journals = 0

// The suite holds for a store of a host as for our own.
storeSuite(t, (t) => {
  const path = join(t.testdir({}), `journal-${journals++}`)
  let open: JournalStore | undefined
  t.teardown(async () => await open?.close())
  return { open: async () => (open = new JournalStore(path)) }
})
