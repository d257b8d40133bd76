import t, { type Test } from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import type { Store } from '../../lib/contracts/store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { collect } from '../suites/store.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')
const token = {
  id: '0a',
  digest: 'd',
  user: 'alice',
  name: '',
  scopes: ['repo'],
  created_at: '2026-01-31T12:00:00.000Z',
  expires_at: null,
}

t.test('Several instances on one database', { skip: isMissing }, async (t) => {
  specifyInstances(t, await PostgresServer.start(t))
})

t.test('Several instances on one database of Citus', { skip: isCitusMissing }, async (t) => {
  specifyInstances(t, await CitusCluster.start(t))
})

function specifyInstances(t: Test, server: { database(): Promise<string> }): void {
  /** Stores on one new database. */
  async function instances<T extends number[]>(t: Test, ...numbers: T): Promise<{ [K in keyof T]: Store }> {
    const url = await server.database()
    return (await Promise.all(
      numbers.map(async () => {
        const store = await openStore(url)
        t.teardown(async () => await store.close())
        return store
      }),
    )) as { [K in keyof T]: Store }
  }

  t.test('Reports through several of them at once never pass the limit of contexts together', async (t) => {
    const stores = await instances(t, 1, 2, 3)
    for (const limit of [10, 300]) {
      const commit = commitId(String(limit))
      const outcomes = await Promise.allSettled(
        Array.from({ length: 600 }, async (_, index) => {
          for (let turn = 0; turn < index % 20; turn++) await new Promise(setImmediate)
          const { statuses } = stores[index % 3] ?? stores[0]
          return await statuses.save(repository, commit, reportOf(`check ${index}`), 0, limit)
        }),
      )
      t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, limit)
      t.equal((await stores[0].statuses.list(repository, commit)).length, limit)
    }
  })

  t.test('What one has acknowledged is in the next answer of any other', async (t) => {
    const [one, other] = await instances(t, 1, 2)
    for (let round = 0; round < 20; round++) {
      const { status } = await one.statuses.save(
        repository,
        commit,
        reportOf('ci', { description: `round ${round}` }),
        round,
      )
      t.strictSame(await other.statuses.list(repository, commit), [status])
    }
    await one.tokens.add(token)
    t.strictSame(await other.tokens.get(token.id), token)
    await other.tokens.remove(token.id)
    t.equal(await one.tokens.get(token.id), undefined, 'a token that was revoked is refused everywhere at once')
    const grant = { owner: 'alice', user: 'bob', access: 'read' } as const
    await one.grants.set(grant)
    t.strictSame(await other.grants.of('bob', repository), [grant])
    await other.grants.remove(grant)
    t.strictSame(await one.grants.of('bob', repository), [])
    await other.deleteRepository(repository)
    t.strictSame(await one.statuses.list(repository, commit), [])
  })

  t.test(
    'Reports of one context through all of them at once: one chain, in which each knows what it replaced',
    async (t) => {
      const stores = await instances(t, 1, 2, 3)
      const calls = Array.from({ length: 150 }, (_, index) => index)
      const saved = await Promise.all(
        calls.map(
          async (index) =>
            await stores[index % 3]?.statuses.save(
              repository,
              commit,
              reportOf('ci', { description: `report ${index}` }),
              1000 + (index % 7),
            ),
        ),
      )
      const replaced = saved.map((answer) => answer?.previous?.description)
      t.equal(replaced.filter((description) => description === undefined).length, 1, 'one was the first')
      t.equal(new Set(replaced).size, calls.length, 'no two replaced the same one')
      const [last] = await stores[0].statuses.list(repository, commit)
      t.notOk(replaced.includes(last?.description), 'nobody replaced the last one')
      t.equal(new Set(saved.map((answer) => answer?.status.id)).size, 1)
      const byDescription = new Map(saved.map((answer) => [answer?.status.description, answer]))
      for (const answer of saved) {
        if (!answer?.previous) continue
        t.strictSame(
          answer.previous,
          byDescription.get(answer.previous.description)?.status,
          'the one before, as it was answered',
        )
        t.ok(answer.status.updated_at >= answer.previous.updated_at)
      }
    },
  )

  t.test(
    'Reports of the same contexts in any order, many in a statement, never wait for each other for ever',
    async (t) => {
      const stores = await instances(t, 1, 2, 3)
      const contexts = Array.from({ length: 200 }, (_, index) => `check ${index}`)
      for (let round = 0; round < 5; round++) {
        await Promise.all(
          stores.map(async (store, index) => {
            const order = index === 1 ? contexts.toReversed() : contexts
            await Promise.all(order.map((context) => store.statuses.save(repository, commit, reportOf(context), 0)))
          }),
        )
      }
      t.equal((await stores[0].statuses.list(repository, commit)).length, contexts.length)
    },
  )

  t.test('While one moves a repository, nothing that others report is lost or doubled', async (t) => {
    const [one, other] = await instances(t, 1, 2)
    const moved = repositoryNamed('alice/moved')
    const contexts = Array.from({ length: 300 }, (_, index) => `check ${index}`)
    for (const context of contexts.slice(0, 50)) await one.statuses.save(repository, commit, reportOf(context), 0)
    const reporting = Promise.all(
      contexts.map((context) => other.statuses.save(repository, commit, reportOf(context, { state: 'failure' }), 1)),
    )
    await one.renameRepository(repository, moved)
    await reporting
    const [there, here] = [await collect(one.statuses.scan(moved)), await collect(one.statuses.scan(repository))]
    t.strictSame(new Set([...there, ...here].map(({ context }) => context)), new Set(contexts))
    await one.renameRepository(repository, moved)
    t.strictSame(
      (await collect(one.statuses.scan(moved))).map(({ state }) => state),
      contexts.map(() => 'failure'),
      'the later one stays',
    )
    t.strictSame(await collect(one.statuses.scan(repository)), [])
  })
}
