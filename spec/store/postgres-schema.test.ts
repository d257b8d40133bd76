import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { migrateStore, openStore } from '../../lib/embedding/open-store.js'
import { StoreUnavailable } from '../../lib/errors.js'
import { collect } from '../suites/store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { codeBlocks, pageText } from '../fixtures/page.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'

/** What the changelog says to run before an earlier program is started again. */
const [WAY_BACK = ''] = codeBlocks(pageText('CHANGELOG.md'), 'sql')

t.test('The tables of the PostgreSQL store', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)

  t.test('Without tables a store does not open, and says what to do', async (t) => {
    const url = await server.emptyDatabase()
    await t.rejects(openStore(url), {
      name: 'StoreUnavailable',
      message:
        'the database has no tables for this service: run ' +
        'node_modules/.bin/commit-status store migrate, with the same store',
    })
    t.strictSame(await migrateStore(url), { from: 0, to: 5 })
    const store = await openStore(url)
    await store.close()
  })

  t.test('Ten that make the tables at once all succeed, and so does another one later', async (t) => {
    const url = await server.emptyDatabase()
    const migrated = await Promise.all(Array.from({ length: 10 }, async () => await migrateStore(url)))
    t.strictSame(new Set(migrated.map((versions) => versions?.to)), new Set([5]))
    t.equal(migrated.filter((versions) => versions?.from === 0).length, 1, 'one of them makes them')
    t.strictSame(await migrateStore(url), { from: 5, to: 5 })
  })

  t.test('What an earlier attempt left half done is completed', async (t) => {
    const url = await server.emptyDatabase()
    await sql(url, 'CREATE SCHEMA commit_status')
    await t.rejects(openStore(url), { message: /no tables for this service/ })
    await sql(url, 'CREATE TABLE commit_status.schema_version (id integer PRIMARY KEY, version integer NOT NULL)')
    await t.rejects(openStore(url), { message: /no tables for this service/ })
    t.strictSame(await migrateStore(url), { from: 0, to: 5 })
  })

  t.test('Whoever meets another one in the middle of it waits, and goes on', async (t) => {
    const url = await server.emptyDatabase()
    const other = new pg.Client(url)
    await other.connect()
    await other.query('BEGIN; CREATE SCHEMA commit_status')
    const migrating = migrateStore(url)
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    await until(async () => (await sql(url, waiting)).length > 0)
    await other.query('COMMIT')
    await other.end()
    t.strictSame(await migrating, { from: 0, to: 5 })
  })

  t.test('Whoever holds a lock for long is waited for', async (t) => {
    // Longer than any other statement may take: here, and by the server's own time-out.
    const HELD_MILLISECONDS = 8_000
    const locks = [
      'SELECT version FROM commit_status.schema_version WHERE id = 1 FOR UPDATE',
      'LOCK TABLE commit_status.schema_version IN ACCESS EXCLUSIVE MODE',
      'LOCK TABLE commit_status.statuses IN ACCESS SHARE MODE',
    ]
    const held = locks.map(async (lock) => {
      const url = await server.database()
      await sql(url, WAY_BACK)
      const other = new pg.Client(url)
      await other.connect()
      await other.query(`BEGIN; ${lock}`)
      const migrating = migrateStore(url)
      t.equal(await Promise.race([setTimeout(HELD_MILLISECONDS, 'it waits'), migrating]), 'it waits', lock)
      await other.query('COMMIT')
      await other.end()
      t.strictSame(await migrating, { from: 1, to: 5 }, lock)
    })
    await Promise.all(held)
  })

  t.test('Something else under the name of our tables is not touched', async (t) => {
    const url = await server.emptyDatabase()
    await sql(
      url,
      'CREATE SCHEMA commit_status; CREATE TABLE commit_status.schema_version (id integer PRIMARY KEY, number integer)',
    )
    await t.rejects(openStore(url), { name: 'StoreUnavailable', message: /column "version" does not exist, 42703$/ })
    await t.rejects(migrateStore(url), { name: 'StoreUnavailable', message: /42703$/ })
  })

  t.test('Tables of an earlier version are refused, and brought up to date', async (t) => {
    const url = await server.database()
    await sql(url, 'UPDATE commit_status.schema_version SET version = -1')
    await t.rejects(openStore(url), {
      message:
        'the tables in the database are of version -1, and this program works with version 5: run ' +
        'node_modules/.bin/commit-status store migrate, with the same store',
    })
  })

  t.test(
    'Tables of version 1 keep what is in them; nobody knows who reported that, or since when it was pending',
    async (t) => {
      const url = await server.database()
      // As the changelog says to go back.
      await sql(url, WAY_BACK)
      await t.rejects(openStore(url), { message: /are of version 1, and this program works with version 5/ })
      await sql(
        url,
        'INSERT INTO commit_status.statuses (repository, sha, context, id, state, created_at, updated_at) VALUES ' +
          "('a/b/', decode(repeat('0a', 20), 'hex'), 'ci', '1', 'success', 0, 0)",
      )
      await sql(
        url,
        'INSERT INTO commit_status.tokens (id, digest, user_name, name, scopes, created_at) VALUES ' +
          "('0a', 'd', 'alice', '', '{repo}', '2026-01-31T12:00:00.000Z')",
      )
      t.strictSame(await migrateStore(url), { from: 1, to: 5 })
      const store = await openStore(url)
      t.teardown(async () => await store.close())
      const [status] = await collect(store.statuses.scan(repositoryNamed('a/b')))
      t.match(status, { context: 'ci', state: 'success' })
      t.notOk(status && ('reporter' in status || 'pending_since' in status))
      t.match(await store.tokens.get('0a'), { user: 'alice', scopes: ['repo'] })
      const limited = { id: '0b', digest: 'd', user: 'alice', name: '', scopes: ['repo'], contexts: ['x'] }
      await store.tokens.add({ ...limited, created_at: '2026-01-31T12:00:00.000Z', expires_at: null })
      t.strictSame(
        await sql(url, "SELECT scopes FROM commit_status.tokens WHERE id = '0b'"),
        [{ scopes: [] }],
        'for a program from before limits it has no scope',
      )
      await sql(url, "UPDATE commit_status.tokens SET limited = '{}' WHERE id = '0b'")
      await t.rejects(async () => await store.tokens.get('0b'), {
        name: 'StoreCorrupt',
        message: 'the limits of the token 0b are damaged',
      })
    },
  )

  t.test('Tables of version 2 are brought on, and keep who reported', async (t) => {
    const url = await server.database()
    // As version 2 had them.
    await sql(
      url,
      'ALTER TABLE commit_status.statuses DROP COLUMN pending_since, DROP COLUMN previous_pending_since; ' +
        'UPDATE commit_status.schema_version SET version = 2',
    )
    await t.rejects(openStore(url), { message: /are of version 2, and this program works with version 5/ })
    await sql(
      url,
      'INSERT INTO commit_status.statuses ' +
        '(repository, sha, context, id, state, created_at, updated_at, reporter_user) VALUES ' +
        "('a/b/', decode(repeat('0a', 20), 'hex'), 'ci', '1', 'pending', 0, 0, 'ci')",
    )
    t.strictSame(await migrateStore(url), { from: 2, to: 5 })
    const store = await openStore(url)
    t.teardown(async () => await store.close())
    const name = repositoryNamed('a/b')
    const [status] = await collect(store.statuses.scan(name))
    t.match(status, { state: 'pending', reporter: { user: 'ci', token: null } })
    t.notOk(status && 'pending_since' in status)
    const saved = await store.statuses.save(name, commitId('0a'.repeat(20)), reportOf('ci', { state: 'pending' }), 1)
    t.equal(saved.status.pending_since, '1970-01-01T00:00:00.001Z')
  })

  t.test('An older program refuses tables of a later version, and does not touch them', async (t) => {
    const url = await server.database()
    await sql(url, 'UPDATE commit_status.schema_version SET version = 6')
    const refusal = {
      name: 'StoreUnavailable',
      message:
        'the tables in the database are of version 6, and this program knows those up to version 5: start a later ' +
        'version of commit-status',
    }
    await t.rejects(openStore(url), refusal)
    await t.rejects(migrateStore(url), refusal)
    t.strictSame(await sql(url, 'SELECT version FROM commit_status.schema_version'), [{ version: 6 }])
  })

  t.test('A database that cannot keep every text is refused', async (t) => {
    await server.sql('postgres', "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'")
    await t.rejects(migrateStore(server.url('latin')), {
      name: 'StoreUnavailable',
      message: 'the database keeps texts as LATIN1: it must be made with the encoding UTF8',
    })
  })

  t.test(
    'A database that is not there, or where nothing may be made, is told with its reason and without the password',
    async (t) => {
      const missing = server.url('missing').replace('postgres@', 'postgres:secret@')
      await t.rejects(openStore(missing), {
        name: 'StoreUnavailable',
        message: 'the database cannot be used: database "missing" does not exist, 3D000',
      })
      const url = await server.emptyDatabase()
      await server.sql('postgres', 'CREATE ROLE reader LOGIN')
      const error = await migrateStore(url.replace('postgres@', 'reader:secret@')).catch((error: unknown) => error)
      t.ok(error instanceof StoreUnavailable)
      t.match(error, { message: /^the database cannot be used: permission denied for database .*, 42501$/ })
      t.notMatch(JSON.stringify(error), 'secret')
      const store = await openStore(await server.database())
      await store.close()
    },
  )

  t.test('The tables keep no state or right that there is not', async (t) => {
    const url = await server.database()
    const insert =
      'INSERT INTO commit_status.statuses (repository, sha, context, id, state, created_at, updated_at) VALUES ' +
      "('a/b', '1', 'c', 'i', 'done', 0, 0)"
    await t.rejects(sql(url, insert), { code: '23514' })
    await t.rejects(
      sql(url, "INSERT INTO commit_status.grants (owner, repository, user_name, access) VALUES ('a', '', 'b', 'none')"),
      { code: '23514' },
    )
  })
})
