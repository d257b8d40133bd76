// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { fault } from './fault.js'
import { Load } from './load.js'

fault('kill -9 under load', { short: 20, long: 200 }, async (t, times) => {
  const load = await Load.start(t, t.testdir())
  for (let cycle = 0; cycle < times; cycle++) {
    await load.more(1 + Math.floor(Math.random() * 200))
    await load.restart('SIGKILL')
  }
  await load.more(100)
  const { lost, wrong } = await load.finish()
  t.strictSame(
    [lost, wrong, load.unexpected].map((found) => found.slice(0, 5)),
    [[], [], []],
  )
  t.ok(load.acknowledged > times * 50, `${load.acknowledged} acknowledged`)
  return {
    injected: times,
    acknowledged: load.acknowledged,
    lost: lost.length,
    wrong: wrong.length,
    longestUnavailabilityMs: load.longestGap,
  }
})
