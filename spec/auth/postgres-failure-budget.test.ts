import t from 'tap'
import { MemoryFailureBudget } from '../../lib/auth/memory-failure-budget.js'
import { openStore } from '../../lib/embedding/open-store.js'
import type { FailureBudget } from '../../lib/contracts/failure-budget.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { until } from '../fixtures/within.js'

const CLIENT = '198.51.100.1'

t.test('The budget of failed log-ins in a database', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const url = await server.database()
  t.beforeEach(async () => {
    await sql(url, 'DELETE FROM commit_status.auth_failures')
  })

  const budgets = async (limit: number, windowSeconds: number): Promise<[FailureBudget, FailureBudget]> => {
    const open = async (): Promise<FailureBudget> => {
      const store = await openStore(url)
      t.teardown(async () => await store.close())
      const budget = store.failureBudget?.({ limit, windowSeconds }, new MemoryFailureBudget({ limit, windowSeconds }))
      if (!budget) throw new Error('the store has no budget')
      return budget
    }
    return [await open(), await open()]
  }

  t.test('Wrong passwords count together, over all instances', async (t) => {
    const [one, other] = await budgets(3, 600)
    t.equal(await one.retryAfter(CLIENT), 0)
    t.strictSame(
      [await one.recordFailure(CLIENT), await other.recordFailure(CLIENT), await one.retryAfter(CLIENT)],
      [0, 0, 0],
    )
    t.equal(await one.recordFailure(CLIENT), 0, 'the last failure of the budget is within it')
    for (const budget of [one, other]) {
      const seconds = await budget.retryAfter(`::ffff:${CLIENT}`)
      t.ok(Number.isInteger(seconds) && seconds > 590 && seconds <= 600, String(seconds))
      t.equal(await budget.retryAfter('198.51.100.2'), 0, 'another client is not concerned')
    }
    t.ok((await other.recordFailure(CLIENT)) > 590, 'one that was under way is past it')
  })

  t.test('Of failures at the same time, over all instances, no more than the budget are within it', async (t) => {
    const [one, other] = await budgets(10, 600)
    const told = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? one : other).recordFailure(CLIENT)),
    )
    t.equal(told.filter((seconds) => seconds === 0).length, 10)
  })

  t.test(
    'Failures expire with the window, which begins with the first; until its end at least a second is told',
    async (t) => {
      const [one, other] = await budgets(1, 600)
      await one.recordFailure(CLIENT)
      await sql(url, 'UPDATE commit_status.auth_failures SET ends_at = $1', [Date.now() + 300_000])
      await other.recordFailure(CLIENT)
      const left = await other.retryAfter(CLIENT)
      t.ok(left > 290 && left <= 300, 'a further failure does not lengthen it')
      await sql(url, 'UPDATE commit_status.auth_failures SET ends_at = $1', [Date.now() - 1])
      t.equal(await one.retryAfter(CLIENT), 0)
      t.equal(await one.recordFailure(CLIENT), 0, 'a new window')
    },
  )

  t.test('Windows that are over do not stay in the database', async (t) => {
    await sql(url, "INSERT INTO commit_status.auth_failures VALUES ('198.51.100.9', 1, 1)")
    const [one] = await budgets(1, 600)
    await one.recordFailure(CLIENT)
    const rows = async () => await sql(url, 'SELECT client FROM commit_status.auth_failures')
    await until(async () => (await rows()).length === 1)
    t.strictSame(await rows(), [{ client: CLIENT }])
  })

  t.test('While the database is away, each instance counts in its own memory', async (t) => {
    const [one] = await budgets(2, 600)
    await server.kill('SIGQUIT')
    t.equal(await one.retryAfter(CLIENT), 0)
    t.strictSame([await one.recordFailure(CLIENT), await one.recordFailure(CLIENT)], [0, 0])
    t.ok((await one.retryAfter(CLIENT)) > 500)
    t.ok((await one.recordFailure(CLIENT)) > 500)
    await server.run()
  })
})
