import t, { type Test } from 'tap'
import type { WholeStore } from '../../lib/contracts/store.js'
import type { ObjectId } from '../../lib/domain/object-id.js'
import type { RepositoryName } from '../../lib/domain/repository-name.js'
import { migrateStore, openStore } from '../../lib/embedding/open-store.js'
import { CitusCluster, isCitusMissing, standIns } from '../fixtures/citus.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, newDatabase, PostgresServer, sql } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'

const [one, two, three] = [repositoryNamed('alice/hello'), repositoryNamed('bob/hello'), repositoryNamed('carol/hello')]
const [first, second, third] = [commitId('c0ffee'), commitId('beef'), commitId('cafe')]
const lists = [one, two, three].flatMap((repository) =>
  [first, second, third].map((commit) => ({ repository, commit })),
)

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `ci/${String(n).padStart(4, '0')}`)

t.test('Lists of several repositories, asked for at once where they are on several shards', async (t) => {
  t.test('with stand-ins for Citus', { skip: isMissing }, async (t) => {
    const server = await PostgresServer.start(t)
    const template = await server.emptyDatabase()
    await standIns(template)
    await migrateStore(template)
    listSuite(t, async () => await newDatabase(template))
    t.test('Where they are not answered together each is asked for alone', async (t) => {
      const url = await newDatabase(template)
      const { save, sent } = await open(t, url)
      await save(one, first, ['ci'])
      const held = sql(url, 'BEGIN; LOCK TABLE commit_status.statuses; SELECT pg_sleep(600)')
      const holder = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'BEGIN; LOCK%'"
      await until(async () => (await sql(url, `SELECT 1 ${holder}`)).length > 0)
      const found = Promise.all([sent(one, first), sent(two, first)])
      const alone = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT c.at,%'"
      await until(async () => (await sql(url, alone)).length === 2)
      await Promise.all([t.rejects(held), sql(url, `SELECT pg_terminate_backend(pid) ${holder}`)])
      t.strictSame(await found, [['ci'], []])
    })
  })
  t.test('on Citus', { skip: isCitusMissing }, async (t) => {
    const cluster = await CitusCluster.start(t)
    listSuite(t, async () => await cluster.database())
  })
})

function listSuite(t: Test, database: () => Promise<string>): void {
  t.test(
    'Each is what it is alone: small, large, empty, cached, changed, and of a fork with the same commits',
    async (t) => {
      const { store, save, all } = await open(t, await database())
      await save(one, first, ['b', 'a'])
      await save(two, first, ['c'])
      await save(two, second, numbered(101))
      await save(three, second, numbered(100))
      const before = [['a', 'b'], [], [], ['c'], numbered(101), [], [], numbered(100), []]
      t.strictSame(await all(), before)
      t.strictSame(await all(), before, 'once more, as they are cached')
      await save(one, third, ['new'])
      await save(three, second, ['ci/more'])
      await store.statuses.remove(one, first, undefined)
      const after = [[], [], ['new'], ['c'], numbered(101), [], [], [...numbered(100), 'ci/more'], []]
      t.strictSame(await all(), after)
    },
  )

  t.test('Forks may have large lists of commits that are asked for in others', async (t) => {
    const { save, sent } = await open(t, await database())
    await save(one, first, numbered(100))
    await save(two, second, numbered(100))
    await save(one, second, numbered(150))
    await save(two, first, numbered(150))
    const found = await Promise.all([sent(one, first), sent(two, second)])
    t.strictSame(found, [numbered(100), numbered(100)])
  })
}

async function open(t: Test, url: string) {
  const store: WholeStore = await openStore(url)
  t.teardown(async () => await store.close())
  const sent = async (repository: RepositoryName, commit: ObjectId): Promise<string[]> => {
    const list = await store.statuses.serialised(repository, commit)
    const { statuses } = JSON.parse(Buffer.concat(await collect(list.chunks())).toString()) as {
      statuses: { context: string }[]
    }
    return statuses.map(({ context }) => context).toSorted()
  }
  return {
    store,
    sent,
    all: async () => await Promise.all(lists.map(async ({ repository, commit }) => await sent(repository, commit))),
    async save(repository: RepositoryName, commit: ObjectId, contexts: readonly string[]): Promise<void> {
      await Promise.all(
        contexts.map(async (context) => await store.statuses.save(repository, commit, reportOf(context), 0)),
      )
    },
  }
}
