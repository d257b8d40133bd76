import { join } from 'node:path'
import t from 'tap'
import { storeStatistics } from '../../lib/admin/store-statistics.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { progressOf, resultOf } from '../fixtures/work.js'

t.test('What is in a store is counted', async (t) => {
  const store = await LevelStore.open(join(t.testdir({}), 'store'))
  t.teardown(async () => await store.close())
  const { bytes: none, ...empty } = await resultOf(storeStatistics(store, store.contents, 10))
  t.ok(none >= 0)
  t.strictSame(empty, {
    repositories: 0,
    commits: 0,
    statuses: 0,
    tokens: 0,
    grants: 0,
    oldest: null,
    newest: null,
    top: [],
  })
  for (const [name, commits, contexts] of [
    ['alice/a', 3, 2],
    ['alice/b', 200, 2],
    ['bob/c', 1, 1],
  ] as const) {
    for (let sha = 0; sha < commits; sha++)
      for (let context = 0; context < contexts; context++)
        await store.statuses.save(
          repositoryNamed(name),
          commitId(String(sha).padStart(4, '0')),
          reportOf(`ci ${context}`),
          sha * 1000 + context,
        )
  }
  await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' })
  await store.tokens.add({
    id: '0a',
    digest: 'd',
    user: 'alice',
    name: '',
    scopes: [],
    created_at: '2026-01-31T12:00:00.000Z',
    expires_at: null,
  })
  const { bytes, ...counts } = await resultOf(storeStatistics(store, store.contents, 2))
  t.ok(bytes > 10_000)
  t.strictSame(counts, {
    repositories: 3,
    commits: 204,
    statuses: 407,
    tokens: 1,
    grants: 1,
    oldest: '1970-01-01T00:00:00.000Z',
    newest: '1970-01-01T00:03:19.001Z',
    top: [
      { repository: 'alice/b', statuses: 400 },
      { repository: 'alice/a', statuses: 6 },
    ],
  })
  t.match(await progressOf(storeStatistics(store, store.contents, 0)), [
    { phase: 'counting', done: 250 },
    { done: 407 },
  ])
})
