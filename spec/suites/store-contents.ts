import type { Test } from 'tap'
import { toApiStatus, type StoredStatus } from '../../lib/domain/commit-status.js'
import { StoreUnavailable } from '../../lib/errors.js'
import type { StoreContents } from '../../lib/contracts/store-administration.js'
import type { Store } from '../../lib/contracts/store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { wholeList } from '../fixtures/whole-list.js'
import { collect, openedStore, type StoreFactory } from './store.js'

const repository = repositoryNamed('alice/hello')
const other = repositoryNamed('alice/hello-2')
const commit = commitId('c0ffee')
const NOON = Date.UTC(2026, 0, 31, 12)

/** A status that was reported elsewhere. */
function elsewhere(context: string, hour: number, more: Partial<StoredStatus> = {}): StoredStatus {
  const at = new Date(Date.UTC(2026, 0, 31, hour)).toISOString()
  return {
    id: `id-${context}`,
    sha: commit.hex,
    context,
    state: 'failure',
    description: null,
    target_url: null,
    created_at: at,
    updated_at: at,
    ...more,
  }
}

async function all(contents: StoreContents): Promise<unknown[]> {
  const pages = await collect(contents.pages())
  return pages.flatMap(({ statuses }) => statuses.map(({ repository, status }) => [repository.full, status]))
}

