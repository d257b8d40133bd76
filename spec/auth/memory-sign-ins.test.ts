import t from 'tap'
import { MemorySignIns } from '../../lib/auth/memory-sign-ins.js'
import { signInSuite } from '../suites/sign-ins.js'

t.test('Links and sessions in the memory of a process', async (t) => {
  signInSuite(t, async () => {
    const kept = new MemorySignIns()
    return await Promise.resolve([kept, kept] as const)
  })
})
