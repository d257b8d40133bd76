import { setTimeout } from 'node:timers/promises'
import { StoreUnavailable } from '../../errors.js'
import { silentLogger } from '../../contracts/logger.js'
import type { Connection } from './connection.js'
import { DatabaseFailure } from './database-failure.js'
import { PostgresDatabase, type RetryPolicy } from './database.js'
import { distribute } from './distribution.js'

/**
 * What makes each version of the schema out of the one before it, in statements that PostgreSQL, CockroachDB,
 * YugabyteDB and Citus share and that may be repeated. What is looked up or ordered is `bytea`, so that its order is
 * that of the bytes whatever the database's language: UTF-8, but for `sha`, the raw id. A status has `owner/repo/` in
 * `repository`, as LevelDB's keys begin. Times are milliseconds since 1970.
 */
const VERSIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE IF NOT EXISTS commit_status.statuses (
      repository bytea NOT NULL,
      sha bytea NOT NULL,
      context bytea NOT NULL,
      id text NOT NULL,
      state text NOT NULL CHECK (state IN ('pending', 'success', 'failure', 'error')),
      description text,
      target_url text,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      previous_state text,
      previous_description text,
      previous_target_url text,
      previous_updated_at bigint,
      PRIMARY KEY (repository, sha, context)
    )`,
    `CREATE TABLE IF NOT EXISTS commit_status.tokens (
      id bytea PRIMARY KEY,
      digest text NOT NULL,
      user_name bytea NOT NULL,
      name text NOT NULL,
      scopes text[] NOT NULL,
      created_at text NOT NULL,
      expires_at text,
      last_used_at text
    )`,
    `CREATE TABLE IF NOT EXISTS commit_status.grants (
      owner bytea NOT NULL,
      repository bytea NOT NULL,
      user_name bytea NOT NULL,
      access text NOT NULL CHECK (access IN ('read', 'write')),
      PRIMARY KEY (owner, repository, user_name)
    )`,
    `CREATE TABLE IF NOT EXISTS commit_status.auth_failures (
      client text PRIMARY KEY,
      failures integer NOT NULL,
      ends_at bigint NOT NULL
    )`,
    // Where instances see whether a write goes through: a row is written over and over.
    `CREATE TABLE IF NOT EXISTS commit_status.probes (
      slot integer PRIMARY KEY,
      written_at bigint NOT NULL
    )`,
    // What instances lock so that they do something one after the other.
    `CREATE TABLE IF NOT EXISTS commit_status.locks (name text PRIMARY KEY)`,
    `INSERT INTO commit_status.locks (name) VALUES ('contexts') ON CONFLICT (name) DO NOTHING`,
    // When all that a repository has was changed last, by any instance: a value of its own each time.
    `CREATE TABLE IF NOT EXISTS commit_status.repository_changes (
      repository bytea PRIMARY KEY,
      change text NOT NULL
    )`,
  ],
  [
    // Who reported: nobody knows of what was saved before.
    'ALTER TABLE commit_status.statuses ADD COLUMN IF NOT EXISTS reporter_user bytea',
    'ALTER TABLE commit_status.statuses ADD COLUMN IF NOT EXISTS reporter_token text',
    'ALTER TABLE commit_status.statuses ADD COLUMN IF NOT EXISTS previous_reporter_user bytea',
    'ALTER TABLE commit_status.statuses ADD COLUMN IF NOT EXISTS previous_reporter_token text',
    // JSON: scopes and limits of a limited token, whose `scopes` are empty.
    'ALTER TABLE commit_status.tokens ADD COLUMN IF NOT EXISTS limited text',
  ],
  [
    // Nobody knows of what was saved before.
    'ALTER TABLE commit_status.statuses ADD COLUMN IF NOT EXISTS pending_since bigint',
    'ALTER TABLE commit_status.statuses ADD COLUMN IF NOT EXISTS previous_pending_since bigint',
  ],
  [
    // Links that sign people in, and their sessions: SHA-256 of what opens them.
    `CREATE TABLE IF NOT EXISTS commit_status.sign_ins (
      digest bytea PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('link', 'session')),
      user_name bytea NOT NULL,
      ends_at bigint NOT NULL
    )`,
  ],
  [
    // On what a hook is, `target`, and the rest of it as JSON.
    `CREATE TABLE IF NOT EXISTS commit_status.hooks (
      id text PRIMARY KEY,
      target bytea NOT NULL,
      record text NOT NULL
    )`,
    // What waits to be told: with the statuses, so that it is there if and only if its status is.
    `CREATE TABLE IF NOT EXISTS commit_status.outbox (
      repository bytea NOT NULL,
      hook text NOT NULL,
      subject bytea NOT NULL,
      delivery text NOT NULL,
      since bigint NOT NULL,
      from_state text,
      PRIMARY KEY (repository, hook, subject)
    )`,
    'CREATE INDEX IF NOT EXISTS outbox_since ON commit_status.outbox (hook, since)',
    // The branches that a hook was told are broken.
    `CREATE TABLE IF NOT EXISTS commit_status.broken_branches (
      repository bytea NOT NULL,
      hook text NOT NULL,
      branches text[] NOT NULL,
      PRIMARY KEY (repository, hook)
    )`,
    // What one of all instances does, for as long as it says so.
    `CREATE TABLE IF NOT EXISTS commit_status.leases (
      name text PRIMARY KEY,
      holder text NOT NULL,
      ends_at bigint NOT NULL
    )`,
  ],
]

/** The version that this program works with. */
const VERSION = VERSIONS.length

const FIRST = [
  'CREATE SCHEMA IF NOT EXISTS commit_status',
  'CREATE TABLE IF NOT EXISTS commit_status.schema_version (id integer PRIMARY KEY, version integer NOT NULL)',
  'INSERT INTO commit_status.schema_version (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING',
]

const READ = 'SELECT version FROM commit_status.schema_version WHERE id = 1'

/** What PostgreSQL says to one of two who make the same thing at once, in spite of `IF NOT EXISTS`. */
const MADE_BY_ANOTHER = /^(?:23505|42P06|42P07|42710|XX000|40001|40P01)$/

const ATTEMPTS = 50
const PAUSE_MILLISECONDS = 100

/** How long making or changing tables may take. */
const PATIENCE = { milliseconds: 600_000, statementMilliseconds: 600_000 } satisfies RetryPolicy

export interface Migration {
  /** Leaves the statuses on one server also where the database has Citus. */
  readonly plain?: boolean
  /** Is called before the statuses are spread over the nodes of Citus, which takes long where there are many. */
  readonly spreading?: () => void
}

/**
 * Makes the tables, or changes them to this program's version: all of a version or nothing, also when several do it
 * at once. Where the database has Citus, the statuses are spread over its nodes.
 * @throws StoreUnavailable when they are of a later version, or cannot be made
 */
export async function migrate(
  url: string,
  { plain = false, spreading = () => undefined }: Migration = {},
): Promise<{ from: number; to: number }> {
  const database = new PostgresDatabase(url, silentLogger)
  try {
    await checkEncoding(database)
    await makeFirst(database)
    let from = VERSION
    await inTransaction(database, async (connection) => {
      // Held until the end: whoever comes second finds everything done.
      from = versionOf(await connection.query<VersionRow>({ name: 'lock-version', text: `${READ} FOR UPDATE` }, []))
      refuseLater(from)
      for (const statements of VERSIONS.slice(from))
        for (const statement of statements) await connection.command(statement)
      await connection.change(
        { name: 'set-version', text: 'UPDATE commit_status.schema_version SET version = $1 WHERE id = 1' },
        [VERSION],
      )
      await distribute(connection, plain, spreading)
    })
    return { from, to: VERSION }
  } finally {
    await database.close()
  }
}

/** @throws StoreUnavailable when the tables are not of the version that this program works with */
export async function checkVersion(database: PostgresDatabase): Promise<void> {
  const version = await database.run(async (connection) => {
    return versionOf(await connection.query<VersionRow>({ name: 'version', text: READ }, []).catch(noneIfMissing))
  })
  refuseLater(version)
  if (version < VERSION) {
    const tables =
      version === 0
        ? 'the database has no tables for this service'
        : `the tables in the database are of version ${version}, and this program works with version ${VERSION}`
    throw new StoreUnavailable(`${tables}: run node_modules/.bin/commit-status store migrate, with the same store`)
  }
}

interface VersionRow {
  readonly version: number
}

/** 0: nothing has been made. */
function versionOf(rows: readonly VersionRow[]): number {
  return rows.reduce((_, { version }) => version, 0)
}

function refuseLater(version: number): void {
  if (version > VERSION) {
    throw new StoreUnavailable(
      `the tables in the database are of version ${version}, and this program knows those up to version ${VERSION}: ` +
        `start a later version of commit-status`,
    )
  }
}

/** No such schema or table. */
function noneIfMissing(error: unknown): [] {
  if (/^(?:3F000|42P01)$/.test(stateOf(error))) return []
  throw error
}

/** The SQLSTATE of a failure or of its cause. */
function stateOf(error: unknown): string {
  const failure = error instanceof StoreUnavailable ? error.cause : error
  return String(failure instanceof DatabaseFailure && failure.state)
}

async function checkEncoding(database: PostgresDatabase): Promise<void> {
  const rows = await database.query<{ encoding: string }>(
    { name: 'encoding', text: "SELECT current_setting('server_encoding') AS encoding" },
    [],
  )
  const others = rows.map(({ encoding }) => encoding).filter((encoding) => !/^utf-?8$/i.test(encoding))
  if (others.length > 0)
    throw new StoreUnavailable(`the database keeps texts as ${others.join()}: it must be made with the encoding UTF8`)
}

/** Runs statements that may wait long for the locks of others: all of them or none. */
async function inTransaction(
  database: PostgresDatabase,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  await database.run(async (connection) => {
    await connection.command('BEGIN')
    // The server has a time-out too: the connection's, or its own where a pooler drops that.
    await connection.command(`SET LOCAL statement_timeout = ${PATIENCE.statementMilliseconds}`)
    await work(connection)
    await connection.command('COMMIT')
  }, PATIENCE)
}

async function makeFirst(database: PostgresDatabase): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      for (const statement of FIRST)
        await inTransaction(database, async (connection) => await connection.command(statement))
      return
    } catch (error) {
      if (!MADE_BY_ANOTHER.test(stateOf(error)) || attempt === ATTEMPTS) throw error
      await setTimeout(PAUSE_MILLISECONDS * Math.random())
    }
  }
}
