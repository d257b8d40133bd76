import t, { type Test } from 'tap'
import type { CommitStatus } from '../../lib/domain/commit-status.js'
import { StoreCorrupt, StoreUnavailable } from '../../lib/errors.js'
import { PostgresStore } from '../../lib/store/postgres/postgres-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'
import { collect } from '../suites/store.js'

const repository = repositoryNamed('alice/hello')
const other = repositoryNamed('alice/other')
const commit = commitId('c0ffee')

function elsewhere(context: string, at: number): CommitStatus {
  const time = new Date(at).toISOString()
  return {
    id: `id-${context}`,
    sha: commit.hex,
    context,
    state: 'failure',
    description: 'é',
    target_url: null,
    created_at: time,
    updated_at: time,
  }
}

t.test('The contents of a PostgreSQL store', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)

  async function open(t: Test, url: string): Promise<PostgresStore> {
    const store = await PostgresStore.open(url)
    t.teardown(async () => await store.close())
    return store
  }

  async function snapshots(url: string): Promise<unknown> {
    const rows = await sql(
      url,
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle " +
        "in transaction%'",
    )
    return rows[0]?.['count']
  }

  t.test('A reader that leaves early, or merges nothing, keeps no connection', async (t) => {
    const url = await server.database()
    const { contents, statuses } = await open(t, url)
    await Promise.all(
      Array.from({ length: 501 }, (_, index) => statuses.save(repository, commit, reportOf(`ci ${index}`), 0)),
    )
    for await (const page of contents.pages()) {
      t.equal(page.statuses.length, 500)
      t.equal(await snapshots(url), 1)
      break
    }
    for await (const _ of statuses.scan(repository)) break
    const merge = contents.merge(repository)
    t.equal(await merge.add([elsewhere('new', 1)], []), 1)
    await merge.discard()
    await until(async () => (await snapshots(url)) === 0)
    t.equal((await collect(statuses.scan(repository))).length, 501)
  })

  t.test('What is of no repository is named, not passed over', async (t) => {
    const url = await server.database()
    const { contents } = await open(t, url)
    await sql(
      url,
      "INSERT INTO commit_status.statuses VALUES ('x', '\\xc0ffee', 'ci', 'id', 'success', NULL, NULL, 0, 0)",
    )
    await t.rejects(collect(contents.pages()), {
      constructor: StoreCorrupt,
      message: 'a status is of "x", which is no repository',
    })
  })

  t.test(
    'A database that does not tell what it takes on disk takes 0; one that cannot be asked is unavailable',
    async (t) => {
      const url = await server.database()
      const name = new URL(url).pathname.slice(1)
      for (const [code, expected] of [
        ['42883', 0],
        ['58030', undefined],
      ] as const) {
        await sql(
          url,
          `CREATE OR REPLACE FUNCTION pg_total_relation_size(oid) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE
  EXCEPTION 'on purpose' USING ERRCODE = '${code}'; END $$;
        CREATE OR REPLACE FUNCTION pg_total_relation_size(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT
  public.pg_total_relation_size($1::oid)';
        ALTER DATABASE ${name} SET search_path = public, pg_catalog`,
        )
        const { contents } = await open(t, url)
        if (expected === undefined)
          await t.rejects(contents.bytes(), { name: 'StoreUnavailable', message: /on purpose/ })
        else t.equal(await contents.bytes(), expected)
      }
    },
  )

  t.test('A merge of many statuses, with what other instances change meanwhile', async (t) => {
    const url = await server.database()
    const one = await open(t, url)
    const two = await open(t, url)
    const names = Array.from({ length: 1200 }, (_, index) => `ci ${index}`)
    await Promise.all(
      names.slice(0, 600).map(async (context) => await one.statuses.save(repository, commit, reportOf(context), 0)),
    )
    for (const user of ['changed', 'kept', 'removed'])
      await one.grants.set({ owner: 'alice', repository, user, access: 'read' })
    const merge = one.contents.merge(repository)
    const grants = ['changed', 'kept', 'new', 'given', 'removed'].map(
      (user) => ({ owner: 'alice', repository, user, access: 'write' }) as const,
    )
    t.equal(
      await merge.add(
        names.slice(0, 700).map((context) => elsewhere(context, 1000)),
        grants,
      ),
      700,
    )
    t.equal(await merge.add([elsewhere('ci 2', 500)], []), 0, 'an earlier one of those that it has')
    await two.statuses.save(repository, commit, reportOf('ci 0'), 1)
    await two.statuses.remove(repository, commit, 'ci 1')
    await two.statuses.save(repository, commit, reportOf('ci 650'), 1)
    await two.statuses.save(repository, commit, reportOf('ci 1100'), 1)
    await two.grants.set({ owner: 'alice', repository, user: 'given', access: 'read' })
    await two.grants.remove({ owner: 'alice', repository, user: 'removed' })
    t.equal(
      await merge.add(
        names.slice(700).map((context) => elsewhere(context, 1000)),
        [],
      ),
      500,
      'as it was when it began',
    )
    await merge.commit()
    await merge.discard()
    const after = await two.statuses.list(repository, commit)
    t.equal(after.length, 1199)
    t.strictSame(
      after.filter(({ state }) => state === 'success').map(({ context }) => context),
      ['ci 0', 'ci 1100', 'ci 650'],
    )
    t.strictSame(
      after.find(({ context }) => context === 'ci 2'),
      elsewhere('ci 2', 1000),
      'id and created_at are as given',
    )
    t.strictSame(
      (await two.grants.list()).map(({ user, access }) => `${user} ${access}`),
      ['changed write', 'given read', 'kept write', 'new write'],
    )
  })

  t.test('A repository that another instance renames, deletes or merges into voids a merge', async (t) => {
    const url = await server.database()
    const one = await open(t, url)
    const two = await open(t, url)
    const second = async (): Promise<void> => {
      const merge = two.contents.merge(repository)
      await merge.add([elsewhere('theirs', 1)], [])
      await merge.commit()
      await merge.discard()
    }
    const changes = [
      async () => await two.deleteRepository(repository),
      async () => await two.renameRepository(repository, other),
      async () => await two.renameRepository(other, repository),
      second,
    ]
    for (const change of changes) {
      const merge = one.contents.merge(repository)
      await merge.add([elsewhere('ours', 1)], [])
      await change()
      await t.rejects(merge.commit(), {
        constructor: StoreUnavailable,
        message: 'alice/hello was not changed: it was renamed, deleted or merged into meanwhile',
      })
      await merge.discard()
    }
    t.match(await one.statuses.list(repository, commit), [{ context: 'theirs' }])
  })

  t.test(
    'A merge that fails half-way has put in nothing, and one that met another transaction is done again',
    async (t) => {
      for (const [code, done] of [
        ['58030', false],
        ['40001', true],
      ] as const) {
        const url = await server.database()
        const { contents, statuses, grants } = await open(t, url)
        const grant = { owner: 'alice', repository, user: 'bob', access: 'read' } as const
        await sql(
          url,
          `CREATE SEQUENCE turns;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('turns') = 1 THEN RAISE EXCEPTION
  'on purpose' USING ERRCODE = '${code}'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER fail BEFORE INSERT ON commit_status.grants FOR EACH ROW EXECUTE FUNCTION fail()`,
        )
        const merge = contents.merge(repository)
        await merge.add([elsewhere('ci', 1)], [grant])
        if (done) await merge.commit()
        else await t.rejects(merge.commit(), { name: 'StoreUnavailable', message: /on purpose/ })
        await merge.discard()
        t.strictSame(await statuses.list(repository, commit), done ? [elsewhere('ci', 1)] : [])
        t.strictSame(await grants.list(), done ? [grant] : [])
      }
    },
  )

  t.test('A merge that cannot begin says so, and makes room for another one', async (t) => {
    const url = await server.database()
    const { contents, statuses } = await open(t, url)
    await sql(url, 'ALTER TABLE commit_status.repository_changes RENAME TO gone')
    const failing = contents.merge(repository)
    await t.rejects(failing.add([], []), { name: 'StoreUnavailable', message: /repository_changes/ })
    await t.rejects(failing.commit(), StoreUnavailable)
    await failing.discard()
    await sql(url, 'ALTER TABLE commit_status.gone RENAME TO repository_changes')
    const merge = contents.merge(repository)
    await failing.discard()
    t.throws(
      () => contents.merge(repository),
      StoreUnavailable,
      'letting go of the first again lets go of nothing else',
    )
    await merge.add([elsewhere('ci', 1)], [])
    await merge.commit()
    await merge.discard()
    t.equal((await statuses.list(repository, commit)).length, 1)
    await until(async () => (await snapshots(url)) === 0)
  })
})
