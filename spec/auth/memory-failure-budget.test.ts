// A process of its own: memory is measured.
// A process of its own: memory is measured.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { MemoryFailureBudget } from '../../lib/auth/memory-failure-budget.js'

const CLIENT = '198.51.100.1'
const OTHER = '198.51.100.2'

/** Takes the clock that nobody sets into the test's hands: moves it on. */
function stopTime(t: Test): { tick(milliseconds: number): void } {
  let now = 5_000
  t.intercept(performance, 'now', { value: () => now })
  return {
    tick: (milliseconds) => {
      now += milliseconds
    },
  }
}

/** Memory of what is still in use. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

/** The failures of a client, one after the other: what each was told. */
async function fail(budget: MemoryFailureBudget, address: string, times: number): Promise<number[]> {
  const told: number[] = []
  for (let time = 1; time <= times; time++) told.push(budget.recordFailure(address))
  return told
}

t.test('A client may fail as often as the limit says; the next attempt is refused, right or wrong', async (t) => {
  stopTime(t)
  for (const limit of [1, 2, 20, 1000]) {
    const budget = new MemoryFailureBudget({ limit, windowSeconds: 600 })
    t.equal(budget.retryAfter(CLIENT), 0, 'before any failure')
    t.strictSame(new Set(await fail(budget, CLIENT, limit - 1)), new Set(limit === 1 ? [] : [0]))
    t.equal(budget.retryAfter(CLIENT), 0, 'one is left')
    t.equal(budget.recordFailure(CLIENT), 0, 'the last failure of the budget is within it')
    t.equal(budget.retryAfter(CLIENT), 600)
    t.equal(budget.recordFailure(CLIENT), 600, 'one that was under way is past it')
    t.equal(budget.retryAfter(OTHER), 0, 'another client is not concerned')
  }
})

t.test('Retry-After is in whole seconds, at least 1, never more than the window', async (t) => {
  const time = stopTime(t)
  const budget = new MemoryFailureBudget({ limit: 2, windowSeconds: 10 })
  await fail(budget, CLIENT, 2)
  const expected: readonly (readonly [number, number])[] = [
    [0, 10],
    [1, 10],
    [999, 9],
    [1, 9],
    [7_999, 1],
    [999, 1],
    [1, 0],
  ]
  for (const [milliseconds, seconds] of expected) {
    time.tick(milliseconds)
    t.equal(budget.retryAfter(CLIENT), seconds)
  }
})

t.test(
  'The window runs from the first failure, and all failures expire with it: later ones neither lengthen it nor ' +
    'outlive it',
  async (t) => {
    const time = stopTime(t)
    const budget = new MemoryFailureBudget({ limit: 3, windowSeconds: 600 })
    await fail(budget, CLIENT, 1)
    time.tick(599_000)
    await fail(budget, CLIENT, 2)
    t.equal(budget.retryAfter(CLIENT), 1)
    t.strictSame(await fail(budget, CLIENT, 2), [1, 1], 'failures past the limit lengthen nothing')
    time.tick(1000)
    t.equal(budget.retryAfter(CLIENT), 0)
    t.strictSame(await fail(budget, CLIENT, 4), [0, 0, 0, 600], 'a new window has the whole budget')
  },
)

t.test(
  'A clock that is set neither locks a client out for longer than the window nor gives it a second budget',
  async (t) => {
    const time = stopTime(t)
    const budget = new MemoryFailureBudget({ limit: 1, windowSeconds: 600 })
    await fail(budget, CLIENT, 1)
    time.tick(100_000)
    const wall = Date.now()
    for (const [what, step] of Object.entries({
      'an hour back': -3_600_000,
      'a day back': -86_400_000,
      'ten years ahead': 315_360_000_000,
      'as it was': 0,
    })) {
      t.intercept(Date, 'now', { value: () => wall + step })
      t.equal(budget.retryAfter(CLIENT), 500, what)
      t.equal(budget.recordFailure(CLIENT), 500, what)
    }
    time.tick(500_000)
    t.equal(budget.retryAfter(CLIENT), 0, 'the window ends when it should')
  },
)

