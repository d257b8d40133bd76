import t from 'tap'
import { MemoryFailureBudget } from '../../lib/auth/memory-failure-budget.js'
import { openStore } from '../../lib/embedding/open-store.js'
import type { StoredFailureBudget } from '../../lib/contracts/failure-budget.js'
import type { Store } from '../../lib/contracts/store.js'
import { StoreUnavailable } from '../../lib/errors.js'
import { repositoryNamed } from '../fixtures/names.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { until } from '../fixtures/within.js'

const CLIENT = '198.51.100.1'

t.test('The budget of failed log-ins in a database', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const url = await server.database()
  t.beforeEach(async () => {
    await sql(url, 'DELETE FROM commit_status.auth_failures')
  })

  const openOne = async (): Promise<Store> => {
    const store = await openStore(url)
    t.teardown(async () => await store.close())
    return store
  }

  const budgets = async (limit: number, windowSeconds: number): Promise<[StoredFailureBudget, StoredFailureBudget]> => {
    const open = async (): Promise<StoredFailureBudget> => {
      const store = await openOne()
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

  t.test('Failures, a token and what its user was granted are read together, as they are now', async (t) => {
    const [one] = await budgets(2, 600)
    const { tokens, grants } = await openOne()
    const repository = repositoryNamed('alice/hello')
    const token = {
      ...{ id: '0a', digest: 'd', user: 'bob', name: '', scopes: ['repo'], expires_at: null },
      created_at: '2026-01-31T12:00:00.000Z',
    }
    await tokens.add(token)
    for (const [user, on, access] of [
      ['bob', undefined, 'read'],
      ['bob', repository, 'write'],
      ['bob', repositoryNamed('alice/hell'), 'write'],
      ['carol', repository, 'write'],
    ] as const)
      await grants.set({ owner: 'alice', ...(on && { repository: on }), user, access })
    const look = async (id: string, ...names: string[]) => {
      const { latest, granted, ...found } = await one.logIn(CLIENT, id, names.map(repositoryNamed))
      const on = Object.fromEntries(granted.map(({ repository, grants }) => [repository.full, grants]))
      return { ...found, granted: on, latest: await latest() }
    }
    const [read, write] = [{ access: 'read' }, { access: 'write' }]
    const within = { retryAfter: 0, latest: 0 }
    // Several in one statement: each has its own.
    t.strictSame(
      await Promise.all([
        look('0a', 'alice/hello'),
        look('0b', 'alice/hello'),
        look('0a'),
        look('0a', 'alice/other'),
        look('0a', 'bob/hello', 'alice/hello', 'alice/other'),
      ]),
      [
        { ...within, token, granted: { 'alice/hello': [read, write] } },
        { ...within, granted: { 'alice/hello': [] } },
        { ...within, token, granted: {} },
        { ...within, token, granted: { 'alice/other': [read] } },
        { ...within, token, granted: { 'bob/hello': [], 'alice/hello': [read, write], 'alice/other': [read] } },
      ],
    )
    await grants.remove({ owner: 'alice', repository, user: 'bob' })
    t.strictSame((await look('0a', 'alice/hello')).granted, { 'alice/hello': [read] }, 'a right that was withdrawn')
    for (const _ of [1, 2]) await one.recordFailure(CLIENT)
    const { retryAfter, ...rest } = await look('0a', 'alice/hello')
    t.ok(retryAfter > 590)
    t.notOk('token' in rest, 'of who has failed too often no token is looked at')
    await tokens.remove('0a')
    await sql(url, 'DELETE FROM commit_status.auth_failures')
    t.notOk('token' in (await look('0a')), 'a token that was revoked')
  })

  t.test('Who has failed here meanwhile, or is being counted, counts before the log-in is answered', async (t) => {
    const [one] = await budgets(2, 600)
    const found = await one.logIn(CLIENT, '0a', [])
    t.strictSame([found.retryAfter, await found.latest()], [0, 0])
    const failing = [one.recordFailure(CLIENT), one.recordFailure(CLIENT)]
    t.ok((await found.latest()) > 590)
    await Promise.all(failing)
    await sql(url, 'DELETE FROM commit_status.auth_failures')
    const counting = [one.recordFailure(CLIENT), one.recordFailure(CLIENT)]
    t.ok((await (await one.logIn(CLIENT, '0a', [])).latest()) > 590)
    await Promise.all(counting)
  })

  t.test('While the database is away, each instance counts in its own memory', async (t) => {
    const [one] = await budgets(2, 600)
    await server.kill('SIGQUIT')
    t.equal(await one.retryAfter(CLIENT), 0)
    t.strictSame([await one.recordFailure(CLIENT), await one.recordFailure(CLIENT)], [0, 0])
    t.ok((await one.retryAfter(CLIENT)) > 500)
    const refused = await one.logIn(CLIENT, '0a', [])
    t.ok(refused.retryAfter > 500)
    t.ok((await refused.latest()) > 500)
    const unknown: unknown = await one.logIn('198.51.100.2', '0a', []).catch((error: unknown) => error)
    t.ok(unknown instanceof StoreUnavailable, 'of a token nothing is known then')
    t.ok((await one.recordFailure(CLIENT)) > 500)
    await server.run()
  })
})
