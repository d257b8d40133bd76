import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { serialisedList } from '../../lib/domain/status-list.js'
import { ChangedLines } from '../../lib/git/changed-lines.js'
import { CommitContents } from '../../lib/git/commit-content.js'
import { CommitLog } from '../../lib/git/commit-log.js'
import type { GitOptions, Take } from '../../lib/git/git-process.js'
import { RefLists } from '../../lib/git/ref-lists.js'
import { Refs } from '../../lib/git/refs.js'
import { Listing } from '../../lib/http/compatible/listing.js'
import { embed, listen } from '../fixtures/embedded.js'
import { makeCommit, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
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
  const run = () => Promise.resolve({ code: 0, error: '', output: Buffer.from('a'.repeat(40)) })
  const read = (_: string, __: readonly string[], take: Take) => {
    take(Buffer.from(`${'a'.repeat(40)}\nalice\n\n${'x'.repeat(200)}\0`))
    return Promise.resolve({ code: 0, error: '' })
  }
  const contents = new CommitContents({ run: catFile }, meter, shares.contents)
  const logs = new CommitLog({ run, read }, meter, shares.logs)
  const lines = new ChangedLines({ read }, meter, shares.lines)
  const refs = new Refs({ run }, meter, shares.refs)
  const printRefs = (_: string, __: readonly string[], take: Take) => {
    take(Buffer.from(Array.from({ length: 50 }, () => `${randomBytes(20).toString('hex')} refs/heads/a \n`).join('')))
    return Promise.resolve({ code: 0, error: '' })
  }
  const none = () => Promise.resolve({ code: 1, error: '', output: Buffer.alloc(0) })
  const refLists = new RefLists({ read: printRefs, run: none }, meter, shares.refLists)
  const directory = await makeRepository(t.testdirName, 'alice/hello')
  const answers = new Listing(meter, shares.answers)
  const body = () => ({ description })
  const page = { number: 1, size: 30 }
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
      const repository = { directory: '/srv/git/alice/hello.git', public: true, identity: '1' }
      await commits.has(repository, commit)
      await contents.read(repository.directory, [{ id: commit.hex }])
      for (const id of [commit, commitId(`${number}b`), commitId(`${number}c`)])
        await lines.count(repository.directory, id, undefined)
      await logs.one(repository, commit)
      await refs.resolve(repository, `branch-${number}`)
      if (number < 100) await refLists.of({ ...repository, directory, identity: `${number}` })
      await answers.answer(serialisedList([]), () => ({ key: `${number}`, page, body, headers: () => ({}) }))
    }
  }
  const names = ['answers', 'commits', 'contents', 'counts', 'grants', 'lines', 'lists', 'logs', 'refLists', 'refs']
  names.push('tokens')
  t.strictSame([...sizes.keys()].sort(), names)
  for (const [cache, size] of sizes) {
    t.ok(size() <= shares[cache], `${cache}: ${size()} of ${shares[cache]}`)
    t.ok(size() > shares[cache] * 0.9, `${cache} is full`)
  }
})

t.test('Whatever a service is asked for, its caches together take no more than the setting', async (t) => {
  const { service, repositories, tokenOf } = await embed(t, {
    cache: { megabytes: 1 },
    compatibleApis: ['github', 'gitlab'],
    metrics: true,
    pages: { session: () => 'alice', base: '/pages' },
  })
  const { directory } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const [url, token] = [await listen(t, service.handler), await tokenOf('alice')]
  const headers = { Authorization: `Bearer ${token}` }
  for (let number = 0; number < 12; number++) {
    const sha = await makeCommit(directory, `commit ${number}`, `branch-${number}`)
    const reports = Array.from({ length: 100 }, (_, index) => ({ state: 'success', context: `check ${index}` }))
    for (const report of reports) await service.report('alice/hello', sha, { ...report, description: 'x'.repeat(140) })
    const places = [
      `/api/v1/repos/alice/hello/commits/${sha}/statuses`,
      `/api/v3/repos/alice/hello/commits/branch-${number}/statuses?per_page=40`,
      `/api/v3/repos/alice/hello/commits/${sha}/status?per_page=40`,
      `/api/v4/projects/alice%2Fhello/repository/commits/${sha}`,
      `/pages/repos/alice/hello/commits/${sha}`,
      `/pages/repos/alice/hello/commits/${sha}?skip=20`,
      `/pages/repos/alice/hello?ref=branch-${number}`,
    ]
    for (const place of places) {
      const response = await fetch(`${url}${place}`, { headers })
      await response.arrayBuffer()
      t.equal(response.status, 200, place)
    }
  }
  const { text } = (await service.metrics?.()) ?? { text: '' }
  const found = [...text.matchAll(/^commit_status_cache_size_bytes\{cache="(\w+)"\} (\d+)$/gm)]
  const sizes = new Map(found.map(([, cache = '', bytes]) => [cache, Number(bytes)]))
  const shares = cacheShares(1)
  t.strictSame([...sizes.keys()].sort(), Object.keys(shares).sort(), 'every cache is counted')
  for (const cache of ['lists', 'answers', 'pages'] as const)
    t.ok(Number(sizes.get(cache)) > shares[cache] * 0.5, `${cache}: ${sizes.get(cache)} of ${shares[cache]}`)
  for (const [cache, size] of sizes) t.ok(size > 0, `${cache} is in use`)
  t.ok([...sizes.values()].reduce((sum, bytes) => sum + bytes) <= MEGABYTE)
})

/** What git prints of a commit: first how long it is. */
async function catFile(_: string, [, how]: readonly string[], __: number, { input = '' }: GitOptions = {}) {
  const header = `${input.trim()} commit 1000\n`
  const output = Buffer.from(how === '--batch' ? `${header}tree \n\n${'x'.repeat(993)}\n` : header)
  return await Promise.resolve({ code: 0, error: '', output })
}
