import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { Row } from './fault.js'
import type { Load } from './load.js'

/** How a fault that takes a while comes and goes. */
export interface Injection {
  readonly begin: () => Promise<void>
  readonly end: () => Promise<void>
}

/** Text that cannot be compressed, to fill a disk with. */
export function padded(): string {
  return randomBytes(540).toString('base64')
}

/**
 * Injects a fault that the service is to get over by itself: while it lasts reports are refused, with the time to come
 * again, and `/healthz` says so; after it the same process goes on within seconds.
 */
export async function thatHeals(t: Test, load: Load, times: number, { begin, end }: Injection): Promise<Row> {
  const { pid } = load
  let longest = 0
  for (let time = 0; time < times; time++) {
    await load.more(200)
    await Promise.all([load.refused(), begin()])
    t.match(await load.get('/healthz'), { status: 503, body: { status: /./ } })
    // Whatever goes wrong in one more attempt to heal.
    await load.refused()
    const freed = performance.now()
    await end()
    await load.more(1)
    longest = Math.max(longest, performance.now() - freed)
    t.match(await load.get('/healthz'), { status: 200, body: { status: 'ok' } })
  }
  await load.more(500)
  t.equal(load.pid, pid)
  t.ok(longest < 10_000, `at most ${Math.round(longest)} ms`)
  const { lost, wrong } = await load.finish()
  t.strictSame([lost, wrong, load.unexpected], [[], [], []])
  return { injected: times, acknowledged: load.acknowledged, lost: lost.length, wrong: wrong.length, longestUnavailabilityMs: Math.round(longest) }
}
