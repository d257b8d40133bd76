import t, { type Test } from 'tap'
import { migrateStore, openStore } from '../../lib/embedding/open-store.js'
import type { Logger } from '../../lib/contracts/logger.js'
import { noopMeter } from '../../lib/contracts/meter.js'
import { standIns } from '../fixtures/citus.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, newDatabase, PostgresServer, sql } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'

const [here, there] = [repositoryNamed('alice/hello'), repositoryNamed('bob/hello')]
const commit = commitId('c0ffee')
const empty = { repository: there, commit: commitId('beef') }
const away = { name: 'StoreFenced', message: 'the database cannot be used: the node one:5432 is away' }

t.test('A part of the database that is away', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const template = await server.emptyDatabase()
  await standIns(template)
  await migrateStore(template)
  await sql(
    template,
    `CREATE TRIGGER break BEFORE INSERT ON commit_status.statuses FOR EACH ROW EXECUTE FUNCTION break();
    CREATE TRIGGER break_all BEFORE DELETE ON commit_status.statuses FOR EACH STATEMENT EXECUTE FUNCTION break()`,
  )

  async function open(t: Test) {
    const url = await newDatabase(template)
    const lines: [string, object][] = []
    const line = (facts: object, message: string): void => void lines.push([message, facts])
    const logger: Logger = { debug: () => undefined, info: line, warn: line, error: line }
    let refused = 0
    const store = await openStore(url, logger, { ...noopMeter, repositoryRefused: () => refused++ })
    t.teardown(async () => await store.close())
    return {
      ...{ url, store, lines },
      refused: () => refused,
      saves: async (repository = here) => await store.statuses.save(repository, commit, reportOf('ci'), 0),
      breaks: async (ofNode: boolean) => {
        await sql(url, "INSERT INTO broken VALUES ('on purpose')")
        if (ofNode) await sql(url, "UPDATE node_answers SET answers = false WHERE nodename = 'one'")
      },
      heals: async () => await sql(url, 'UPDATE node_answers SET answers = true; DELETE FROM broken'),
    }
  }

  t.test('A node that is away takes its own repositories along, and no others; it comes back by itself', async (t) => {
    const { store, lines, refused, saves, breaks, heals } = await open(t)
    await saves()
    await breaks(true)
    const failed = { name: 'StoreUnavailable', message: /the remote node failed, 08006$/ }
    await Promise.all([here, repositoryNamed('anna/hello')].map(async (name) => await t.rejects(saves(name), failed)))
    await until(() => lines.length === 1)
    for (let repeat = 0; repeat < 2; repeat++) await t.rejects(saves(), away, 'refused at once')
    await t.rejects(store.statuses.list(here, commit), away, 'a list too')
    await t.rejects(collect(store.statuses.scan(here)), away)
    await t.rejects(store.renameRepository(there, here), away)
    t.equal((await saves(there)).status.context, 'ci')
    t.equal((await store.statuses.list(there, commit)).length, 1)
    const asked = [...[here, there].map((repository) => ({ repository, commit })), empty]
    t.match(await store.statuses.digests?.(asked), [undefined, /^[0-9a-f]{40}$/, ''])
    t.equal(store.unavailableReason(), undefined)
    t.equal(refused(), 1, 'each is counted once')
    await heals()
    await until(() => lines.length === 2)
    t.equal((await saves()).previous?.context, 'ci')
    const what = 'the node one:5432'
    t.match(lines, [
      ['a part of the database is away: what is of its repositories is refused', { what }],
      ['a part of the database is back: so many repositories were refused', { what, ms: Number, repositories: 1 }],
    ])
  })

  t.test('Of what nobody knows the place, it is tried', async (t) => {
    const { url, lines, saves, breaks } = await open(t)
    await breaks(true)
    await t.rejects(saves())
    await until(() => lines.length === 1)
    await sql(url, 'DELETE FROM pg_dist_placement')
    t.equal((await saves(there)).status.context, 'ci')
  })

  t.test('A store that is closed looks for nothing any more', async (t) => {
    const { url, store, lines, saves, breaks } = await open(t)
    await sql(
      url,
      `CREATE OR REPLACE FUNCTION pg_catalog.citus_check_connection_to_node(text, int) RETURNS boolean LANGUAGE sql AS
        $$ SELECT true FROM pg_sleep(0.5) $$`,
    )
    await breaks(false)
    await t.rejects(saves())
    const looking = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT citus_check%'"
    await until(async () => (await sql(url, looking)).length === 1)
    await store.close()
    t.strictSame(lines, [])
  })

  t.test('While the coordinator is away itself, no part of it is', async (t) => {
    const { url, store, lines, saves } = await open(t)
    await sql(url, 'ALTER FUNCTION pg_catalog.get_shard_id_for_distribution_column(regclass, bytea) RENAME TO gone')
    await sql(url, "INSERT INTO broken VALUES ('on purpose'); ALTER TABLE commit_status.probes RENAME TO gone")
    await t.rejects(saves())
    await until(() => store.unavailableReason() !== undefined)
    t.match(store.unavailableReason(), /relation "commit_status.probes" does not exist/)
    await t.rejects(saves(), { name: 'StoreFenced' })
    await sql(url, 'DELETE FROM broken; ALTER TABLE commit_status.gone RENAME TO probes')
    await until(() => store.unavailableReason() === undefined)
    await saves()
    t.strictSame(
      lines.map(([message]) => message),
      ['the database takes no writes: reports are refused', 'the database takes writes again'],
    )
  })

  t.test('A shard that is held is away alone, while its node answers', async (t) => {
    const { lines, saves, breaks, heals } = await open(t)
    await breaks(false)
    await t.rejects(saves())
    await until(() => lines.length === 1)
    await t.rejects(saves(), { name: 'StoreFenced', message: 'the database cannot be used: the shard 1 is away' })
    await heals()
    await until(() => lines.length === 2)
    await saves()
  })

  t.test('What fails for other reasons makes nothing away', async (t) => {
    const { url, store, lines, saves, breaks, heals } = await open(t)
    await sql(url, 'DROP TRIGGER break_all ON commit_status.statuses')
    await breaks(false)
    await t.rejects(saves())
    const touched = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'DELETE FROM commit_status.statuses WHERE%'"
    await until(async () => (await sql(url, touched)).length === 1)
    await t.rejects(saves(), { name: 'StoreUnavailable' }, 'it is tried each time')
    await heals()
    await saves()
    t.strictSame([lines, store.unavailableReason()], [[], undefined])
  })

  t.test('A rename that a node has not heard the end of is no success', async (t) => {
    const { url, store, lines, saves } = await open(t)
    await saves()
    await sql(
      url,
      `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE WARNING 'failed to commit transaction on one:5432'; RETURN NEW; END $$;
      CREATE CONSTRAINT TRIGGER warn AFTER INSERT OR UPDATE ON commit_status.repository_changes
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warn()`,
    )
    const message = 'the database cannot be used: not on every node: failed to commit transaction on one:5432'
    await t.rejects(store.renameRepository(here, there), { name: 'StoreUnavailable', message })
    await saves()
    t.strictSame(lines, [], 'of both nodes is known that they answer')
  })

  t.test('A node that may not have heard of a commit stays away until it has', async (t) => {
    const { url, lines, saves, breaks, heals } = await open(t)
    await breaks(true)
    await t.rejects(saves())
    await until(() => lines.length === 1)
    await sql(url, "INSERT INTO pg_dist_transaction VALUES (1, 'unfinished'), (2, 'of another')")
    const looks = async (): Promise<number> => Number((await sql(url, 'SELECT last_value AS n FROM looks'))[0]?.['n'])
    const looked = async (times: number): Promise<void> => {
      const before = await looks()
      await until(async () => (await looks()) >= before + times)
    }
    await looked(1)
    await heals()
    await looked(2)
    await t.rejects(saves(), away)
    await sql(url, 'DELETE FROM pg_dist_transaction WHERE groupid = 1')
    await until(() => lines.length === 2)
    await saves()
  })
})
