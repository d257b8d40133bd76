import type { Test } from 'tap'
import type { Store } from '../../lib/contracts/store.js'

const DAY = 24 * 60 * 60 * 1000
const MORNING = Date.parse('2031-01-31T00:00:00Z')

/**
 * What claiming a day keeps to, wherever the claims are kept.
 * @param open opens the one place of this test, again and again; where several instances may, the earlier ones stay
 */
export function claimedDaySuite(t: Test, place: (t: Test) => Promise<() => Promise<Store>>): void {
  const world = async (t: Test) => {
    const open = await place(t)
    let store = await open()
    return {
      claim: async (at: number) => await store.claimDay?.(at),
      open: async () => void (store = await open()),
      close: async () => {
        await store.close()
      },
    }
  }

  t.test('A day is claimed once, and the next one again, over restarts', async (t) => {
    const { claim, open } = await world(t)
    t.equal(await claim(MORNING + 1), true)
    t.strictSame([await claim(MORNING), await claim(MORNING + DAY - 1)], [false, false])
    await open()
    t.equal(await claim(MORNING + DAY - 1), false)
    t.strictSame([await claim(MORNING + DAY), await claim(MORNING + DAY + 1)], [true, false])
  })

  t.test('Of all who claim at the same moment one has it', async (t) => {
    const { claim } = await world(t)
    for (let day = 0; day < 5; day++) {
      const claims = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => await claim(MORNING + day * DAY + index)),
      )
      t.strictSame(claims.filter((claimed) => claimed).length, 1)
    }
  })

  t.test('A day that another one has begun is not claimed by a clock that is a little slow', async (t) => {
    const { claim } = await world(t)
    t.equal(await claim(MORNING + DAY), true)
    t.equal(await claim(MORNING + DAY - 1), false)
    t.equal(await claim(MORNING + DAY + 1), false)
  })

  t.test('What a clock has claimed that was years ahead does not count', async (t) => {
    const { claim } = await world(t)
    t.equal(await claim(MORNING + 10_000 * DAY), true)
    t.strictSame([await claim(MORNING), await claim(MORNING)], [true, false])
  })

  t.test('Nothing is claimed of a store that is closed', async (t) => {
    const { claim, close } = await world(t)
    await close()
    await t.rejects(claim(MORNING), { name: 'StoreUnavailable' })
  })
}
