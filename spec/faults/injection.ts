import type { Test } from 'tap'
import { isLong, type Row } from './fault.js'
import type { Load } from './load.js'

/** All must be well again so long after a fault. */
const HEALING_MILLISECONDS = 10_000

/** Injects a fault again and again, each time into services that do their work, and judges what came of it. */
export async function inject(t: Test, load: Load, times: number, once: () => Promise<unknown>): Promise<Row> {
  let longestUnavailabilityMs = 0
  for (let round = 0; round < times; round++) {
    await load.more(20 + Math.floor(Math.random() * (isLong ? 200 : 50)))
    await once()
    const over = performance.now()
    await load.everywhere()
    longestUnavailabilityMs = Math.max(longestUnavailabilityMs, Math.round(performance.now() - over))
  }
  await load.more(100)
  t.ok(load.isAlive, 'no process has ended')
  const { lost, wrong } = await load.finish()
  t.strictSame(
    [lost, wrong, load.unexpected].map((found) => found.slice(0, 5)),
    [[], [], []],
  )
  t.ok(longestUnavailabilityMs < HEALING_MILLISECONDS, `away for ${longestUnavailabilityMs} ms at most`)
  return {
    injected: times,
    acknowledged: load.acknowledged,
    lost: lost.length,
    wrong: wrong.length,
    longestUnavailabilityMs,
  }
}
