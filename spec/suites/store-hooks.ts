import type { Test } from 'tap'
import type { HookRecord, HookStore, OutboxEntry } from '../../lib/contracts/hooks.js'
import type { Store } from '../../lib/contracts/store.js'
import type { State } from '../../lib/domain/commit-status.js'
import { hookOf, hooksOf, openHooks } from '../fixtures/hooks.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { collect, openedStore, type StoreFactory } from './store.js'

const hello = repositoryNamed('alice/hello')
const [one, two] = [commitId('1'), commitId('2')]

/** 2026-01-31T12:00:00Z */
const NOON = Date.UTC(2026, 0, 31, 12)

export function hookSuite(t: Test, factory: StoreFactory): void {
  t.test('Hooks are listed as they were added, in the order of their times', async (t) => {
    const hooks = hooksOf(await openedStore(t, factory))
    t.strictSame(await hooks.list(), [])
    const full = hookOf('b', {
      on: 'alice/*',
      contexts: ['ci/*', 'é "x"'],
      states: ['failure'],
      branches: ['main'],
      secret: { given: 'known' },
      created_at: '2026-01-31T12:00:00.002Z',
      failing_since: '2026-01-31T12:00:00.002Z',
      attempts: 2,
      next_attempt_at: '2026-01-31T12:00:00.002Z',
      behind_since: '2026-01-31T12:00:00.002Z',
      stopped_because: 'it was gone',
      state: 'stopped',
      last: { at: 'x', delivery: 'y', event: 'ping', result: 'failed', status: 500, milliseconds: 2, reason: 'no' },
    })
    const early = hookOf('c', { secret: { generation: 2, rotated_at: '2026-01-31T12:00:00.001Z' } })
    const late = hookOf('a', { created_at: '2026-01-31T12:00:00.003Z' })
    for (const hook of [late, full, early]) await hooks.add(hook)
    t.strictSame(await hooks.list(), [early, full, late])
    for (const hook of [late, full, early]) t.strictSame(await hooks.get(hook.id), hook)
    t.equal(await hooks.get('d'), undefined)
  })

  t.test('A hook is changed in its turn, and one that is not there is not', async (t) => {
    const hooks = hooksOf(await openedStore(t, factory))
    await hooks.add(hookOf('a', { attempts: 0 }))
    const more = (hook: HookRecord): HookRecord => ({ ...hook, attempts: (hook.attempts ?? 0) + 1 })
    await Promise.all(Array.from({ length: 5 }, async () => await hooks.update('a', more)))
    t.strictSame(await hooks.list(), [hookOf('a', { attempts: 5 })])
    t.equal(await hooks.update('b', more), undefined)
    t.strictSame(await hooks.update('a', (hook) => ({ ...hook, state: 'paused' })), {
      ...hookOf('a', { attempts: 5 }),
      state: 'paused',
    })
  })

  t.test('A status is noted for the hooks that it is for, and for no others', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks, noted } = await openHooks(
      t,
      store,
      hookOf('all'),
      hookOf('owner', { on: 'alice/*' }),
      hookOf('exact', { on: 'alice/hello', contexts: ['nothing', 'ci/*'] }),
      hookOf('failed', { states: ['failure', 'error'] }),
      hookOf('paused', { state: 'paused' }),
      hookOf('stopped', { state: 'stopped' }),
      hookOf('other', { on: 'alice/hell' }),
      hookOf('others', { on: 'bob/*' }),
      hookOf('lint', { contexts: ['lint'] }),
      hookOf('pushes', { events: ['push'] }),
    )
    await report(store, 'ci/test', 'success')
    t.strictSame(noted.toSorted(), ['all', 'exact', 'owner', 'paused'])
    t.strictSame([...(await hooks.outbox.waiting()).keys()].toSorted(), ['all', 'exact', 'owner', 'paused'])
    noted.length = 0
    await report(store, 'lint', 'failure', NOON, two)
    t.strictSame(noted.toSorted(), ['all', 'failed', 'lint', 'owner', 'paused'])
    for (const id of ['lint', 'failed'])
      t.match(await hooks.outbox.claim(id, 10), [{ hook: id, repository: hello, subject: `${two.hex}/lint` }])
  })

  t.test('Nothing is noted before somebody delivers', async (t) => {
    const store = await openedStore(t, factory)
    const hooks = hooksOf(store)
    await hooks.add(hookOf('a'))
    await report(store, 'ci', 'pending')
    await hooks.outbox.open(() => undefined)
    t.strictSame(await hooks.outbox.claim('a', 10), [])
    await report(store, 'ci', 'success')
    t.match(await hooks.outbox.claim('a', 10), [{ from: 'pending' }])
    await hooks.add(hookOf('b'))
    await report(store, 'ci', 'failure')
    t.match(await hooks.outbox.claim('b', 10), [{ from: 'success' }], 'one that is added later, too')
  })

  t.test('However often a context is reported, one thing is to be told: with what was told before', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks } = await openHooks(t, store, hookOf('a'))
    await report(store, 'ci', 'pending')
    const [first, ...rest] = await hooks.outbox.claim('a', 10)
    t.strictSame(rest, [])
    t.match(first, { from: null, since: '2026-01-31T12:00:00.000Z', delivery: /^[0-9a-f-]{36}$/ })
    if (!first) throw new Error('nothing was noted')
    await hooks.outbox.release(first)
    await report(store, 'ci', 'failure', NOON + 1000)
    const [second] = await hooks.outbox.claim('a', 10)
    t.match(second, { from: null, since: '2026-01-31T12:00:00.000Z' }, 'it waits as long as the first')
    t.not(second?.delivery, first.delivery, 'it is another delivery')
    t.strictSame(await hooks.outbox.waiting(), new Map([['a', { count: 1, since: '2026-01-31T12:00:00.000Z' }]]))
  })

  t.test('What is new while something is told is told next', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks } = await openHooks(t, store, hookOf('a'))
    await report(store, 'ci', 'pending')
    const [first] = await claimed(hooks, 'a')
    await report(store, 'ci', 'success')
    t.strictSame(await hooks.outbox.claim('a', 10), [], 'but not at the same time')
    await hooks.outbox.settle(first, 'pending')
    const [second] = await claimed(hooks, 'a')
    t.equal(second.from, 'pending')
    await hooks.outbox.settle(second, 'success')
    t.strictSame(await hooks.outbox.claim('a', 10), [])
    t.strictSame(await hooks.outbox.waiting(), new Map())
    await hooks.outbox.settle(second, 'success')
    t.strictSame(await hooks.outbox.claim('a', 10), [], 'twice is harmless')
  })

  t.test(
    'One thing of a commit is told at a time, the oldest first; what branches come to, one of a repository',
    async (t) => {
      const store = await openedStore(t, factory)
      const { hooks } = await openHooks(t, store, hookOf('a', { events: ['status', 'broken', 'fixed'] }))
      await report(store, 'b', 'failure', NOON)
      await report(store, 'a', 'pending', NOON + 1)
      await report(store, 'a/', 'success', NOON + 2, two)
      const taken = await hooks.outbox.claim('a', 10)
      t.strictSame(
        taken.map(({ subject }) => subject),
        [`${one.hex}/b`, `${one.hex}/`, `${two.hex}/a/`],
      )
      t.strictSame(await hooks.outbox.claim('a', 10), [])
      for (const entry of taken) await hooks.outbox.settle(entry, 'failure')
      const rest = await hooks.outbox.claim('a', 10)
      t.strictSame(
        rest.map(({ subject }) => subject),
        [`${one.hex}/a`, `${two.hex}/`],
        'nothing is noted of branches for what is still pending',
      )
      for (const entry of rest) await hooks.outbox.release(entry)
      t.equal((await hooks.outbox.claim('a', 1)).length, 1, 'as many as are asked for')
    },
  )

  t.test('What waits is there after the store was opened again, with the same delivery', async (t) => {
    const place = await factory(t)
    const store = await place.open()
    const { hooks } = await openHooks(t, store, hookOf('a'))
    await report(store, 'late', 'success', NOON + 5)
    await report(store, 'early', 'success', NOON, two)
    const taken = (await hooks.outbox.claim('a', 10)).toSorted((a, b) => a.since.localeCompare(b.since))
    await store.close()
    const again = await place.open()
    const opened = await openHooks(t, again)
    t.strictSame(await opened.hooks.outbox.claim('a', 10), taken, 'the oldest first')
  })

  t.test('A hook that is removed takes along what waits for it', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks } = await openHooks(t, store, hookOf('a'), hookOf('b'))
    await report(store, 'ci', 'success')
    t.equal(await hooks.remove('a'), true)
    t.equal(await hooks.remove('a'), false)
    t.strictSame(await hooks.list(), [hookOf('b')])
    t.strictSame(await hooks.outbox.claim('a', 10), [])
    t.equal((await hooks.outbox.claim('b', 10)).length, 1)
    await hooks.add(hookOf('a'))
    t.strictSame(await hooks.outbox.claim('a', 10), [], 'nothing is left for one of its name')
    const saved = [hooks.remove('b'), report(store, 'ci', 'failure')]
    await Promise.all(saved)
    await hooks.add(hookOf('b'))
    t.strictSame(await hooks.outbox.claim('b', 10), [], 'nor of what came meanwhile')
  })

  t.test('All that waits for a hook can be dropped', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks } = await openHooks(t, store, hookOf('a'), hookOf('b'))
    for (const context of ['1', '2']) await report(store, context, 'success')
    await hooks.outbox.drop('a')
    t.strictSame([...(await hooks.outbox.waiting()).keys()], ['b'])
    t.strictSame(await hooks.outbox.claim('a', 10), [])
    await report(store, '3', 'success')
    t.match(await hooks.outbox.claim('a', 10), [{ subject: `${one.hex}/3` }], 'what comes then is noted')
  })

  t.test('What is added by hand waits as the rest, and takes the place of nothing', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks, noted } = await openHooks(t, store, hookOf('a'))
    await report(store, 'ci', 'success')
    noted.length = 0
    const more = { hook: 'a', repository: hello, since: '2026-01-31T11:00:00.000Z', from: null }
    await hooks.outbox.add([
      { ...more, subject: `${one.hex}/ci`, delivery: 'x' },
      { ...more, subject: `${two.hex}/ci`, delivery: 'y' },
    ])
    t.strictSame(noted, ['a'])
    const entries = await hooks.outbox.claim('a', 10)
    t.strictSame(entries.map(({ subject }) => subject).toSorted(), [`${one.hex}/ci`, `${two.hex}/ci`])
    t.notOk(entries.some(({ delivery }) => delivery === 'x'))
  })

  t.test('What is added of a time before waits since then, and is claimed first', async (t) => {
    const place = await factory(t)
    const store = await place.open()
    const { hooks } = await openHooks(t, store, hookOf('a'))
    await report(store, 'ci', 'success')
    const more = { hook: 'a', repository: hello, subject: `${two.hex}/ci`, delivery: 'x', from: null }
    const old = { ...more, since: '2025-12-31T12:00:00.000Z' }
    await hooks.outbox.add([old])
    await report(store, 'lint', 'success', NOON + 1)
    t.strictSame(await hooks.outbox.waiting(), new Map([['a', { count: 3, since: old.since }]]))
    t.strictSame(await hooks.outbox.claim('a', 1), [old])
    await hooks.outbox.release(old)
    await store.close()
    const again = await openHooks(t, await place.open())
    t.strictSame(await again.hooks.outbox.claim('a', 1), [old])
  })

  t.test('Pushes of a ref have a lane of their own', async (t) => {
    const { hooks } = await openHooks(t, await openedStore(t, factory), hookOf('a', { events: ['push'] }))
    const push = { hook: 'a', repository: hello, since: '2026-01-31T11:00:00.000Z', from: null, delivery: 'x' }
    const subjects = ['refs/heads/a', 'refs/heads/a/b', 'refs/tags/v1']
    await hooks.outbox.add(subjects.map((subject) => ({ ...push, subject })))
    t.same(new Set((await hooks.outbox.claim('a', 10)).map(({ subject }) => subject)), new Set(subjects))
  })

  t.test('Pushes of a ref are claimed one by one as they were added, whatever the clock said', async (t) => {
    const place = await factory(t)
    const store = await place.open()
    const { hooks } = await openHooks(t, store, hookOf('a', { events: ['push'] }))
    const more = { hook: 'a', repository: hello, from: null }
    for (const [index, since] of ['12:00:00.005', '12:00:00.000', '11:00:00.000', '12:00:00.005'].entries())
      await hooks.outbox.add([
        { ...more, subject: `refs/heads/a ${4 - index}`, delivery: String(index), since: `2026-01-31T${since}Z` },
      ])
    const [first, ...none] = await claimed(hooks, 'a')
    t.strictSame([first.subject, none], ['refs/heads/a 4', []])
    await hooks.outbox.settle(first, null)
    await store.close()
    const again = await openHooks(t, await place.open())
    const late = { ...more, delivery: 'late', since: '2026-01-31T10:00:00.000Z' }
    await again.hooks.outbox.add([{ ...late, subject: 'refs/heads/a 0' }])
    for (const number of [3, 2, 1, 0]) {
      const [next, ...others] = await claimed(again.hooks, 'a')
      t.strictSame([next.subject, others], [`refs/heads/a ${number}`, []])
      await again.hooks.outbox.settle(next, null)
    }
    t.strictSame(await again.hooks.outbox.claim('a', 10), [])
  })

  t.test('Branches that are broken are kept with what was told of them', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks } = await openHooks(t, store, hookOf('a', { events: ['broken'] }), hookOf('b'))
    t.strictSame(await hooks.outbox.broken('a', hello), [])
    await report(store, 'ci', 'failure')
    const [entry] = await claimed(hooks, 'a')
    await hooks.outbox.mark(entry, ['?main'])
    t.strictSame(await hooks.outbox.broken('a', hello), ['?main'], 'while it is told, too')
    await hooks.outbox.mark(entry, [])
    t.strictSame(await hooks.outbox.broken('a', hello), [])
    await hooks.outbox.settle(entry, null, ['main', 'x/é'])
    t.strictSame(await hooks.outbox.broken('a', hello), ['main', 'x/é'])
    await hooks.outbox.mark(entry, ['?main'])
    t.strictSame(await hooks.outbox.broken('a', hello), ['main', 'x/é'], 'nothing is of what waits no more')
    t.strictSame(await hooks.outbox.broken('b', hello), [])
    t.strictSame(await hooks.outbox.broken('a', repositoryNamed('alice/hell')), [])
    await report(store, 'ci', 'success')
    const [next] = await claimed(hooks, 'a')
    await store.renameRepository(hello, repositoryNamed('bob/x'))
    t.strictSame(await hooks.outbox.broken('a', repositoryNamed('bob/x')), ['main', 'x/é'], 'they move')
    await hooks.outbox.settle(next, null, [])
    t.strictSame(await hooks.outbox.broken('a', hello), [])
    const [moved] = await claimed(hooks, 'a')
    await hooks.outbox.settle(moved, null, [])
    t.strictSame(await hooks.outbox.broken('a', repositoryNamed('bob/x')), [])
  })

  t.test('What waits, and the hooks on it alone, go where a repository goes', async (t) => {
    const store = await openedStore(t, factory)
    const wide = hookOf('wide', { on: 'alice/*' })
    const { hooks } = await openHooks(t, store, wide, hookOf('exact', { on: hello.full }), hookOf('all'))
    await report(store, 'ci', 'success')
    const beside = repositoryNamed('alice/hello-2')
    await report(store, 'ci', 'success', NOON, one, beside)
    const to = repositoryNamed('bob/deep/x')
    await store.renameRepository(hello, to)
    t.strictSame(await hooks.list(), [hookOf('all'), hookOf('exact', { on: to.full }), wide].toSorted(byId))
    for (const id of ['exact', 'all'])
      t.ok(
        (await hooks.outbox.claim(id, 10)).some(({ repository }) => repository.full === to.full),
        id,
      )
    await report(store, 'more', 'success', NOON, two, to)
    t.match(await hooks.outbox.claim('exact', 10), [{ subject: `${two.hex}/more` }], 'what is reported to it follows')

    await store.deleteRepository(to)
    t.strictSame(await hooks.list(), [hookOf('all'), wide].toSorted(byId))
    await report(store, 'more', 'success', NOON, one, to)
    t.match([...(await hooks.outbox.waiting()).keys()].toSorted(), ['all', 'wide'])
    await store.deleteRepository(beside)
    await store.deleteRepository(to)
    const reopened = await openHooks(t, store)
    t.strictSame(await reopened.hooks.outbox.claim('all', 10), [], 'nothing of them is left')
  })

  t.test('Hooks on a name that a repository takes over go, with what waits for them', async (t) => {
    const store = await openedStore(t, factory)
    const to = repositoryNamed('bob/x')
    const { hooks } = await openHooks(
      t,
      store,
      hookOf('from', { on: hello.full }),
      hookOf('gone', { on: to.full, events: ['status', 'broken'] }),
    )
    await report(store, 'ci', 'failure', NOON, one, to)
    const branches = (await hooks.outbox.claim('gone', 10)).find(({ subject }) => subject.endsWith('/'))
    if (!branches) throw new Error('nothing is noted')
    await hooks.outbox.settle(branches, null, ['main'])
    await report(store, 'ci', 'success')
    await store.renameRepository(hello, to)
    t.strictSame(await hooks.list(), [hookOf('from', { on: to.full })])
    t.strictSame([...(await hooks.outbox.waiting()).keys()], ['from'])
    t.strictSame(await hooks.outbox.broken('gone', to), [])
    t.match(await hooks.outbox.claim('from', 10), [{ repository: to, subject: `${one.hex}/ci` }])
  })

  t.test('Contexts are counted as before, whatever is noted', async (t) => {
    const store = await openedStore(t, factory)
    await openHooks(t, store, hookOf('a', { events: ['status', 'broken'] }), hookOf('b'))
    for (const context of ['1', '2', '3']) await report(store, context, 'success', NOON, one, hello, 4)
    await t.rejects(
      Promise.all(['4', '5'].map(async (context) => await report(store, context, 'success', NOON, one, hello, 4))),
      { name: 'ContextLimitReached' },
    )
    await report(store, '1', 'failure', NOON, one, hello, 4)
    t.equal((await store.statuses.list(hello, one)).length, 4)
  })

  t.test('Neither hooks nor what waits are among the statuses', async (t) => {
    const store = await openedStore(t, factory)
    const { hooks } = await openHooks(t, store, hookOf('a', { events: ['status', 'broken'] }))
    await report(store, 'ci', 'success')
    const [entry] = await claimed(hooks, 'a')
    await hooks.outbox.settle(entry, null, ['main'])
    t.equal((await collect(store.statuses.scan(hello))).length, 1)
    if (!store.contents) throw new Error('the store cannot be exported')
    const pages = await collect(store.contents.pages())
    t.equal(pages.flatMap(({ statuses }) => statuses).length, 1)
  })
}

async function report(
  store: Store,
  context: string,
  state: State,
  at = NOON,
  commit = one,
  repository = hello,
  max?: number,
): Promise<void> {
  await store.statuses.save(repository, commit, reportOf(context, { state }), at, max)
}

/** What is claimed for a hook: one thing at least. */
async function claimed({ outbox }: HookStore, hook: string): Promise<[OutboxEntry, ...OutboxEntry[]]> {
  const [first, ...rest] = await outbox.claim(hook, 10)
  if (!first) throw new Error(`nothing waits for ${hook}`)
  return [first, ...rest]
}

function byId(a: HookRecord, b: HookRecord): number {
  return a.id < b.id ? -1 : 1
}
