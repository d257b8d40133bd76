import pg from 'pg'
import t from 'tap'
import { openStore } from '../../lib/embedding/open-store.js'
import { toApiStatus } from '../../lib/domain/commit-status.js'
import { serialisedList, toText, SerialisedList, type SentList } from '../../lib/domain/status-list.js'
import { LISTS } from '../../lib/store/postgres/list-statements.js'
import { PostgresStore } from '../../lib/store/postgres/postgres-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { collect } from '../suites/store.js'

t.test('Lists that are asked for together', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)

  t.test('Each gets its own statuses, in their order, of its own repository', async (t) => {
    const { statuses, close } = await openStore(await server.database()).then((store) => ({
      statuses: store.statuses,
      close: async () => await store.close(),
    }))
    t.teardown(close)
    const names = ['alice/hello', 'bob/hello'].map((name) => repositoryNamed(name))
    const commits = ['a', 'b', 'c'].map((digits) => commitId(digits))
    for (const name of names)
      for (const commit of commits.slice(0, 2))
        for (const context of ['b', 'é', 'a'])
          await statuses.save(name, commit, reportOf(context, { description: `${name.full} ${commit.hex}` }), 0)
    const asked = names.flatMap((name) => commits.map(async (commit) => await statuses.list(name, commit)))
    const found = (await Promise.all(asked)).map((list) =>
      list.map(({ sha, context, description }) => [sha, context, description]),
    )
    const expected = names.flatMap((name) =>
      commits.map((commit, index) =>
        index === 2 ? [] : ['a', 'b', 'é'].map((context) => [commit.hex, context, `${name.full} ${commit.hex}`]),
      ),
    )
    t.strictSame(found, expected)
  })

  t.test(
    'One that is too large for the memory is read in parts, as it was; a few at a time, others later',
    async (t) => {
      const url = await server.database()
      const store = await openStore(url)
      t.teardown(async () => await store.close())
      const [name, commit] = [repositoryNamed('alice/hello'), commitId('c0ffee')]
      await sql(
        url,
        `INSERT INTO commit_status.statuses (repository, sha, context, id, state, description, created_at, updated_at)
      SELECT 'alice/hello/', decode($1, 'hex'), convert_to('ci ' || n, 'UTF8'), 'id', 'success', repeat('x', 1000), 0, 0
  FROM generate_series(1, 600) AS n`,
        [commit.hex],
      )
      const short = commitId('beef')
      const copy = `INSERT INTO commit_status.statuses (repository, sha, context, id, state, created_at, updated_at)
      SELECT repository, decode($1, 'hex'), context, id, state, 0, 0 FROM commit_status.statuses`
      await sql(url, copy, [short.hex])
      const held = serialisedList((await store.statuses.list(name, short)).map(toText))
      t.strictSame(await store.statuses.serialised(name, short), held, 'one that has as many, and is not')
      const whole = serialisedList((await store.statuses.list(name, commit)).map(toText))
      const large = async (): Promise<SentList> => {
        const list = await store.statuses.serialised(name, commit)
        if (list.bytes) throw new Error('it is not large')
        return list
      }
      const open = await Promise.all(Array.from({ length: 8 }, large))
      await t.rejects(large(), { name: 'StoreOverloaded' })
      await store.statuses.save(name, commit, reportOf('later'), 0)
      const [first, ...others] = open
      if (!first) return
      t.ok(Buffer.concat(await collect(first.chunks())).equals(whole.bytes))
      t.strictSame([first.length, first.digest, first.summary], [whole.bytes.length, whole.digest, whole.summary])
      await first.close()
      const later = await large()
      t.equal(later.summary.statuses, 601)
      for (const each of [later, ...others]) await each.close()
    },
  )

  t.test('A list in memory is sent while PostgreSQL has the same, and no longer', async (t) => {
    const url = await server.database()
    const [store, other] = [await PostgresStore.open(url), await PostgresStore.open(url)]
    const [name, commit] = [repositoryNamed('alice/hello'), commitId('c0ffee')]
    t.teardown(async () => {
      await store.close()
      await other.close()
    })
    const serialised = async (): Promise<SerialisedList> => {
      const list = await store.statuses.serialised(name, commit)
      if (!(list instanceof SerialisedList)) throw new Error('it is large')
      return list
    }
    const empty = await serialised()
    t.equal(await serialised(), empty)
    const reports = [
      reportOf('ci'),
      reportOf('ci', { state: 'failure' }),
      reportOf('ci', { state: 'failure', description: '' }),
      // What texts hold is not taken for what stands between them.
      reportOf('ci', { state: 'failure', description: 'x,1ty' }),
      reportOf('ci', { state: 'failure', description: 'x', target_url: 'https://y' }),
      reportOf('ci', { state: 'failure', description: 'x,9thttps://y' }),
      reportOf('ci', { state: 'failure', reporter: { user: 'alice', token: null } }),
      reportOf('ci', { state: 'failure', reporter: { user: 'bob', token: null } }),
      reportOf('ci,x'),
    ]
    const seen = new Set([empty])
    for (const report of reports) {
      await other.statuses.save(name, commit, report, 0)
      const list = await serialised()
      t.notOk(seen.has(list))
      seen.add(list)
      t.strictSame(JSON.parse(list.bytes.toString()), {
        ...(JSON.parse(list.bytes.toString()) as object),
        statuses: (await other.statuses.list(name, commit)).map(toApiStatus),
      })
      t.equal(await serialised(), list, 'it is not read again')
    }
    await other.statuses.remove(name, commit, 'ci,x')
    t.match((await serialised()).reporters.users, ['bob'])
    await other.deleteRepository(name)
    t.strictSame((await serialised()).bytes, empty.bytes)
  })

  t.test('Each is looked up by its key, whatever PostgreSQL thinks of the size of repositories', async (t) => {
    const url = await server.database()
    const fill = (
      repository: string,
      commits: number,
      times: string,
    ): string => `INSERT INTO commit_status.statuses (repository, sha, context, id, state, created_at, updated_at)
      SELECT convert_to(${repository}, 'UTF8'), decode(md5(c::text) || '00000000', 'hex'), 'ci', 'id', 'success', 0, 0
  FROM ${times} generate_series(1, ${commits}) AS c`
    await sql(url, fill("'bob/r' || r || '/'", 3, 'generate_series(1, 20000) AS r,'))
    await sql(url, fill("'alice/large/'", 20_000, ''))
    await sql(url, 'ANALYZE commit_status.statuses')
    const client = new pg.Client({ connectionString: url })
    t.teardown(async () => await client.end())
    await client.connect()
    // As PostgreSQL may do with what it has carried out a few times.
    await client.query('SET plan_cache_mode = force_generic_plan')
    await client.query(`PREPARE lists (text, text, text, bigint) AS ${LISTS.text}`)
    const asked = "'alice/large/,alice/large/', '00,01', ',known'"
    const { rows } = await client.query(`EXPLAIN (COSTS OFF) EXECUTE lists (${asked}, 101)`)
    const text = JSON.stringify(rows)
    const byKey = /Index Cond: \(\(repository = convert_to\(c\.in_repository, .*?\) AND \(sha = decode\(c\.commit, /
    t.match(text, byKey, text)
    // The one filter is whether the digest is known, which is looked at once for a list.
    t.notMatch(text.replace('Filter: (d.digest IS DISTINCT FROM c.known)', ''), /Filter|Seq Scan on statuses/)
  })
})