/** For stores that offer `contents`. */
export function contentsSuite(t: Test, factory: StoreFactory): void {
  const test = (name: string, body: (t: Test, store: Store, contents: StoreContents) => Promise<void>): void => {
    t.test(name, async (t) => {
      const store = await openedStore(t, factory)
      if (store.contents) await body(t, store, store.contents)
      else t.pass('it does not offer this')
    })
  }

  test('Pages have every status, in the order of the names and of scan: that of the keys in every store', async (t, {
    statuses,
  }, contents) => {
    t.strictSame(await all(contents), [])
    const names = [
      'bob/a',
      'alice/hello-2',
      'alice/hello',
      'alice-b/x',
      'Alice/hello',
      '_/0',
      'alice/hello-2-3',
      'alice/hello.x',
      'alice/hello0',
      'bob/a.-',
      'bob/a.',
      'alice/hell',
    ]
    for (const name of names)
      for (const sha of ['b', 'a'])
        for (const context of ['ci', '\u{1f600}', 'a/b'])
          await statuses.save(repositoryNamed(name), commitId(sha), reportOf(context), NOON)
    // More than a page.
    await Promise.all(
      Array.from(
        { length: 600 },
        async (_, index) => await statuses.save(repository, commit, reportOf(`ci ${index}`), NOON),
      ),
    )
    const found = await all(contents)
    const order = [...new Set((found as [string][]).map(([name]) => name))]
    t.strictSame(
      order,
      names
        .map((name) => `${name}/`)
        .sort()
        .map((key) => key.slice(0, -1)),
    )
    const expected = await Promise.all(
      order.map(async (name) => (await collect(statuses.scan(repositoryNamed(name)))).map((status) => [name, status])),
    )
    t.strictSame(found, expected.flat())
  })

  test('Pages are as it was when the reading began, and say how far they are', async (t, { statuses }, contents) => {
    await Promise.all(
      Array.from({ length: 1000 }, (_, index) => statuses.save(repository, commit, reportOf(`ci ${index}`), NOON)),
    )
    const shares: (number | undefined)[] = []
    let count = 0
    for await (const page of contents.pages()) {
      count += page.statuses.length
      shares.push(page.share)
      await statuses.save(repository, commit, reportOf(`later ${count}`), NOON)
      await contents.remove(repository, (await statuses.list(repository, commit)).slice(-1))
    }
    t.equal(count, 1000)
    t.ok(shares.length > 1)
    t.ok(shares.every((share = 0) => share >= 0 && share <= 1))
  })

  test('A merge puts statuses in whole; of one context the later stays; nothing shows before its commit', async (t, {
    statuses,
    grants,
  }, contents) => {
    const there = await Promise.all(
      ['earlier', 'same', 'later', 'alone'].map(
        async (context) => (await statuses.save(repository, commit, reportOf(context), NOON)).status,
      ),
    )
    await grants.set({ owner: 'alice', repository, user: 'bob', access: 'read' })
    await grants.set({ owner: 'alice', repository, user: 'carol', access: 'read' })
    const merged = [
      elsewhere('earlier', 11),
      elsewhere('same', 12),
      elsewhere('later', 13, {
        pending_since: '2026-01-31T12:30:00.000Z',
        reporter: { user: 'ci', token: '0a' },
        description: 'é',
        created_at: '2020-01-01T00:00:00.000Z',
      }),
      elsewhere('new', 1),
    ]
    const merge = contents.merge(repository)
    t.equal(await merge.add(merged.slice(0, 2), [{ owner: 'alice', repository, user: 'bob', access: 'write' }]), 0)
    t.equal(await merge.add(merged.slice(2), []), 2)
    t.strictSame(await statuses.list(repository, commit), [there[3], there[0], there[2], there[1]])
    t.match(await grants.of('bob', repository), [{ access: 'read' }])
    await merge.commit()
    await merge.discard()
    const after = [there[3], there[0], merged[2], merged[3], there[1]]
    t.strictSame(await statuses.list(repository, commit), after)
    if (statuses.serialised)
      t.strictSame(JSON.parse((await wholeList({ statuses }, repository, commit)).bytes.toString()), {
        state: 'failure',
        statuses: after.map((status) => status && toApiStatus(status)),
      })
    t.match(await grants.list(), [
      { user: 'bob', access: 'write' },
      { user: 'carol', access: 'read' },
    ])
    t.match(await grants.of('bob', repository), [{ access: 'write' }])
  })

  test('A merge that is discarded has changed nothing, and makes room for another one', async (t, {
    statuses,
    grants,
  }, contents) => {
    const merge = contents.merge(repository)
    await merge.add([elsewhere('ci', 1)], [{ owner: 'alice', repository, user: 'bob', access: 'write' }])
    t.throws(() => contents.merge(repository), StoreUnavailable)
    const beside = contents.merge(other)
    await merge.discard()
    await merge.discard()
    t.strictSame([await statuses.list(repository, commit), await grants.list()], [[], []])
    const second = contents.merge(repository)
    await second.add([elsewhere('ci', 2)], [])
    await Promise.all([second.commit(), beside.commit()])
    await Promise.all([second.discard(), beside.discard()])
    t.strictSame(await statuses.list(repository, commit), [elsewhere('ci', 2)])
  })

  test('What is reported or removed during a merge stays so', async (t, { statuses }, contents) => {
    const { status: removed } = await statuses.save(repository, commit, reportOf('removed'), 0)
    const merge = contents.merge(repository)
    await merge.add([elsewhere('reported', 1), elsewhere('removed', 1), elsewhere('neither', 1)], [])
    const { status: reported } = await statuses.save(repository, commit, reportOf('reported'), 0)
    await contents.remove(repository, [removed])
    await statuses.save(other, commit, reportOf('neither'), 0)
    await merge.commit()
    await merge.discard()
    t.strictSame(await statuses.list(repository, commit), [elsewhere('neither', 1), reported])
    t.match(await statuses.list(other, commit), [{ context: 'neither', state: 'success' }])
  })

  test('A merge into a repository that is renamed or deleted meanwhile changes nothing', async (t, store, contents) => {
    const changes = [
      async () => await store.deleteRepository(repository),
      async () => await store.renameRepository(repository, other),
      async () => await store.renameRepository(other, repository),
    ]
    for (const change of changes) {
      await store.statuses.save(repository, commit, reportOf('there'), 0)
      await store.statuses.save(other, commit, reportOf('there'), 0)
      const merge = contents.merge(repository)
      await merge.add([elsewhere('ci', 1)], [])
      await change()
      await t.rejects(merge.commit(), StoreUnavailable)
      await merge.discard()
      t.match(
        [...(await collect(store.statuses.scan(repository))), ...(await collect(store.statuses.scan(other)))].filter(
          ({ context }) => context === 'ci',
        ),
        [],
      )
    }
  })

  test('Only a status that is exactly what was seen is removed', async (t, { statuses }, contents) => {
    const seen = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map(
        async (context) => (await statuses.save(repository, commit, reportOf(context), NOON)).status,
      ),
    )
    if (statuses.serialised) await statuses.serialised(repository, commit)
    // Reported twice, and below settled and reported in between: since when it is pending tells them apart.
    await statuses.save(repository, commit, reportOf('e', { state: 'pending' }), NOON)
    const twice = await statuses.save(repository, commit, reportOf('e', { state: 'pending' }), NOON + 1)
    seen.push(twice.status)
    // At the same time, by a clock that stands still.
    for (const state of ['success', 'pending'] as const)
      await statuses.save(repository, commit, reportOf('e', { state }), NOON + 1)
    await statuses.save(repository, commit, reportOf('b', { state: 'error' }), NOON)
    await statuses.save(repository, commit, reportOf('d', { reporter: { user: 'ci', token: null } }), NOON)
    await statuses.save(repository, commit, reportOf('c'), NOON + 1)
    t.equal(await contents.remove(repository, [...seen, elsewhere('none', 1)]), 1)
    t.match(
      (await statuses.list(repository, commit)).map(({ context }) => context),
      ['b', 'c', 'd', 'e'],
    )
    if (statuses.serialised)
      t.equal(
        (JSON.parse((await wholeList({ statuses }, repository, commit)).bytes.toString()) as { statuses: [] }).statuses
          .length,
        4,
      )
    t.equal(await contents.remove(other, seen), 0)
    t.equal(await contents.remove(repository, []), 0)
  })

  test('It tells what it takes on disk', async (t, { statuses }, contents) => {
    await statuses.save(repository, commit, reportOf('ci', { description: 'x'.repeat(1000) }), NOON)
    t.ok((await contents.bytes()) > 100)
  })
}
