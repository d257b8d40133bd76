import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AuditedRepositories } from '../../lib/admin/audit-log.js'
import { Retention, type RetentionDependencies, type RetentionRule } from '../../lib/admin/retention.js'
import { AdministrationError } from '../../lib/errors.js'
import { CommitFinder } from '../../lib/git/commit-finder.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { embed } from '../fixtures/embedded.js'
import { makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { startService } from '../fixtures/service.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'

const DAY = 24 * 60 * 60 * 1000
const NOON = Date.parse('2031-01-31T12:00:00Z')
const gone = commitId('c0ffee')

type Line = Record<string, unknown>

/** A store and a folder of repositories, and what the retention says and measures of them. */
async function world(t: Test, more: Partial<RetentionDependencies> = {}) {
  const commits = new CommitFinder()
  const running: Retention[] = []
  let opened: LevelStore | undefined
  // Before the folder is made: tap ends in that order, and a day may be claimed until then.
  t.teardown(async () => {
    for (const retention of running) await retention.close()
    commits.close()
    await opened?.close()
  })
  const folder = join(t.testdir({ repositories: {} }), 'repositories')
  const store = (opened = await LevelStore.open(join(t.testdirName, 'store')))
  const lines: Line[] = []
  const runs: [isWhole: boolean, removed: number, kept: number][] = []
  const note = (facts: object, msg: string): void => void lines.push({ ...facts, msg })
  const logger = { debug: note, info: note, warn: note, error: note }
  const clock = { time: NOON, now: () => clock.time }
  const stopping = new AbortController()
  const dependencies: RetentionDependencies = {
    store,
    hasGrants: true,
    audited: new AuditedRepositories({
      changes: store,
      grants: store.grants,
      logger,
      run: async (change) => await change(),
    }),
    ...{ logger, clock, commits },
    repositories: new RepositoryFolder(folder, { topOwner: 'git' }),
    by: 'retention',
    stopping: stopping.signal,
    meter: { retentionRan: (...run) => void runs.push(run) },
    ...more,
  }
  const start = async (rule: RetentionRule, claimDay = store.claimDay.bind(store), milliseconds?: number) => {
    const retention = new Retention(rule, claimDay, dependencies, milliseconds)
    running.push(retention)
    await retention.check()
    return retention
  }
  const save = async (name: string, context: string, at: number, commit = gone) =>
    await store.statuses.save(repositoryNamed(name), commit, reportOf(context), at)
  const left = async (name: string) =>
    (await collect(store.statuses.scan(repositoryNamed(name)))).map(({ context }) => context)
  return { folder, store, lines, runs, clock, stopping, start, save, left }
}

t.test('What the rule says goes, with a line in the log and numbers for the metrics', async (t) => {
  const { folder, lines, runs, start, save, left } = await world(t)
  const { sha } = await makeRepositoryWithCommit(folder, 'alice/hello')
  await save('alice/hello', 'new', NOON - 399 * DAY, commitId(sha))
  await save('alice/hello', 'old', NOON - 401 * DAY, commitId(sha))
  await save('alice/hello', 'of a commit that is gone', NOON)
  await save('bob/gone', 'of a repository that is gone', NOON)
  await start({ unchangedFor: '400d', goneCommits: true, goneRepositories: true })
  t.strictSame([await left('alice/hello'), await left('bob/gone')], [['new'], []])
  const olderThan = new Date(NOON - 400 * DAY).toISOString()
  t.strictSame(lines, [
    {
      ...{ by: 'retention', goneCommits: true, goneRepositories: true, olderThan, remove: true },
      ...{ statuses: 3, kept: 0, msg: 'audit: store pruned' },
    },
  ])
  t.strictSame(runs, [[true, 3, 0]])
})

t.test('What no rule names stays', async (t) => {
  const { folder, start, save, left } = await world(t)
  await makeRepository(folder, 'alice/hello')
  for (const name of ['alice/hello', 'bob/gone']) await save(name, 'old', 0)
  await start({ goneCommits: false, goneRepositories: false })
  t.strictSame([await left('alice/hello'), await left('bob/gone')], [['old'], ['old']])
})

t.test('It prunes at the start, and then when another day has begun, by itself', async (t) => {
  const { clock, runs, lines, start, save, left } = await world(t)
  const retention = await start({ unchangedFor: '2w' }, undefined, 1)
  await save('alice/hello', 'ci', NOON)
  clock.time = Date.parse('2031-01-31T23:59:59Z')
  for (let times = 0; times < 10; times++) await retention.check()
  t.equal(runs.length, 1)
  clock.time = Date.parse('2031-02-28T00:00:00Z')
  await until(() => runs.length > 1)
  t.strictSame(runs, [
    [true, 0, 0],
    [true, 1, 0],
  ])
  t.strictSame([await left('alice/hello'), lines.length], [[], 2])
})

t.test('What prune refuses, it refuses too, and tries again the next day', async (t) => {
  const { folder, clock, runs, lines, start, save, left } = await world(t)
  await save('bob/gone', 'ci', NOON)
  const retention = await start({ goneRepositories: true })
  const reason = 'there is not one repository in the repositories folder: nothing is taken for gone'
  const refused = { reason, statuses: 0, kept: 0, msg: 'retention: the store was not pruned to its end' }
  t.strictSame([await left('bob/gone'), runs, lines], [['ci'], [[false, 0, 0]], [refused]])
  await makeRepository(folder, 'alice/hello')
  await retention.check()
  t.strictSame(await left('bob/gone'), ['ci'])
  clock.time += DAY
  await retention.check()
  t.strictSame([await left('bob/gone'), runs.at(-1)], [[], [true, 1, 0]])
})

t.test('What cannot be read is kept, and counted', async (t) => {
  const { folder, runs, start, save, left } = await world(t)
  await makeRepository(folder, 'alice/hello')
  mkdirSync(join(folder, 'bob/x.git/objects'), { recursive: true })
  mkdirSync(join(folder, 'bob/x.git/HEAD'))
  mkdirSync(join(folder, 'bob/x.git/refs'))
  await save('bob/x', 'ci', NOON)
  await start({ goneCommits: true })
  t.strictSame([await left('bob/x'), runs], [['ci'], [[true, 0, 1]]])
})

t.test('While nobody can claim a day it says so, and tries again', async (t) => {
  const { runs, lines, start } = await world(t)
  let isBroken = true
  const retention = await start({ unchangedFor: '1d' }, async () => {
    if (isBroken) throw new Error('the disk is full')
    return await Promise.resolve(true)
  })
  t.match(lines, [{ reason: 'the disk is full', msg: 'retention: the store was not pruned to its end' }])
  isBroken = false
  await retention.check()
  t.strictSame(runs, [[true, 0, 0]])
})

t.test('The end of the service ends it, between two repositories, without a word of a failure', async (t) => {
  let steps = 0
  const { stopping, runs, lines, start, save, left } = await world(t, {
    yieldTurn: async () => {
      steps++
      stopping.abort(new AdministrationError('the service was told to stop'))
      await Promise.resolve()
    },
  })
  for (let number = 0; number < 600; number++) await save('alice/hello', `check ${number}`, 0)
  const retention = await start({ unchangedFor: '1d' })
  await retention.close()
  const [isWhole, removed] = runs[0] ?? [true, 0]
  t.strictSame([steps, isWhole, (await left('alice/hello')).length], [1, false, 600 - removed])
  t.ok(removed > 0 && removed < 600)
  t.match(lines, [{ by: 'retention', statuses: removed, msg: 'audit: store pruned in part' }])
  await retention.check()
  t.equal(runs.length, 1, 'and nothing begins after it')
})

t.test('A service does it by its option, and measures it', async (t) => {
  const clock = { time: NOON, now: () => clock.time }
  const first = await embed(t, { clock })
  const { sha } = await makeRepositoryWithCommit(first.repositories, 'alice/hello')
  await first.service.report('alice/hello', sha, { state: 'success' })
  await first.service.close()
  clock.time += 8 * DAY
  const lines: Line[] = []
  const note = (facts: object, msg: string): void => void lines.push({ ...facts, msg })
  const { service } = await embed(t, {
    repositories: first.repositories,
    store: `level:${join(first.folder, 'store')}`,
    retention: { unchangedFor: '1w' },
    logger: { debug: note, info: note, warn: note, error: note },
    clock,
    metrics: true,
  })
  await until(() => lines.some(({ msg }) => msg === 'audit: store pruned'))
  t.match(lines, [{ by: 'retention', statuses: 1 }])
  t.strictSame((await service.list('alice/hello', sha)).statuses, [])
  const { text = '' } = (await service.metrics?.()) ?? {}
  t.match(text, /^commit_status_retention_runs_total\{result="done"\} 1$/m)
  t.match(text, /^commit_status_retention_statuses_total\{result="removed"\} 1$/m)
  t.match(text, /^commit_status_retention_statuses_total\{result="kept"\} 0$/m)
  await service.close()
  t.match(readFileSync(join(first.folder, 'store/claimed-day.txt'), 'utf8'), /^2031-02-08$/)
})

t.test('A day on which it was refused is measured, too', async (t) => {
  const { service } = await embed(t, { retention: { goneRepositories: true }, metrics: true })
  const measured = async () => (await service.metrics?.())?.text ?? ''
  let text = ''
  while (!/runs_total\{result="\w+"\} [1-9]/.test(text)) text = await measured()
  t.match(text, /^commit_status_retention_runs_total\{result="failed"\} 1$/m)
})

t.test('So does a service of its own, by its setting', async (t) => {
  const { log } = await startService(t, { settings: { retention: { goneRepositories: true } } })
  await until(() => log.some(({ msg }) => msg === 'retention: the store was not pruned to its end'))
  t.match(log, [{ level: 40, reason: /^there is not one repository/ }])
})

t.test('Of several instances on one database one does it', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const store = await server.database()
  const clock = { time: NOON, now: () => clock.time }
  const first = await embed(t, { store, clock })
  const { sha } = await makeRepositoryWithCommit(first.repositories, 'alice/hello')
  await first.service.report('alice/hello', sha, { state: 'success' })
  clock.time += 400 * DAY
  const lines: Line[] = []
  const note = (facts: object, msg: string): void => void lines.push({ ...facts, msg })
  const logger = { debug: note, info: note, warn: note, error: note }
  const retention = { unchangedFor: '52w', goneCommits: true, goneRepositories: true }
  const { repositories } = first
  const others = await Promise.all(
    Array.from({ length: 5 }, async () => await embed(t, { repositories, store, clock, retention, logger })),
  )
  // Closing waits for what the start has begun, and ends it.
  await until(() => lines.length > 0)
  for (const { service } of others) await service.close()
  t.strictSame(
    lines.map(({ msg, statuses }) => [msg, statuses]),
    [['audit: store pruned', 1]],
  )
  t.strictSame((await first.service.list('alice/hello', sha)).statuses, [])
})
