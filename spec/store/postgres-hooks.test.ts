import t, { type Test } from 'tap'
import type { HookStore, OutboxEntry } from '../../lib/contracts/hooks.js'
import type { Store } from '../../lib/contracts/store.js'
import { openStore } from '../../lib/embedding/open-store.js'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { hookOf, hooksOf, openHooks } from '../fixtures/hooks.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'

const hello = repositoryNamed('alice/hello')
const [one, two] = [commitId('1'), commitId('2')]

t.test('Hooks of several instances on one database', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  specifyHooks(t, server)

  t.test('A database that is away is asked again, and nothing is taken meanwhile', async (t) => {
    const server = await PostgresServer.start(t)
    const store = await opened(t, await server.database())
    const { hooks, noted } = await openHooks(t, store, hookOf('a'))
    await store.statuses.save(hello, one, reportOf('ci'), 0)
    await server.kill('SIGKILL')
    await t.rejects(hooks.outbox.claim('a', 1), { message: /the database cannot be used/ })
    await t.rejects(
      hooks.outbox.open(() => undefined),
      { message: /the database cannot be used/ },
    )
    await server.run()
    await hooks.outbox.open((ids) => noted.push(...ids))
    await server.kill('SIGKILL')
    await server.run()
    noted.length = 0
    await until(() => noted.includes('a'))
    t.equal((await hooks.outbox.claim('a', 1)).length, 1)
    await server.kill('SIGKILL')
    await t.resolves(store.close(), 'nobody waits for it at the end')
  })

  t.test('A hook that cannot be read is not taken for another one', async (t) => {
    const url = await server.database()
    const store = await opened(t, url)
    await hooksOf(store).add(hookOf('a'))
    await sql(url, "UPDATE commit_status.hooks SET record = '{}'")
    await t.rejects(hooksOf(store).list(), { name: 'StoreCorrupt', message: 'the hook a is damaged' })
  })
})

t.test('Hooks of several instances on one database of Citus', { skip: isCitusMissing }, async (t) => {
  specifyHooks(t, await CitusCluster.start(t))
})

