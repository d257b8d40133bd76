import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { CommitStatusService } from '../../lib/index.js'
import { embed } from '../fixtures/embedded.js'
import { makeCommit, makeRepository } from '../fixtures/git.js'

/** In `npm run faults` and its like as many as the store promises; otherwise enough for many turns of the event loop. */
const MANY = process.env['COMMIT_STATUS_FAULTS'] === 'long' ? 100_000 : 10_000

/** Fills a repository with statuses, straight into the store. */
async function fill(service: CommitStatusService, full: string, count: number): Promise<void> {
  const [owner = '', name = ''] = full.split('/')
  const { statuses } = service.administered.store
  const save = async (n: number) => {
    const commit = { hex: (n >> 4).toString(16).padStart(40, '0'), format: 'sha1' as const }
    await statuses.save({ owner, name, full }, commit, { state: 'success', context: `c${n % 16}`, description: 'all 42 tests pass', target_url: null }, 0)
  }
  for (let n = 0; n < count; n += 1000) await Promise.all(Array.from({ length: 1000 }, async (_, k) => await save(n + k)))
}

async function count(service: CommitStatusService, full: string): Promise<number> {
  const [owner = '', name = ''] = full.split('/')
  let found = 0
  for await (const _ of service.administered.store.statuses.scan({ owner, name, full })) found++
  return found
}

t.test('All statuses of a repository move or go atomically however many there are, while reports to it are running', async (t) => {
  const { service, repositories } = await embed(t)
  const directory = await makeRepository(repositories, 'alice/a')
  const sha = await makeCommit(directory)
  await fill(service, 'alice/a', MANY)

  // Reports go on all the time; whatever was acknowledged under the old name must be there under the new one.
  const until = { done: false }
  const outcomes: string[] = []
  const reporters = Array.from({ length: 8 }, async (_, reporter) => {
    for (let n = 0; !until.done; n++) {
      const report = service.report('alice/a', sha, { state: 'success', context: `live ${reporter} ${n}` })
      outcomes.push(await report.then(() => 'saved', (error: unknown) => (error as { code: string }).code))
    }
  })
  while (outcomes.length < 100) await new Promise((resolve) => setImmediate(resolve))
  const sizes = new Set<number>()
  const watcher = (async () => {
    while (!until.done) {
      sizes.add(await count(service, 'alice/b'))
      await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  const renaming = service.renameRepository('alice/a', 'alice/b')
  renameSync(directory, join(repositories, 'alice/b.git'))
  await renaming
  sizes.add(await count(service, 'alice/b'))
  until.done = true
  await Promise.all([...reporters, watcher])

  const saved = outcomes.filter((outcome) => outcome === 'saved').length
  t.ok(saved >= 100, `${saved} reports were saved`)
  t.equal(await count(service, 'alice/a'), 0, 'nothing is left behind')
  t.equal(await count(service, 'alice/b'), MANY + saved, 'everything has moved, and every acknowledged report with it')
  t.strictSame(outcomes.filter((outcome) => outcome !== 'saved' && outcome !== 'repository_not_found'), [], 'the others were refused')
  t.ok([...sizes].every((size) => size === 0 || size >= MANY), `all or none at every moment: ${[...sizes].join()}`)

  await service.deleteRepository('alice/b')
  t.equal(await count(service, 'alice/b'), 0)
})

t.test('A report that races with a delete is either gone or refused, never left behind', async (t) => {
  const { service, repositories } = await embed(t)
  for (let round = 0; round < 20; round++) {
    const directory = await makeRepository(repositories, 'alice/hello')
    const sha = await makeCommit(directory, `round ${round}`)
    const reports = Array.from({ length: 30 }, async (_, n) => await service.report('alice/hello', sha, { state: 'success', context: `c${n}` }).then(() => 'saved', (error: unknown) => (error as { code: string }).code))
    // The delete falls into another stage of the reports each time.
    for (let turn = 0; turn < round; turn++) await new Promise((resolve) => setImmediate(resolve))
    const gone = join(repositories, `gone-${round}`)
    renameSync(directory, gone)
    await service.deleteRepository('alice/hello')
    const outcomes = new Set(await Promise.all(reports))
    for (const outcome of outcomes) t.ok(['saved', 'repository_not_found'].includes(outcome), outcome)
    renameSync(gone, directory)
    t.strictSame(await service.list('alice/hello', sha), { state: null, statuses: [] }, `round ${round}`)
    renameSync(directory, `${gone}.old`)
  }
})

t.test('Names that are prefixes of each other do not move or go together', async (t) => {
  const { service, repositories } = await embed(t)
  mkdirSync(join(repositories, 'alice'))
  for (const name of ['alice/a', 'alice/a-b', 'alice/a.b', 'alice/ab', 'alic/a']) await fill(service, name, 1000)
  await service.renameRepository('alice/a', 'alice/z')
  await service.deleteRepository('alice/ab')
  t.strictSame(
    await Promise.all(['alice/a', 'alice/a-b', 'alice/a.b', 'alice/ab', 'alic/a', 'alice/z'].map(async (name) => await count(service, name))),
    [0, 1000, 1000, 0, 1000, 1000],
  )
})

t.test('A rename onto a name that has got reports already loses none of them: the later one of a context stays', async (t) => {
  const { service, repositories } = await embed(t)
  const directory = await makeRepository(repositories, 'alice/a')
  const sha = await makeCommit(directory)
  await service.report('alice/a', sha, { state: 'failure', context: 'both' })
  await service.report('alice/a', sha, { state: 'success', context: 'old' })
  renameSync(directory, join(repositories, 'alice/b.git'))
  await service.report('alice/b', sha, { state: 'success', context: 'new' })
  await new Promise((resolve) => setTimeout(resolve, 2))
  await service.report('alice/b', sha, { state: 'pending', context: 'both' })
  await service.renameRepository('alice/a', 'alice/b')
  const { statuses } = await service.list('alice/b', sha)
  t.strictSame(statuses.map(({ context, state }) => [context, state]), [['both', 'pending'], ['new', 'success'], ['old', 'success']])
})
