import { join } from 'node:path'
import t from 'tap'
import { ConfirmedCommits } from '../../lib/git/confirmed-commits.js'
import { cacheShares } from '../../lib/contracts/cache-shares.js'
import { noopMeter, type CacheName, type Meter } from '../../lib/contracts/meter.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'

const MEGABYTE = 1024 * 1024

t.test('The caches share all of the memory that the setting names, and no more', async (t) => {
  for (const megabytes of [1, 64, 1000]) {
    const bytes = Object.values(cacheShares(megabytes)).reduce((sum, share) => sum + share, 0)
    t.equal(bytes, megabytes * MEGABYTE)
  }
  t.strictSame(cacheShares(), cacheShares(64))
})

t.test('Whatever is read, the caches take no more than their shares', async (t) => {
  const sizes = new Map<CacheName, () => number>()
  const meter: Meter = { ...noopMeter, cacheSize: (cache, read) => sizes.set(cache, read) }
  const shares = cacheShares(1)
  const store = await LevelStore.open(join(t.testdir(), 'store'), undefined, meter, shares)
  t.teardown(async () => await store.close())
  const commits = new ConfirmedCommits(
    { has: () => Promise.resolve(true), forget: () => undefined, close: () => undefined },
    meter,
    shares.commits,
  )
  const hello = repositoryNamed('alice/hello')
  const digest = '0'.repeat(64)
  const token = { digest, user: 'alice', name: '', scopes: ['repo'], created_at: '', expires_at: null }
  const description = 'x'.repeat(1000)
  for (let start = 0; start < 1500; start += 500) {
    const numbers = Array.from({ length: 500 }, (_, index) => start + index)
    await Promise.all(
      numbers.map(async (number) => {
        const commit = commitId(`${number}a`)
        await store.statuses.save(hello, commit, reportOf('ci', { description }), 0)
        await store.tokens.add({ ...token, id: `${number}` })
      }),
    )
    for (const number of numbers) {
      const commit = commitId(`${number}a`)
      await store.statuses.serialised(hello, commit)
      await store.tokens.get(`${number}`)
      await store.grants.of(`user-${number}`, hello)
      await commits.has({ directory: '/srv/git/alice/hello.git', public: true, identity: '1' }, commit)
    }
  }
  t.strictSame([...sizes.keys()].sort(), ['commits', 'grants', 'lists', 'tokens'])
  for (const [cache, size] of sizes) {
    t.ok(size() <= shares[cache], `${cache}: ${size()} of ${shares[cache]}`)
    t.ok(size() > shares[cache] * 0.9, `${cache} is full`)
  }
})
