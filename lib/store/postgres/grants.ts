import type { Grant, GrantKey, SavedStatus } from '../../contracts/records.js'
import type { GrantStore } from '../../contracts/store.js'
import { parseStoredName, type RepositoryName } from '../../domain/repository-name.js'
import { batchLoader, type BatchLoader } from './batch-loader.js'
import type { Connection, Statement } from './connection.js'
import type { PostgresDatabase, Snapshot } from './database.js'
import type { ReportRow } from './status-rows.js'
import type { Writers } from './writers.js'

interface GrantRow {
  readonly owner: Buffer
  /** Empty: all repositories of the owner. */
  readonly repository: Buffer
  readonly user_name: Buffer
  readonly access: Grant['access']
}

const TABLE = 'commit_status.grants'
const COLUMNS = 'owner, repository, user_name, access'
const ORDER = 'ORDER BY owner, repository, user_name'
const OF: Statement = {
  name: 'grants-of',
  text: `SELECT ${COLUMNS} FROM ${TABLE} WHERE owner = ANY ($1::bytea[])
AND repository = ANY ($2::bytea[] || ''::bytea) AND user_name = ANY ($3::bytea[])`,
}

/** What grants give a user on a repository: on all of the owner's, and on it alone. */
export interface GrantedRow {
  readonly owner_access: Grant['access'] | null
  readonly repository_access: Grant['access'] | null
}

/**
 * The columns of a `GrantedRow`: each grant is looked up by its whole key, however many others an owner has made.
 * @param user an expression, as are the owner and the name of a repository in `asked`, which may be null
 */
export function grantedTo(user: string): string {
  const on = (repository: string): string =>
    `(SELECT access FROM ${TABLE} WHERE owner = asked.owner AND repository = ${repository} AND user_name = ${user})`
  return `${on("''::bytea")} AS owner_access, ${on('asked.repository')} AS repository_access`
}

const LIST: Statement = { name: 'list-grants', text: `SELECT ${COLUMNS} FROM ${TABLE} ${ORDER}` }
const LIST_OWNER: Statement = {
  name: 'list-grants-of-owner',
  text: `SELECT ${COLUMNS} FROM ${TABLE} WHERE owner = $1 ${ORDER}`,
}
const LIST_REPOSITORY: Statement = {
  name: 'list-grants-of-repository',
  text: `SELECT ${COLUMNS} FROM ${TABLE} WHERE owner = $1 AND repository = $2 ${ORDER}`,
}
const SET: Statement = {
  name: 'set-grant',
  text: `INSERT INTO ${TABLE} (${COLUMNS}) VALUES ($1, $2, $3, $4)
ON CONFLICT (owner, repository, user_name) DO UPDATE SET access = EXCLUDED.access`,
}
const REMOVE: Statement = {
  name: 'remove-grant',
  text: `DELETE FROM ${TABLE} WHERE owner = $1 AND repository = $2 AND user_name = $3`,
}
const REMOVE_ALL: Statement = {
  name: 'remove-grants',
  text: `DELETE FROM ${TABLE} WHERE owner = $1 AND repository = $2`,
}
const MERGE: Statement = {
  name: 'merge-grant',
  text: `INSERT INTO ${TABLE} (${COLUMNS}) VALUES ($1, $2, $3, $4)
ON CONFLICT (owner, repository, user_name) DO NOTHING`,
}
const REPLACE: Statement = {
  name: 'replace-grant',
  text: `UPDATE ${TABLE} SET access = $4 WHERE owner = $1 AND repository = $2 AND user_name = $3
AND access = $5`,
}
const COPY: Statement = {
  name: 'copy-grants',
  text: `INSERT INTO ${TABLE} (${COLUMNS}) SELECT $3::bytea, $4::bytea, user_name, access FROM ${TABLE}
WHERE owner = $1 AND repository = $2`,
}

/** Read from the database each time: what another instance has taken back gives nothing any more. */
export class PostgresGrants implements GrantStore {
  readonly #database: PostgresDatabase
  readonly #writers: Writers<ReportRow, SavedStatus>
  readonly #grants: BatchLoader<Required<GrantKey>, readonly Grant[]>

