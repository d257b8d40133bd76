import t from 'tap'
import { SyncWhileFast } from '../../lib/concurrency/sync-while-fast.js'

/** A pace, and calls that take so many milliseconds; each tells the way in which it was made. */
function paced(): { call: (milliseconds: number) => 'sync' | Promise<'async'>; wait: (milliseconds: number) => void } {
  let now = 0
  const pace = new SyncWhileFast(() => now)
  const call = (milliseconds: number): 'sync' | Promise<'async'> =>
    pace.call(
      () => {
        now += milliseconds
        return 'sync' as const
      },
      async () => {
        await Promise.resolve()
        now += milliseconds
        return 'async' as const
      },
    )
  return { call, wait: (milliseconds) => (now += milliseconds) }
}

t.test('Calls are synchronous while they are fast', async (t) => {
  const { call } = paced()
  t.strictSame([...new Set(Array.from({ length: 10_000 }, () => call(0.02)))], ['sync'])
})

t.test('One in a thousand may have waited for a processor', async (t) => {
  const { call } = paced()
  const ways = Array.from({ length: 10_000 }, (_, time) => call(time % 1000 === 0 ? 60 : 0.02))
  t.strictSame([...new Set(ways)], ['sync'])
})

t.test('After one that took very long they are asynchronous, for as long as nothing is answered quickly', async (t) => {
  const { call, wait } = paced()
  t.equal(call(30_000), 'sync')
  for (let time = 0; time < 100; time++) t.equal(await call(1_000), 'async')
  t.equal(await call(1), 'async', 'it was answered quickly')
  t.equal(call(0.02), 'sync')
  t.equal(call(30_000), 'sync')
  t.equal(await call(1), 'async', 'quickly, but too soon')
  wait(10_000)
  t.equal(await call(1), 'async')
  t.equal(call(0.02), 'sync')
})

t.test('When all are slow, few are waited for', async (t) => {
  const { call } = paced()
  let waited = 0
  while (call(10) === 'sync') waited++
  t.ok(waited < 20, `${waited}`)
})

t.test('What fails takes its time too', async (t) => {
  let now = 0
  const pace = new SyncWhileFast(() => now)
  const sync = (): never => {
    now += 30_000
    throw new Error('broken')
  }
  const failing = (): Promise<never> => Promise.reject(new Error('broken as well'))
  t.throws(() => pace.call(sync, failing), { message: 'broken' })
  await t.rejects(async () => await pace.call(sync, failing), { message: 'broken as well' })
})