function specifyHooks(t: Test, server: { database(): Promise<string> }): void {
  t.test('One instance delivers what any of them has noted, and another one once it has closed', async (t) => {
    const url = await server.database()
    const [first, second] = [await opened(t, url), await opened(t, url)]
    const { hooks, noted } = await openHooks(t, first, hookOf('a'))
    const other = await openHooks(t, second)
    await second.statuses.save(hello, one, reportOf('ci'), 0)
    t.strictSame(other.noted, [], 'who does not deliver is not woken')
    t.strictSame(await other.hooks.outbox.claim('a', 1), [])
    await until(() => noted.length > 0)
    const [entry] = await claimed(hooks, 'a')
    await first.close()
    await until(() => other.noted.length > 0)
    t.strictSame(await other.hooks.outbox.claim('a', 1), [entry], 'the same delivery')
  })

  t.test(
    'What a dead instance delivered goes over when its lease has ended, by the clock of the database',
    async (t) => {
      const url = await server.database()
      const lease = async (ends: string): Promise<unknown> =>
        await sql(
          url,
          `INSERT INTO commit_status.leases VALUES ('hooks', 'dead', extract(epoch FROM now()) * 1000 + ${ends})
         ON CONFLICT (name) DO UPDATE SET ends_at = EXCLUDED.ends_at`,
        )
      await lease('20000')
      const store = await opened(t, url)
      const { hooks, noted } = await openHooks(t, store, hookOf('a'))
      await store.statuses.save(hello, one, reportOf('ci'), 0)
      t.strictSame(noted, [])
      t.strictSame(await hooks.outbox.claim('a', 1), [])
      await lease('-1')
      await until(() => noted.includes('a'))
      t.equal((await hooks.outbox.claim('a', 1)).length, 1)
      await store.close()
      await lease('3600000')
      const later = await openHooks(t, await opened(t, url))
      t.equal((await later.hooks.outbox.claim('a', 1)).length, 1, 'one that was made while the clock was wrong is none')
    },
  )

  t.test('Hooks that one instance has made, changed or removed count for the next report of any other', async (t) => {
    const url = await server.database()
    const [first, second] = [await opened(t, url), await opened(t, url)]
    const { hooks } = await openHooks(t, first)
    await openHooks(t, second)
    const noted = async (context: string): Promise<string[]> => {
      await second.statuses.save(hello, one, reportOf(context), 0)
      const waiting = [...(await hooks.outbox.waiting()).keys()]
      for (const id of waiting) await hooks.outbox.drop(id)
      return waiting.toSorted()
    }
    await hooks.add(hookOf('a', { events: ['status', 'fixed'] }))
    t.strictSame(await noted('1'), ['a'])
    await hooks.add(hookOf('b', { on: 'alice/*' }))
    t.strictSame(await noted('2'), ['a', 'b'])
    await hooks.update('a', (hook) => ({ ...hook, contexts: ['lint'] }))
    t.strictSame(await noted('lint'), ['a', 'b'])
    t.strictSame(await noted('3'), ['b'])
    await hooks.update('b', (hook) => ({ ...hook, state: 'stopped' }))
    // Noted by what was known, or not.
    await noted('4')
    t.strictSame(await noted('5'), [])
    await hooks.remove('b')
    await first.renameRepository(hello, repositoryNamed('bob/x'))
    await hooks.update('a', (hook) => ({ ...hook, on: 'alice/hello' }))
    t.strictSame(await noted('lint'), ['a'])
    await first.renameRepository(hello, repositoryNamed('bob/y'))
    t.strictSame(await noted('lint'), ['a'], 'noted by what was known: it is told of what is there, which is nothing')
    t.strictSame(await noted('lint'), [])
  })

  t.test('Who delivers learns what others make of hooks, and that they noted much', async (t) => {
    const url = await server.database()
    const [first, second] = [await opened(t, url), await opened(t, url)]
    const changed: string[] = []
    const hooks = hooksOf(second)
    await hooks.add(hookOf('a', { failing_since: '2026-01-31T12:00:00.000Z', next_attempt_at: 'tomorrow' }))
    await hooks.add(hookOf('b'))
    const entry = { repository: hello, since: '2026-01-31T12:00:00.000Z', delivery: 'x', from: null }
    await hooks.outbox.add([{ ...entry, hook: 'a', subject: `${one.hex}/ci` }])
    await hooksOf(first).outbox.open(
      () => undefined,
      (ids) => changed.push(...ids),
    )
    t.strictSame(changed.splice(0), ['a', 'b'], 'nobody knows of what was before')
    await hooks.update('a', ({ next_attempt_at: _, ...hook }) => hook)
    await until(() => changed.length > 0)
    t.strictSame(changed.splice(0), ['a'])
    await hooks.outbox.add(
      Array.from({ length: 1_000 }, (_, index) => ({ ...entry, hook: 'b', subject: `${one.hex}/${index}` })),
    )
    await until(() => changed.length > 0)
    t.strictSame(changed, ['b'])
  })

  t.test('What was noted for a hook while it was removed goes, and of what is damaged nothing is told', async (t) => {
    const url = await server.database()
    const store = await opened(t, url)
    const { hooks } = await openHooks(t, store, hookOf('a'))
    await store.statuses.save(hello, one, reportOf('ci'), 0)
    for (const [hook, repository] of [
      ['gone', 'alice/hello/'],
      ['a', 'nonsense'],
    ])
      await sql(
        url,
        "INSERT INTO commit_status.outbox (repository, hook, subject, delivery, since) VALUES ($1, $2, 'x', 'x', 0)",
        [Buffer.from(String(repository)), hook],
      )
    await until(async () => !(await hooks.outbox.waiting()).has('gone'))
    t.match(await hooks.outbox.claim('a', 10), [{ subject: `${one.hex}/ci` }])
  })

  t.test('However much of a commit waits, another one has its turn; and nothing is taken twice', async (t) => {
    const store = await opened(t, await server.database())
    const { hooks } = await openHooks(t, store, hookOf('a'))
    const entry = { hook: 'a', repository: hello, since: '2026-01-31T12:00:00.000Z', delivery: 'x', from: null }
    await hooks.outbox.add(Array.from({ length: 150 }, (_, index) => ({ ...entry, subject: `${one.hex}/${index}` })))
    await hooks.outbox.add([{ ...entry, subject: `${two.hex}/ci`, since: '2026-01-31T12:00:00.001Z' }])
    const [first, second] = await Promise.all([hooks.outbox.claim('a', 10), hooks.outbox.claim('a', 10)])
    t.strictSame(
      [...first, ...second].map(({ subject }) => subject.slice(0, one.hex.length)),
      [one.hex, two.hex],
    )
    t.strictSame(await hooks.outbox.claim('a', 10), [])
  })
}

async function opened(t: Test, url: string): Promise<Store> {
  const store = await openStore(url)
  t.teardown(async () => await store.close())
  return store
}

async function claimed({ outbox }: HookStore, hook: string): Promise<[OutboxEntry, ...OutboxEntry[]]> {
  const [first, ...rest] = await outbox.claim(hook, 10)
  if (!first) throw new Error(`nothing waits for ${hook}`)
  return [first, ...rest]
}