  constructor(database: PostgresDatabase, writers: Writers<ReportRow, SavedStatus>) {
    this.#database = database
    this.#writers = writers
    this.#grants = batchLoader(async (keys) => {
      const grants = await this.#of(keys)
      return (key) => grants.filter((grant) => isOf(key, grant))
    })
  }

  async of(user: string, repository: RepositoryName): Promise<readonly Grant[]> {
    return await this.#database.keepingOpen(
      async () => await this.#grants.load({ owner: repository.owner, repository, user }),
    )
  }

  async set(grant: Grant): Promise<void> {
    await this.#change(SET, [...keyOf(grant), grant.access])
  }

  async remove(key: GrantKey): Promise<boolean> {
    return (await this.#change(REMOVE, keyOf(key))) > 0
  }

  async list(owner?: string, repository?: RepositoryName): Promise<Grant[]> {
    const [statement, values] = repository
      ? [LIST_REPOSITORY, placeOf(repository)]
      : owner === undefined
        ? [LIST, []]
        : [LIST_OWNER, [Buffer.from(owner)]]
    return (await this.#database.query<GrantRow>(statement, values)).map(fromRow)
  }

  /** Reads the grants of several; those of one on what another asks about are found too. */
  async #of(keys: readonly Required<GrantKey>[]): Promise<Grant[]> {
    const parts = keys.map(keyOf)
    const rows = await this.#database.query<GrantRow>(
      OF,
      [0, 1, 2].map((part) => parts.map((key) => key[part])),
    )
    return rows.map(fromRow)
  }

  async #change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return await this.#writers.applyAlone([], async () => await this.#database.change(statement, values))
  }
}

/** Moves every grant on a repository to another name, in place of the grants there. */
export async function moveGrants(connection: Connection, from: RepositoryName, to: RepositoryName): Promise<void> {
  await removeGrants(connection, to)
  await connection.change(COPY, [...placeOf(from), ...placeOf(to)])
  await removeGrants(connection, from)
}

/** The grants on a repository alone. */
export async function grantsOn(snapshot: Snapshot, repository: RepositoryName): Promise<Grant[]> {
  return (await snapshot.query<GrantRow>(LIST_REPOSITORY, placeOf(repository))).map(fromRow)
}

/** Puts grants on one repository in place of those that users had there, where these are still as they were. */
export async function mergeGrants(
  connection: Connection,
  grants: readonly Grant[],
  before: readonly Grant[],
): Promise<void> {
  const known = new Map(before.map(({ user, access }) => [user, access]))
  for (const grant of grants) {
    const access = known.get(grant.user)
    if (access === undefined) await connection.change(MERGE, [...keyOf(grant), grant.access])
    else await connection.change(REPLACE, [...keyOf(grant), grant.access, access])
  }
}

export async function removeGrants(connection: Connection, name: RepositoryName): Promise<void> {
  await connection.change(REMOVE_ALL, placeOf(name))
}

/** The grants of a row. */
export function grantedIn(row: GrantedRow | undefined): Pick<Grant, 'access'>[] {
  return [row?.owner_access, row?.repository_access].flatMap((access) => (access ? [{ access }] : []))
}

function isOf(key: Required<GrantKey>, { owner, repository, user }: Grant): boolean {
  return (
    owner === key.owner && user === key.user && (repository === undefined || repository.full === key.repository.full)
  )
}

/** Owners and names of repositories, as columns; null where there is none. */
export function placesOf(
  keys: readonly { readonly repository: RepositoryName | undefined }[],
): readonly (readonly (Buffer | null)[])[] {
  return (['owner', 'name'] as const).map((part) =>
    keys.map(({ repository }) => (repository ? Buffer.from(repository[part]) : null)),
  )
}

function placeOf({ owner, name }: RepositoryName): Buffer[] {
  return [Buffer.from(owner), Buffer.from(name)]
}

function keyOf({ owner, repository, user }: GrantKey): Buffer[] {
  return [Buffer.from(owner), Buffer.from(repository?.name ?? ''), Buffer.from(user)]
}

function fromRow({ owner, repository, user_name, access }: GrantRow): Grant {
  const name = parseStoredName(`${owner.toString()}/${repository.toString()}`)
  return { owner: owner.toString(), ...(name && { repository: name }), user: user_name.toString(), access }
}
