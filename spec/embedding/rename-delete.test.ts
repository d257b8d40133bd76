import { cpSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import type { AccessPolicy, CommitStatusOptions, ObjectId, Store } from '../../lib/index.js'
import { embed, type Embedded } from '../fixtures/embedded.js'
import { makeCommit, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { ModelStore } from '../fixtures/model-store.js'
import { repositoryNamed } from '../fixtures/names.js'

/**
 * In `npm run faults` and its like as many as the store promises; otherwise enough for many turns of the event loop.
 */
const MANY = process.env['COMMIT_STATUS_FAULTS'] === 'long' ? 100_000 : 10_000

/** A service on a store that the test can look into. */
async function embedWithStore(
  t: Test,
  options: Partial<CommitStatusOptions> = {},
): Promise<Embedded & { store: Store }> {
  const store = await openStore(`level:${join(t.testdir({}), 'store')}`)
  return { ...(await embed(t, { ...options, store })), store }
}

/** Fills a repository with statuses, straight into the store. */
async function fill({ statuses }: Store, full: string, count: number): Promise<void> {
  const save = async (n: number) => {
    const commit = commitIn(n >> 4)
    const report = {
      state: 'success',
      context: `c${n % 16}`,
      description: 'all 42 tests pass',
      target_url: null,
    } as const
    await statuses.save(repositoryNamed(full), commit, report, 0)
  }
  for (let n = 0; n < count; n += 1000)
    await Promise.all(Array.from({ length: 1000 }, async (_, k) => await save(n + k)))
}

function commitIn(n: number): ObjectId {
  return { hex: n.toString(16).padStart(40, '0'), format: 'sha1' }
}

async function count({ statuses }: Store, full: string): Promise<number> {
  let found = 0
  for await (const _ of statuses.scan(repositoryNamed(full))) found++
  return found
}

/** Rights that some requests wait for through many turns of the event loop, after their repository has been found. */
const slowRights: AccessPolicy = {
  access: async () => {
    for (let turns = Math.floor(Math.random() * 40); turns > 0; turns--) await setImmediate()
    return 'write'
  },
}

/** What became of a report: `saved`, or the code of its refusal. */
async function outcomeOf(report: Promise<unknown>): Promise<string> {
  return await report.then(
    () => 'saved',
    (error: unknown) => (error as { code: string }).code,
  )
}

t.test(
  'All statuses of a repository move or go atomically however many there are, while reports to it are running',
  async (t) => {
    const { service, repositories, store } = await embedWithStore(t, { accessPolicy: slowRights })
    const { directory, sha } = await makeRepositoryWithCommit(repositories, 'alice/a')
    const copy = join(repositories, 'copy')
    cpSync(directory, copy, { recursive: true })
    await fill(store, 'alice/a', MANY)

    // Reports go on until the rename; whatever was acknowledged under the old name must be there under the new one.
    const rename = new AbortController()
    const outcomes: string[] = []
    const reporters = Array.from({ length: 20 }, async (_, reporter) => {
      for (let n = 0; !rename.signal.aborted; n++) {
        const context = `live ${reporter} ${n}`
        outcomes.push(await outcomeOf(service.report('alice/a', sha, { state: 'success', context }, 'alice')))
      }
    })
    while (outcomes.length < 100) await setImmediate()
    const sizes = new Set<number>()
    const renamed = new AbortController()
    const watcher = (async () => {
      while (!renamed.signal.aborted) {
        sizes.add(await count(store, 'alice/b'))
        await setImmediate()
      }
    })()
    rename.abort()
    const renaming = service.renameRepository('alice/a', 'alice/b')
    renameSync(directory, join(repositories, 'alice/b.git'))
    // At once there is another one of that name, with the same commit: no report to the former one is for it.
    renameSync(copy, directory)
    await renaming
    renamed.abort()
    sizes.add(await count(store, 'alice/b'))
    await Promise.all([...reporters, watcher])

    const saved = outcomes.filter((outcome) => outcome === 'saved').length
    t.ok(saved >= 100, `${saved} reports were saved`)
    t.equal(await count(store, 'alice/a'), 0, 'nothing is left behind')
    t.equal(await count(store, 'alice/b'), MANY + saved, 'everything has moved, every acknowledged report with it')
    const others = outcomes.filter((outcome) => outcome !== 'saved')
    t.ok(others.length > 0, `${others.length} reports were under way`)
    t.strictSame([...new Set(others)], ['repository_not_found'], 'the others were refused')
    t.ok(
      [...sizes].every((size) => size === 0 || size >= MANY),
      `all or none at every moment: ${[...sizes].join()}`,
    )

    await service.deleteRepository('alice/b')
    t.equal(await count(store, 'alice/b'), 0)
  },
)

t.test('A report that races with a delete is either gone or refused, never left behind', async (t) => {
  const { service, repositories } = await embed(t, { accessPolicy: slowRights })
  const directory = await makeRepository(repositories, 'alice/hello')
  let refused = 0
  for (let round = 0; round < 20; round++) {
    const sha = await makeCommit(directory, `round ${round}`)
    const reports = Array.from(
      { length: 30 },
      async (_, n) =>
        await outcomeOf(service.report('alice/hello', sha, { state: 'success', context: `c${n}` }, 'alice')),
    )
    // The delete falls into another stage of the reports each time.
    for (let turn = 0; turn < round; turn++) await setImmediate()
    const gone = join(repositories, 'gone')
    renameSync(directory, gone)
    const deleting = service.deleteRepository('alice/hello')
    // At once there is another one of that name, with the same commit.
    renameSync(gone, directory)
    await deleting
    const outcomes = await Promise.all(reports)
    for (const outcome of new Set(outcomes)) t.ok(['saved', 'repository_not_found'].includes(outcome), outcome)
    refused += outcomes.filter((outcome) => outcome === 'repository_not_found').length
    t.strictSame(await service.list('alice/hello', sha), { state: null, statuses: [] }, `round ${round}`)
  }
  t.ok(refused > 0, `${refused} reports were under way`)
})

t.test(
  'A report that was under way when its repository was deleted is refused, even if a repository is there again',
  async (t) => {
    const folder = t.testdir({})
    const { directory, sha } = await makeRepositoryWithCommit(folder, 'alice/hello')
    const held: (() => void)[] = []
    let hold = true
    const find = async () => {
      if (hold) await new Promise<void>((resolve) => held.push(resolve))
      return { directory, public: true }
    }
    const { service } = await embed(t, { repositories: { find } })
    const report = service.report('alice/hello', sha, { state: 'success' })
    await service.deleteRepository('alice/hello')
    hold = false
    for (const release of held) release()
    await t.rejects(report, { code: 'repository_not_found' })
    t.strictSame((await service.list('alice/hello', sha)).statuses, [])
  },
)

t.test('Names that are prefixes of each other do not move or go together', async (t) => {
  const { service, repositories, store } = await embedWithStore(t)
  mkdirSync(join(repositories, 'alice'))
  for (const name of ['alice/a', 'alice/a-b', 'alice/a.b', 'alice/ab', 'alic/a']) await fill(store, name, 1000)
  await service.renameRepository('alice/a', 'alice/z')
  await service.deleteRepository('alice/ab')
  t.strictSame(
    await Promise.all(
      ['alice/a', 'alice/a-b', 'alice/a.b', 'alice/ab', 'alic/a', 'alice/z'].map(
        async (name) => await count(store, name),
      ),
    ),
    [0, 1000, 1000, 0, 1000, 1000],
  )
})

t.test(
  'A rename onto a name that has got reports already loses none of them: the later one of a context stays',
  async (t) => {
    const { service, repositories } = await embed(t)
    const { directory, sha } = await makeRepositoryWithCommit(repositories, 'alice/a')
    await service.report('alice/a', sha, { state: 'failure', context: 'both' })
    await service.report('alice/a', sha, { state: 'success', context: 'old' })
    renameSync(directory, join(repositories, 'alice/b.git'))
    await service.report('alice/b', sha, { state: 'success', context: 'new' })
    await new Promise((resolve) => setTimeout(resolve, 2))
    await service.report('alice/b', sha, { state: 'pending', context: 'both' })
    await service.renameRepository('alice/a', 'alice/b')
    const { statuses } = await service.list('alice/b', sha)
    t.strictSame(
      statuses.map(({ context, state }) => [context, state]),
      [
        ['both', 'pending'],
        ['new', 'success'],
        ['old', 'success'],
      ],
    )
  },
)

t.test('A report that fails while its repository is deleted is refused as of one that is not there', async (t) => {
  const store = new ModelStore()
  const { service, repositories } = await embed(t, { store })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  store.statuses.save = async () => {
    await service.deleteRepository('alice/hello')
    throw new Error('what it was to be saved with is no more')
  }
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }), {
    code: 'repository_not_found',
    cause: { cause: { message: 'what it was to be saved with is no more' } },
  })
})