t.test('All ways to write one client are one client', async (t) => {
  stopTime(t)
  const budget = new MemoryFailureBudget({ limit: 3, windowSeconds: 600 })
  for (const address of ['203.0.113.7', '::ffff:203.0.113.7', '::FFFF:CB00:7107']) budget.recordFailure(address)
  for (const address of ['2001:db8::1', '2001:db8:0:0:ffff::', '2001:DB8::dead:beef']) budget.recordFailure(address)
  for (const address of ['unknown', '', 'garbage']) budget.recordFailure(address)
  for (const address of ['203.0.113.7', '2001:db8::2', 'more garbage'])
    t.equal(budget.retryAfter(address), 600, address)
  for (const address of ['203.0.113.8', '2001:db8:0:1::1']) t.equal(budget.retryAfter(address), 0, address)
})

t.test('Many failures at once are counted one by one', async (t) => {
  stopTime(t)
  const budget = new MemoryFailureBudget({ limit: 20, windowSeconds: 600 })
  const told = await Promise.all(Array.from({ length: 200 }, async () => budget.recordFailure(CLIENT)))
  t.equal(told.filter((seconds) => seconds === 0).length, 20)
  t.ok(told.every((seconds) => seconds === 0 || seconds === 600))
})

t.test(
  'Memory is bounded: of more than 100,000 clients, the one that failed least recently is forgotten first',
  async (t) => {
    const budget = new MemoryFailureBudget({ limit: 1, windowSeconds: 600 })
    const client = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`
    const isRemembered = async (index: number): Promise<boolean> => budget.retryAfter(client(index)) > 0
    const failEach = async (from: number, to: number): Promise<void> => {
      for (let index = from; index < to; index++) budget.recordFailure(client(index))
    }
    const before = heapUsed()
    await failEach(0, 100_000)
    const full = heapUsed()
    t.ok(await isRemembered(0), '100,000 are remembered')
    t.ok(budget.recordFailure(client(0)) > 0, 'the first one fails again')

    await failEach(100_000, 100_010)
    t.ok(await isRemembered(0))
    for (let index = 1; index <= 10; index++) t.notOk(await isRemembered(index), 'forgotten')
    t.ok(await isRemembered(11))
    t.ok(await isRemembered(100_009))

    await failEach(100_010, 300_000)
    const more = heapUsed()
    // The table of a map is twice as large as it has to be, at times.
    t.ok(more - before < 1.5 * (full - before), 'three times as many take no more memory', { before, full, more })
  },
)

/** What a budget is, in a few lines: for each client the time of the first failure of its window, and their number. */
class Model {
  readonly windows = new Map<string, { until: number; failures: number }>()
  now = 0

  failures(address: string): { until: number; failures: number } | undefined {
    const window = this.windows.get(address)
    return window && window.until > this.now ? window : undefined
  }

  left(window: { until: number } | undefined): number {
    return window ? Math.ceil((window.until - this.now) / 1000) : 0
  }
}

t.test('Whatever happens in whatever order, a budget does what its few rules say', async (t) => {
  const time = stopTime(t)
  const addresses = [CLIENT, OTHER, '2001:db8::/64']
  const which = fc.nat({ max: 2 })
  const wait = fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.constantFrom(999, 1000, 1001, 4999, 5000, 5001))
  const step = fc.oneof(
    fc.record({ kind: fc.constant('fail' as const), which }),
    fc.record({ kind: fc.constant('ask' as const), which }),
    fc.record({ kind: fc.constant('wait' as const), milliseconds: wait }),
  )
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 4 }),
    fc.array(step, { maxLength: 60 }),
    async (limit, steps) => {
      const budget = new MemoryFailureBudget({ limit, windowSeconds: 5 })
      const model = new Model()
      for (const action of steps) {
        if (action.kind === 'wait') {
          model.now += action.milliseconds
          time.tick(action.milliseconds)
          continue
        }
        const address = addresses[action.which] ?? ''
        let window = model.failures(address)
        if (action.kind === 'ask') {
          const seconds = budget.retryAfter(address === '2001:db8::/64' ? `2001:db8::${limit}` : address)
          if (seconds !== (window && window.failures >= limit ? model.left(window) : 0)) return false
        } else {
          window ??= { until: model.now + 5000, failures: 0 }
          window.failures++
          model.windows.set(address, window)
          const seconds = budget.recordFailure(address === '2001:db8::/64' ? `2001:db8::${steps.length}` : address)
          if (seconds !== (window.failures > limit ? model.left(window) : 0)) return false
        }
      }
      return true
    },
  )
  await t.resolves(fc.assert(property, { numRuns: 150 }))
})
