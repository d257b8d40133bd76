import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import t, { type Test } from 'tap'
import { runTask } from '../../lib/index.js'
import { embed, type Embedded } from '../fixtures/embedded.js'
import { resultOf } from '../fixtures/work.js'

const HOUR = 60 * 60 * 1000

/** A store with something in it, in a process that has been busy in the rest that a long task took last. */
async function afterBusyTask(t: Test): Promise<Embedded & { pass(milliseconds: number): void }> {
  const embedded = await embed(t)
  await embedded.tokenOf('alice')
  let passed = 0
  const now = performance.now.bind(performance)
  performance.now = () => now() + passed
  const busy = setInterval(() => {
    for (const end = now() + 20; now() < end;);
  }, 0)
  t.teardown(() => {
    clearInterval(busy)
    Reflect.deleteProperty(performance, 'now')
  })
  await resultOf(embedded.service.administration.verifyStore())
  return { ...embedded, pass: (milliseconds) => void (passed += milliseconds) }
}

t.test('A long task rests for its own work alone, not for the hours since the one before', async (t) => {
  const { service, folder, pass } = await afterBusyTask(t)
  pass(HOUR)
  t.match(await resultOf(service.administration.backUpStore(join(folder, 'backup'))), { tokens: 1 })
})

t.test('A long task does not rest for the time that its client takes', async (t) => {
  const { service, pass } = await afterBusyTask(t)
  const steps: unknown[] = []
  await runTask(service.administration.exportStore(null), (step) => {
    steps.push(step)
    pass(HOUR)
  })
  t.ok(steps.length > 0)
})

t.test('An import of what comes slowly rests no longer than a second for it', async (t) => {
  const { service, pass } = await afterBusyTask(t)
  const lines: string[] = []
  await runTask(service.administration.exportStore(null), ({ items = [] }) => void lines.push(...items))
  const slowly = async function* (): AsyncGenerator<string> {
    for (const line of lines) {
      pass(HOUR)
      yield await Promise.resolve(line)
    }
  }
  t.match(await resultOf(service.administration.importStore(slowly())), { saved: 0 })
})
