// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { StoreLocked } from '../../lib/errors.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { fault } from './fault.js'
import { Load } from './load.js'

fault('a second instance on the same store', { short: 1, long: 20 }, async (t, times) => {
  const load = await Load.start(t, t.testdir())
  const { pid } = load
  const { store } = load.place
  await load.more(100)
  for (let time = 0; time < times; time++) {
    // Both at once, and another program that does not wait.
    const outcomes = await Promise.all([
      load.place.start(['serve']).ended,
      load.place.start(['serve']).ended,
      t.rejects(LevelStore.open(store), StoreLocked),
    ])
    for (const outcome of outcomes.slice(0, 2))
      t.match(outcome, { status: 1, stderr: `commit-status: the store ${store} is in use by another process\n` })
    await load.more(100)
    t.match(await load.health(), { status: 200 })
  }
  t.equal(load.pid, pid)
  const { lost, wrong } = await load.finish()
  t.strictSame(
    [lost, wrong, load.unexpected].map((found) => found.slice(0, 5)),
    [[], [], []],
  )
  t.equal(load.unavailable, 0)
  return {
    injected: 3 * times,
    acknowledged: load.acknowledged,
    lost: lost.length,
    wrong: wrong.length,
    longestUnavailabilityMs: load.longestGap,
  }
})
