import type { Test } from 'tap'
import { StoreUnavailable } from '../../lib/errors.js'
import type { Store } from '../../lib/contracts/store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { collect, openedStore, type StoreFactory } from './store.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')
const grant = { owner: 'alice', repository, user: 'bob', access: 'read' } as const
const token = {
  id: '0a',
  digest: 'd',
  user: 'alice',
  name: '',
  scopes: ['repo'],
  created_at: '2026-01-31T12:00:00.000Z',
  expires_at: null,
}

export function closeSuite(t: Test, factory: StoreFactory): void {
  t.test('What was acknowledged is there after every opening', async (t) => {
    const place = await factory(t)
    const first = await place.open()
    const { status } = await first.statuses.save(repository, commit, reportOf('ci', { description: 'é' }), 0)
    await first.tokens.add(token)
    await first.tokens.noteUse(new Map([[token.id, '2026-01-31T13:00:00.000Z']]))
    await first.grants.set(grant)
    await first.close()

    const second = await place.open()
    t.strictSame(await second.statuses.list(repository, commit), [status])
    t.strictSame(await second.tokens.list(), [{ ...token, last_used_at: '2026-01-31T13:00:00.000Z' }])
    t.strictSame(await second.grants.list(), [grant])
    const { status: replaced, previous } = await second.statuses.save(repository, commit, reportOf('ci'), 1000)
    t.strictSame(previous, status)
    t.strictSame([replaced.id, replaced.created_at], [status.id, status.created_at], 'a status goes on as the same one')
    await second.tokens.remove(token.id)
    await second.grants.remove(grant)
    await second.close()

    const third = await place.open()
    t.strictSame(await third.statuses.list(repository, commit), [replaced])
    t.strictSame(await third.tokens.list(), [])
    t.strictSame(await third.grants.list(), [])
  })

  t.test('Closing finishes the changes that were begun', async (t) => {
    const place = await factory(t)
    const store = await place.open()
    const contexts = Array.from({ length: 2500 }, (_, index) => `check ${String(index).padStart(4, '0')}`)
    const begun = contexts.map((context) => store.statuses.save(repository, commit, reportOf(context), 0))
    const rest = [store.tokens.add(token), store.grants.set(grant)]
    await store.close()
    const saved = await Promise.all(begun)
    await Promise.all(rest)
    const reopened = await place.open()
    t.strictSame(
      await reopened.statuses.list(repository, commit),
      saved.map(({ status }) => status),
    )
    t.strictSame(await reopened.tokens.get(token.id), token)
    t.strictSame(await reopened.grants.list(), [grant])
  })

  t.test('A store accepts writes until it is closed, and then says that it does not', async (t) => {
    const store = await openedStore(t, factory)
    t.equal(store.unavailableReason(), undefined)
    await store.close()
    t.match(store.unavailableReason(), /closed/)
    await store.close()
    t.pass('closing again is harmless')
  })

  t.test('After closing, every call rejects with StoreUnavailable', async (t) => {
    const store = await openedStore(t, factory)
    await store.statuses.save(repository, commit, reportOf('ci'), 0)
    await store.tokens.add(token)
    await store.close()
    for (const [name, call] of Object.entries(calls)) await t.rejects(call(store), StoreUnavailable, name)
  })

  t.test('A scan that runs while the store is closed is whole or ends in StoreUnavailable', async (t) => {
    const store = await openedStore(t, factory)
    const contexts = Array.from({ length: 2500 }, (_, index) => `check ${index}`)
    await Promise.all(
      contexts.map((context) =>
        store.statuses.save(repository, commit, reportOf(context, { description: 'x'.repeat(1000) }), 0),
      ),
    )
    const scan = store.statuses.scan(repository)[Symbol.asyncIterator]()
    await scan.next()
    await store.close()
    let seen = 1
    try {
      while ((await scan.next()).done !== true) seen++
      t.equal(seen, contexts.length)
    } catch (error) {
      t.ok(error instanceof StoreUnavailable)
    }
  })
}

const calls: Record<string, (store: Store) => Promise<unknown>> = {
  save: ({ statuses }) => statuses.save(repository, commit, reportOf('ci'), 0),
  list: ({ statuses }) => statuses.list(repository, commit),
  scan: ({ statuses }) => collect(statuses.scan(repository)),
  'get a token': async ({ tokens }) => await tokens.get(token.id),
  'add a token': ({ tokens }) => tokens.add({ ...token, id: '0b' }),
  'remove a token': ({ tokens }) => tokens.remove(token.id),
  'list tokens': ({ tokens }) => tokens.list(),
  'note a use': ({ tokens }) => tokens.noteUse(new Map([[token.id, '2026-01-31T13:00:00.000Z']])),
  'grants of a user': async ({ grants }) => await grants.of('bob', repository),
  'set a grant': ({ grants }) => grants.set(grant),
  'remove a grant': ({ grants }) => grants.remove(grant),
  'list grants': ({ grants }) => grants.list(),
}
