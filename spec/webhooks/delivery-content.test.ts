import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { HookRecord } from '../../lib/contracts/hooks.js'
import type { Report } from '../../lib/domain/commit-status.js'
import { pushText } from '../../lib/domain/push.js'
import { parseObjectId } from '../../lib/domain/object-id.js'
import { ServiceError, StoreCorrupt, StoreUnavailable } from '../../lib/errors.js'
import { CommitContents } from '../../lib/git/commit-content.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { PushedCommits } from '../../lib/git/pushed-commits.js'
import { RefLists } from '../../lib/git/ref-lists.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { DeliveryContent } from '../../lib/webhooks/delivery-content.js'
import { PushContent } from '../../lib/webhooks/push-content.js'
import { push } from '../fixtures/deliveries.js'
import { git, makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { hookOf } from '../fixtures/hooks.js'
import { repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'

const hello = repositoryNamed('alice/hello')

/** A repository with a commit on main, its statuses, and what is told of them. */
async function world(t: Test, hook: HookRecord) {
  const folder = t.testdir({ repositories: {} })
  const { directory, sha } = await makeRepositoryWithCommit(join(folder, 'repositories'), 'alice/hello')
  const store = await LevelStore.open(join(folder, 'store'))
  const processes = new GitProcesses({ logger: { ...console, warn: () => undefined } })
  t.teardown(async () => {
    processes.close()
    await store.close()
  })
  const commits = new CommitContents(processes)
  const places = {
    ...{ statuses: store.statuses, outbox: store.hooks.outbox },
    repositories: new RepositoryFolder(join(folder, 'repositories'), { topOwner: 'git' }),
    ...{ refLists: new RefLists(processes), contents: commits },
  }
  const pushed = new PushedCommits(processes, commits)
  const dependencies = {
    ...places,
    pushes: new PushContent({ repositories: places.repositories, pushes: pushed }),
  }
  const contents = new DeliveryContent(dependencies)
  await store.hooks.add(hook)
  await store.hooks.outbox.open(() => undefined)
  const report = async (context: string, state: Report['state'], id = sha): Promise<void> => {
    const commit = parseObjectId(id)
    if (commit) await store.statuses.save(hello, commit, reportOf(context, { state }), 0)
  }
  /** What is told of all that waits, the entries of which are settled then. */
  const told = async () => {
    const all = []
    for (;;) {
      const entries = await store.hooks.outbox.claim(hook.id, 10)
      if (entries.length === 0) return all
      for (const entry of entries) {
        const content = await contents.of(hook, entry)
        all.push(...content.deliveries)
        await store.hooks.outbox.settle(entry, content.told, content.marks?.(content.deliveries.length, false))
      }
    }
  }
  return { contents, dependencies, directory, folder, sha, store, report, told }
}

t.test('A status comes with its commit, and the branches that it is the tip of', async (t) => {
  const { report, told, sha, directory } = await world(t, hookOf('a'))
  await git('-C', directory, 'branch', 'release/1', sha)
  await git('-C', directory, 'tag', 'v1', sha)
  await report('ci', 'failure')
  t.match(await told(), [
    {
      ...{ event: 'status', repository: hello, status: { sha, context: 'ci', state: 'failure' }, previous_state: null },
      branches: ['main', 'release/1'],
      commit: { message: 'a commit\n', author: { email: /@/ }, parents: [] },
    },
  ])
  await report('ci', 'success')
  t.match(await told(), [{ previous_state: 'failure' }])
})

t.test('A commit that is not there, or whose repository is gone, is told without what nobody knows', async (t) => {
  const { report, told, folder } = await world(t, hookOf('a'))
  await report('ci', 'success', 'c0ffee'.padEnd(40, '0'))
  const [missing] = await told()
  t.match(missing, { branches: [], commit: undefined })
  rmSync(join(folder, 'repositories/alice/hello.git'), { recursive: true })
  await report('ci', 'success')
  t.match(await told(), [{ branches: [], commit: undefined, status: { context: 'ci' } }])
  mkdirSync(join(folder, 'repositories/alice/hello.git/refs'), { recursive: true })
  await report('ci', 'pending')
  t.match(await told(), [{ branches: [], commit: undefined }], 'nor one that git cannot read')
})

t.test('Nothing is told of a status that is gone or of another state, or of another branch', async (t) => {
  const hook = hookOf('a', { states: ['failure'], branches: ['main', 'release/*'] })
  const { report, told, store, sha, directory } = await world(t, hook)
  const commit = parseObjectId(sha)
  if (!commit) throw new Error('no commit')
  await report('gone', 'failure')
  await report('fixed', 'failure')
  await store.statuses.remove(hello, commit, 'gone')
  await report('fixed', 'success')
  t.strictSame(await told(), [])
  await report('ci', 'failure')
  t.match(await told(), [{ branches: ['main'], status: { context: 'ci' } }])
  await git('-C', directory, 'branch', 'other', sha)
  await git('-C', directory, 'branch', '-m', 'main', 'feature')
  await report('ci', 'failure')
  t.strictSame(await told(), [])
})

t.test('A branch is broken once, and fixed once: by all contexts of its tip together', async (t) => {
  const hook = hookOf('a', { events: ['broken', 'fixed'], contexts: ['ci/*'] })
  const { report, told, directory, sha } = await world(t, hook)
  await report('ci/1', 'success')
  t.strictSame(await told(), [], 'one that was never broken is not fixed')
  await report('lint', 'failure')
  t.strictSame(await told(), [], 'other contexts do not count')
  await report('ci/2', 'failure')
  const [broken, ...rest] = await told()
  t.strictSame(rest, [])
  t.match(broken, { event: 'broken', branch: 'main', sha, repository: hello, commit: { message: 'a commit\n' } })
  t.match(broken, { id: /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/ })
  t.match(broken, { statuses: [{ context: 'ci/2' }] })
  await report('ci/3', 'failure')
  t.strictSame(await told(), [], 'it is broken already')

  const next = await makeCommit(directory, 'mended')
  await report('ci/2', 'success')
  await report('ci/3', 'success')
  t.strictSame(await told(), [], 'what was its tip once does not count')
  await report('ci/1', 'pending', next)
  await report('ci/2', 'success', next)
  t.strictSame(await told(), [], 'nor what is not decided')
  await report('ci/1', 'success', next)
  t.match(await told(), [
    { event: 'fixed', branch: 'main', sha: next, statuses: [{ context: 'ci/1' }, { context: 'ci/2' }] },
  ])
  await report('ci/1', 'success', next)
  t.strictSame(await told(), [])
})

t.test('Each branch has its own delivery, and a hook hears of what it wants alone', async (t) => {
  const hook = hookOf('a', { events: ['fixed'], branches: ['main', 'stable'] })
  const { report, told, sha, directory, contents, store } = await world(t, hook)
  for (const name of ['stable', 'other']) await git('-C', directory, 'branch', name, sha)
  await report('ci', 'failure')
  t.strictSame(await told(), [])
  t.strictSame(await store.hooks.outbox.broken('a', hello), ['main', 'stable'])
  await report('ci', 'success')
  const [entry] = await store.hooks.outbox.claim('a', 1)
  if (!entry) throw new Error('nothing waits')
  const { deliveries } = await contents.of(hook, entry)
  t.match(deliveries, [{ branch: 'main' }, { branch: 'stable' }])
  t.equal(new Set(deliveries.map(({ id }) => id)).size, 2)
  t.strictSame((await contents.of(hook, entry)).deliveries, deliveries, 'they are the same when made again')
})

t.test('A push is told with its commits, and without them where they cannot be read', async (t) => {
  const hook = hookOf('a', { events: ['push'] })
  const { contents, dependencies, directory, sha, folder } = await world(t, hook)
  const next = await makeCommit(directory, 'next')
  const entry = (of = push({ before: sha, after: next }), subject = pushText(of)) => ({
    ...{ hook: 'a', repository: hello, subject, delivery: 'd', since: '', from: null },
  })
  const { deliveries, ...rest } = await contents.of(hook, entry())
  t.strictSame(rest, { told: null })
  t.match(deliveries, [
    {
      ...{ id: 'd', event: 'push', hook, repository: hello, forced: false, total: 1 },
      push: { ref: 'refs/heads/main', before: sha, after: next, pusher: 'alice', sender: 'git' },
      commits: [{ id: next, message: 'next\n', parents: [sha] }],
      head: { id: next },
    },
  ])
  const busy = new PushContent({
    ...dependencies,
    pushes: { of: async () => await Promise.reject(new ServiceError('overloaded')) },
  })
  await t.rejects(busy.of(hook, entry()), { code: 'overloaded' })
  const nothing = [{ event: 'push', commits: [], total: 0, forced: false, head: undefined }]
  const fails = new PushContent({
    ...dependencies,
    pushes: { of: async () => await Promise.reject(new Error('EIO')) },
  })
  t.match((await fails.of(hook, entry())).deliveries, nothing)
  rmSync(join(folder, 'repositories/alice/hello.git'), { recursive: true })
  t.match((await contents.of(hook, entry())).deliveries, nothing)
})

for (const [on, events] of [
  ['alice/*', []],
  ['alice/hello', ['broken', 'push', 'status']],
  ['*', ['broken', 'push', 'status']],
] as const)
  t.test(`What waits when a repository goes to another owner, of a hook on ${on}`, async (t) => {
    const { contents, report, sha, folder, store } = await world(
      t,
      hookOf('a', { on, events: ['status', 'broken', 'push'] }),
    )
    await report('ci', 'failure')
    const subject = pushText(push({ before: sha, after: sha }))
    const pushed = { hook: 'a', repository: hello, subject, delivery: 'd', since: '2031-01-31T12:00:00.000Z' }
    await store.hooks.outbox.add([{ ...pushed, from: null }])
    const bobs = repositoryNamed('bob/hello')
    renameSync(join(folder, 'repositories/alice'), join(folder, 'repositories/bob'))
    await store.renameRepository(hello, bobs)
    await store.statuses.save(bobs, parseObjectId(sha) ?? fail(), reportOf('ci', { state: 'failure' }), 0)
    const hook = (await store.hooks.get('a')) ?? fail()
    const entries = await store.hooks.outbox.claim('a', 10)
    t.equal(entries.length, 3)
    const told = await Promise.all(entries.map(async (entry) => await contents.of(hook, entry)))
    t.strictSame(told.flatMap(({ deliveries }) => deliveries.map(({ event }) => event)).sort(), events)
  })

t.test('What cannot be read is tried again, but for what is damaged', async (t) => {
  const hook = hookOf('a', { events: ['status', 'broken'] })
  const { report, dependencies, store, sha } = await world(t, hook)
  await report('ci', 'failure')
  const [entry] = await store.hooks.outbox.claim('a', 1)
  if (!entry) throw new Error('nothing waits')
  const fails = (error: Error) =>
    new DeliveryContent({
      ...dependencies,
      statuses: { status: async () => await Promise.reject(error), list: async () => await Promise.reject(error) },
    })
  await t.rejects(fails(new StoreUnavailable('down')).of(hook, entry), { message: 'down' })
  t.strictSame((await fails(new StoreCorrupt('damaged')).of(hook, entry)).deliveries, [])
  const busy = new DeliveryContent({
    ...dependencies,
    refLists: { of: async () => await Promise.reject(new ServiceError('overloaded')) },
  })
  await t.rejects(busy.of(hook, entry), { code: 'overloaded' })
  const slow = new DeliveryContent({
    ...dependencies,
    refLists: { of: async () => await Promise.reject(new Error('git took too long')) },
  })
  t.match((await slow.of(hook, { ...entry, subject: `${sha}/ci` })).deliveries, [{ event: 'status', branches: [] }])
  const told = { message: 'git took too long' }
  await t.rejects(slow.of(hook, { ...entry, subject: `${sha}/` }), told, 'what a branch comes to')
  await t.rejects(
    slow.of({ ...hook, branches: ['main'] }, { ...entry, subject: `${sha}/ci` }),
    told,
    'for some branches',
  )
  const contents = new DeliveryContent(dependencies)
  for (const subject of ['refs/heads/main', 'main/ci'])
    t.strictSame((await contents.of(hook, { ...entry, subject })).deliveries, [], 'nothing of ours')
  await store.statuses.remove(hello, parseObjectId(sha) ?? fail(), undefined)
  t.strictSame((await contents.of(hook, { ...entry, subject: `${sha}/` })).deliveries, [])
})

function fail(): never {
  throw new Error('no commit')
}
