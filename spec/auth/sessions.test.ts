import { randomBytes } from 'node:crypto'
import { getHeapSnapshot } from 'node:v8'
import t from 'tap'
import { MemorySignIns } from '../../lib/auth/memory-sign-ins.js'
import { Sessions } from '../../lib/auth/sessions.js'

// In a process that has little else in its memory: a snapshot of a large one takes half a minute.
t.test('Links and sessions are kept as digests: nobody finds them in the memory of the process', async (t) => {
  const sessions = new Sessions(new MemorySignIns(), { now: () => 0 })
  const other = new Map<string, string>()
  /** Makes a secret; what a buffer holds is no text of the heap. */
  const made = async (make: () => Promise<string>) => Buffer.from(await make())
  const link = await made(async () => (await sessions.createLink('alice')).code)
  const session = await made(
    async () => (await sessions.open((await sessions.createLink('alice')).code))?.session ?? '',
  )
  const kept = await made(async () => {
    const text = randomBytes(24).toString('base64url')
    other.set(text, 'alice')
    return await Promise.resolve(text)
  })
  const heap = Buffer.concat(await getHeapSnapshot().toArray())
  t.strictSame([link.length, session.length, kept.length], [32, 32, 32])
  t.ok(heap.includes(kept), 'what is kept as it is would be found')
  t.notOk(heap.includes(link), 'the link')
  t.notOk(heap.includes(session), 'the session')
  t.strictSame(
    [await sessions.linkUser(link.toString()), (await sessions.find(session.toString()))?.user],
    ['alice', 'alice'],
  )
  t.equal(other.size, 1)
})
