// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { Forwarder } from '../fixtures/forwarder.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { fault, isLong } from './fault.js'
import { inject } from './injection.js'
import { Load } from './load.js'

// Servers and services are started for each.
if (!isLong) t.setTimeout(600_000)

/** Three services on one database, clients on all of them, and a forwarder before the server. */
interface Cluster {
  readonly server: PostgresServer
  readonly url: string
  readonly forwarder: Forwarder
  readonly load: Load
}

async function start(t: Test, settings: Record<string, string> = {}): Promise<Cluster> {
  const server = await PostgresServer.start(t, settings)
  const url = await server.database()
  const forwarder = await Forwarder.start(t, server.socket)
  const environment = {
    COMMIT_STATUS_STORE: `postgres://postgres@127.0.0.1:${forwarder.port}${new URL(url).pathname}?sslmode=disable`,
  }
  return { server, url, forwarder, load: await Load.start(t, t.testdir(), { instances: 3, environment }) }
}

fault(
  'PostgreSQL: killed and started again',
  { short: 1, long: 20 },
  async (t, times) => {
    const cluster = await start(t)
    return await inject(t, cluster.load, times, async () => {
      await cluster.server.kill('SIGKILL')
      await cluster.load.refused()
      await cluster.server.run()
    })
  },
  isMissing,
)

fault(
  'PostgreSQL: connections ended by an admin, over and over',
  { short: 3, long: 500 },
  async (t, times) => {
    const cluster = await start(t)
    const end =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> ' +
      'pg_backend_pid()'
    return await inject(t, cluster.load, times, async () => await sql(cluster.url, end))
  },
  isMissing,
)

fault(
  'PostgreSQL: connections cut, some half-way through an answer',
  { short: 3, long: 500 },
  async (t, times) => {
    const cluster = await start(t)
    return await inject(t, cluster.load, times, async () => {
      cluster.forwarder.cut(true)
      await Promise.resolve()
    })
  },
  isMissing,
)

fault(
  'PostgreSQL: serialization failures and deadlocks (40001, 40P01)',
  { short: 1, long: 30 },
  async (t, times) => {
    const cluster = await start(t)
    const raise = (code: string): string => `RAISE EXCEPTION 'on purpose' USING ERRCODE = '${code}'`
    await sql(
      cluster.url,
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF random() < 0.02 THEN ${raise('40001')}; ELSIF random() < 0.02 THEN ${raise('40P01')}; END IF; RETURN NEW; END
  $$`,
    )
    return await inject(t, cluster.load, times, async () => {
      await sql(
        cluster.url,
        'CREATE TRIGGER fail BEFORE INSERT ON commit_status.statuses FOR EACH ROW EXECUTE FUNCTION fail()',
      )
      await cluster.load.more(300)
      await sql(cluster.url, 'DROP TRIGGER fail ON commit_status.statuses')
    })
  },
  isMissing,
)

fault(
  'PostgreSQL: stands still (SIGSTOP)',
  { short: 1, long: 10 },
  async (t, times) => {
    const cluster = await start(t)
    return await inject(t, cluster.load, times, async () => {
      cluster.server.freeze('SIGSTOP')
      await cluster.load.refused()
      await setTimeout(Math.random() * 3000)
      cluster.server.freeze('SIGCONT')
    })
  },
  isMissing,
)

fault(
  'PostgreSQL: no connection left',
  { short: 1, long: 10 },
  async (t, times) => {
    const cluster = await start(t, { max_connections: '20', superuser_reserved_connections: '0' })
    const end = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()'
    return await inject(t, cluster.load, times, async () => {
      const others: pg.Client[] = []
      const take = async (): Promise<void> => {
        const client = new pg.Client(cluster.server.url('postgres'))
        client.on('error', () => undefined)
        await client.connect()
        others.push(client)
      }
      await sql(cluster.url, end).catch(() => undefined)
      for (let failures = 0; failures < 20;) await take().catch(() => failures++)
      await sql(cluster.url, end).catch(() => undefined)
      await setTimeout(500)
      await Promise.all(others.map(async (client) => await client.end()))
    })
  },
  isMissing,
)

fault(
  'PostgreSQL: primary lost, replica promoted behind the same address, the old one left up read-only',
  { short: 1, long: 10 },
  async (t, times) => {
    const cluster = await start(t)
    let primary = cluster.server
    return await inject(t, cluster.load, times, async () => {
      const replica = await primary.replica()
      await cluster.load.more(200)
      primary.freeze('SIGSTOP')
      await replica.sql('postgres', 'SELECT pg_promote()')
      cluster.forwarder.lead(replica.socket)
      await cluster.load.more(50)
      // Whoever still is connected to it must notice what it has become.
      primary.configure({ default_transaction_read_only: 'on' })
      primary.reload()
      primary.freeze('SIGCONT')
      await cluster.load.more(200)
      const gone = primary
      primary = replica
      await gone.kill('SIGQUIT')
    })
  },
  isMissing,
)
