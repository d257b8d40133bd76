// A process of its own: what it does to processes reaches no other spec.
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import { CitusCluster, isCitusMissing } from '../fixtures/citus.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import type { PostgresServer } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'
import { fault, isLong } from './fault.js'
import { inject } from './injection.js'
import { Load } from './load.js'

// Servers and services are started for each.
if (!isLong) t.setTimeout(600_000)

/** Two services on a coordinator and two workers, with repositories on both. */
interface Cluster {
  readonly cluster: CitusCluster
  readonly url: string
  readonly load: Load
  /** One worker, then the other, and so on. */
  readonly next: () => PostgresServer
}

/** As config/README.md has it: a transaction that a worker has not heard the end of is over soon. */
const SETTINGS = { 'citus.recover_2pc_interval': '1s' }

const REPOSITORIES = 6

async function start(t: Test): Promise<Cluster> {
  const cluster = await CitusCluster.start(t, SETTINGS)
  const url = await cluster.database()
  const workers = new Set<PostgresServer>()
  for (let number = 1; number <= REPOSITORIES; number++)
    workers.add(await cluster.workerOf(url, `alice/repo-${number}`))
  t.equal(workers.size, cluster.workers.length, 'repositories are on every worker')
  const load = await Load.start(t, t.testdir(), {
    ...{ instances: 2, repositories: REPOSITORIES, commits: 3 },
    environment: { COMMIT_STATUS_STORE: url },
  })
  let turn = 0
  const next = (): PostgresServer => {
    const [worker] = cluster.workers.slice(turn++ % cluster.workers.length)
    if (!worker) throw new Error('no worker')
    return worker
  }
  return { cluster, url, load, next }
}

/** What is on other nodes goes on, and each service is well. */
async function othersGoOn(t: Test, load: Load): Promise<void> {
  await load.refused()
  await load.more(50)
  t.equal((await load.health()).status, 200)
}

fault(
  'Citus: a worker killed and started again',
  { short: 2, long: 20 },
  async (t, times) => {
    const { load, next } = await start(t)
    return await inject(t, load, times, async () => {
      const worker = next()
      await worker.kill('SIGKILL')
      await othersGoOn(t, load)
      await worker.run()
    })
  },
  isCitusMissing,
)

fault(
  'Citus: the coordinator killed and started again',
  { short: 1, long: 20 },
  async (t, times) => {
    const { cluster, load } = await start(t)
    return await inject(t, load, times, async () => {
      await cluster.coordinator.kill('SIGKILL')
      await load.refused()
      await cluster.coordinator.run()
    })
  },
  isCitusMissing,
)

fault(
  'Citus: a node added, the shards rebalanced; drained, and removed',
  { short: 1, long: 5 },
  async (t, times) => {
    const { cluster, url, load } = await start(t)
    const name = new URL(url).pathname.slice(1)
    const worker = await cluster.newWorker(name)
    const place = [worker.host, worker.port]
    const administrator = new pg.Client(url)
    await administrator.connect()
    t.teardown(async () => {
      await administrator.end()
    })
    const shards = async (): Promise<number> =>
      (await administrator.query('SELECT 1 FROM citus_shards WHERE nodename = $1', [worker.host])).rows.length
    /** Removes what moved shards have left where they were, once nobody reads it any more. */
    const cleanUp = async (): Promise<boolean> => {
      await administrator.query('CALL citus_cleanup_orphaned_resources()')
      return (await administrator.query('SELECT 1 FROM pg_dist_cleanup')).rows.length === 0
    }
    return await inject(t, load, times, async () => {
      await administrator.query('SELECT citus_add_node($1, $2)', place)
      await administrator.query('SELECT rebalance_table_shards()')
      t.ok((await shards()) > 0, 'the new node has some')
      await load.everywhere()
      await administrator.query('SELECT citus_drain_node($1, $2)', place)
      await until(cleanUp)
      await administrator.query('SELECT citus_remove_node($1, $2)', place)
    })
  },
  isCitusMissing,
)

fault(
  'Citus: a worker killed while a repository is renamed from it to another, or to it',
  { short: 2, long: 30 },
  async (t, times) => {
    const { cluster, url, load, next } = await start(t)
    const store = await openStore(url)
    t.teardown(async () => await store.close())
    const names = await cluster.onEachWorker(url)
    let [at, other] = names.map((name) => repositoryNamed(name))
    if (!at || !other) throw new Error('all on one worker')
    const contexts = Array.from({ length: 300 }, (_, number) => `check ${number}`)
    const commit = commitId('c0ffee')
    for (const context of contexts) await store.statuses.save(at, commit, reportOf(context), 0)
    return await inject(t, load, times, async () => {
      const [from, to] = [at, other]
      if (!from || !to) throw new Error('all on one worker')
      const worker = next()
      const renamed = store.renameRepository(from, to).then(
        () => true,
        () => false,
      )
      await setTimeout(Math.random() * 60)
      await worker.kill('SIGKILL')
      const isDone = await renamed
      await worker.run()
      await load.everywhere()
      await until(
        async () =>
          await Promise.all([from, to].map(async (name) => await store.statuses.list(name, commit))).then(
            () => true,
            () => false,
          ),
      )
      const there = await Promise.all(
        [from, to].map(async (name) => (await collect(store.statuses.scan(name))).map(({ context }) => context)),
      )
      const [left = [], moved = []] = there
      t.strictSame([...left, ...moved].sort(), [...contexts].sort(), 'nothing is lost or doubled')
      t.ok(left.length === 0 || (moved.length === 0 && !isDone), 'all of it or nothing was renamed')
      if (left.length === 0) [at, other] = [to, from]
    })
  },
  isCitusMissing,
)

fault(
  'Citus: a long transaction that holds a shard',
  { short: 1, long: 10 },
  async (t, times) => {
    const { cluster, url, load } = await start(t)
    const name = new URL(url).pathname.slice(1)
    const [shard, worker] = await cluster.shardOf(url, 'alice/repo-1')
    return await inject(t, load, times, async () => {
      const holder = new pg.Client(worker.url(name))
      await holder.connect()
      await holder.query('SET citus.enable_manual_changes_to_shards = on')
      await holder.query('BEGIN')
      await holder.query(`LOCK TABLE commit_status.statuses_${shard}`)
      await othersGoOn(t, load)
      await holder.end()
    })
  },
  isCitusMissing,
)
