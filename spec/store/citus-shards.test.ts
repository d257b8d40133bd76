import t, { type Test } from 'tap'
import { migrateStore, openStore } from '../../lib/embedding/open-store.js'
import type { Logger } from '../../lib/contracts/logger.js'
import type { RepositoryName } from '../../lib/domain/repository-name.js'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { sql, type PostgresServer } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'

const commit = commitId('c0ffee')
const DISTRIBUTED = "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'commit_status.statuses'::regclass"

/** How long whoever asks may wait for an answer that is a refusal, with time to spare on a machine that is busy. */
const PATIENCE_MILLISECONDS = 15_000

t.test('Shards of Citus', { skip: isCitusMissing }, async (t) => {
  const cluster = await CitusCluster.start(t)

  async function open(t: Test) {
    const url = await cluster.database()
    const lines: [string, object][] = []
    const line = (facts: object, message: string): void => void lines.push([message, facts])
    const logger: Logger = { debug: () => undefined, info: line, warn: line, error: line }
    const store = await openStore(url, logger)
    t.teardown(async () => await store.close())
    /** Repositories of each worker. */
    const repositories = new Map<PostgresServer, RepositoryName[]>()
    for (let number = 0; number < 40; number++) {
      const name = repositoryNamed(`alice/repo-${number}`)
      const worker = await cluster.workerOf(url, name.full)
      repositories.set(worker, [...(repositories.get(worker) ?? []), name])
    }
    const [one, other] = [...repositories]
    if (!one || !other) throw new Error('all on one worker')
    return {
      ...{ url, store, lines, worker: one[0], gone: one[1], there: other[1] },
      save: async (repository: RepositoryName | undefined) =>
        await store.statuses.save(repository ?? repositoryNamed('no/one'), commit, reportOf('ci'), 0),
    }
  }

  for (const [what, takeAway, bringBack] of [
    [
      'killed',
      async (worker: PostgresServer) => await worker.kill('SIGKILL'),
      async (worker: PostgresServer) => await worker.run(),
    ],
    [
      'standing still',
      (worker: PostgresServer) => {
        worker.freeze('SIGSTOP')
      },
      (worker: PostgresServer) => {
        worker.freeze('SIGCONT')
      },
    ],
  ] as const) {
    t.test(`A worker, ${what}, takes its own repositories along, and no others`, async (t) => {
      const { store, lines, worker, gone, there, save } = await open(t)
      await Promise.all([...gone, ...there].map(save))
      await takeAway(worker)
      const begun = performance.now()
      await Promise.all([
        ...gone.map(
          async (repository) => await t.rejects(save(repository), { message: /^the database cannot be used/ }),
        ),
        ...gone.map(async (repository) => await t.rejects(store.statuses.list(repository, commit))),
        ...there.map(save),
        ...there.map(async (repository) => t.equal((await store.statuses.list(repository, commit)).length, 1)),
      ])
      t.ok(performance.now() - begun < PATIENCE_MILLISECONDS)
      await until(() => lines.length > 0)
      t.match(lines, [
        ['a part of the database is away: what is of its repositories is refused', { what: /^the node / }],
      ])
      await t.rejects(save(gone[0]), { name: 'StoreFenced' })
      t.equal(store.unavailableReason(), undefined)
      await bringBack(worker)
      await until(() => lines.length > 1)
      t.match(lines[1], ['a part of the database is back: so many repositories were refused', { repositories: Number }])
      await Promise.all(gone.map(save))
    })
  }

  t.test('A transaction that holds one shard takes along what is on that shard alone', async (t) => {
    const { url, lines, worker, gone, save } = await open(t)
    await Promise.all(gone.map(save))
    const [shard] = await cluster.shardOf(url, String(gone[0]?.full))
    const database = new URL(url).pathname.slice(1)
    const lock = `LOCK TABLE commit_status.statuses_${shard}`
    const held = sql(
      worker.url(database),
      `SET citus.enable_manual_changes_to_shards = on; BEGIN; ${lock}; SELECT pg_sleep(600)`,
    )
    held.catch(() => undefined)
    const holders = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%LOCK TABLE%'"
    await until(async () => (await worker.sql(database, `SELECT 1 ${holders}`)).length > 0)
    await t.rejects(save(gone[0]))
    await until(() => lines.length > 0)
    t.match(lines, [[String, { what: `the shard ${shard}` }]])
    const outcomes = await Promise.allSettled(gone.map(save))
    const saved = outcomes.filter(({ status }) => status === 'fulfilled').length
    t.ok(saved > 0 && saved < gone.length, `${saved} of ${gone.length}: those on the other shard of that worker`)
    await worker.sql(database, `SELECT pg_terminate_backend(pid) ${holders}`)
    await t.rejects(held)
    await until(() => lines.length > 1)
    await Promise.all(gone.map(save))
  })

  t.test('A repository is renamed from one node to another, and back, whole', async (t) => {
    const { store, gone, there, save } = await open(t)
    const [from, to] = [gone[0], there[0]]
    if (!from || !to) throw new Error('all on one worker')
    await save(from)
    await Promise.all([store.renameRepository(from, to), store.renameRepository(to, from)])
    const all = await Promise.all([from, to].map(async (name) => await collect(store.statuses.scan(name))))
    t.equal(all.flat().length, 1)
    if (!store.contents) throw new Error('no contents')
    const exported = await collect(store.contents.pages())
    t.equal(exported.flatMap(({ statuses }) => statuses).length, 1)
  })

  t.test('The tables are spread where there is Citus, said before; left as they are when asked for', async (t) => {
    const url = await cluster.emptyDatabase('unspread')
    t.strictSame(await migrateStore(url, { plain: true }), { from: 0, to: 5 })
    t.strictSame(await sql(url, DISTRIBUTED), [])
    const store = await openStore(url)
    const name = repositoryNamed('alice/hello')
    await store.statuses.save(name, commit, reportOf('ci'), 0)
    await store.close()
    let said = 0
    const spreading = (): void => {
      said++
    }
    await Promise.all([1, 2, 3].map(async () => await migrateStore(url, { spreading })))
    t.equal(said, 1)
    t.equal((await sql(url, DISTRIBUTED)).length, 1)
    const spread = await openStore(url)
    t.equal((await spread.statuses.list(name, commit)).length, 1)
    const empty = Number(await spread.contents?.bytes())
    for (let number = 0; number < 500; number++)
      await spread.statuses.save(name, commitId(String(number)), reportOf('ci'), 0)
    t.ok(Number(await spread.contents?.bytes()) > empty, 'with what is on the workers')
    await spread.close()
    await sql(url, "SELECT undistribute_table('commit_status.statuses')")
    const back = await openStore(url)
    t.equal((await back.statuses.list(name, commit)).length, 1)
    await back.close()
  })
})
