import { StoreCorrupt } from '../../errors.js'
import type { SavedStatus, TokenRecord, TokenUse } from '../../contracts/records.js'
import type { TokenStore } from '../../contracts/store.js'
import { Schema } from '../../domain/schema.js'
import { fromStored, limitedSchema, toStored, type Limited } from '../limited-token.js'
import { batchLoader, type BatchLoader } from './batch-loader.js'
import type { Statement } from './connection.js'
import type { PostgresDatabase } from './database.js'
import type { ReportRow } from './status-rows.js'
import type { Writers } from './writers.js'

const isLimits = new Schema<Limited>(limitedSchema).is

export interface TokenRow {
  readonly id: Buffer
  readonly digest: string
  readonly user_name: Buffer
  readonly name: string
  readonly scopes: readonly string[]
  readonly created_at: string
  readonly expires_at: string | null
  /** JSON of `Limited`. */
  readonly limited: string | null
}

interface ListedRow extends TokenRow {
  readonly last_used_at: string | null
}

/** What `tokenOf` reads. */
export const COLUMNS = 'id, digest, user_name, name, scopes, created_at, expires_at, limited'
const GET: Statement = {
  name: 'get-tokens',
  text: `SELECT ${COLUMNS} FROM commit_status.tokens WHERE id = ANY ($1::bytea[])`,
}
const ORDER = 'ORDER BY user_name, created_at, id'
const LIST: Statement = {
  name: 'list-tokens',
  text: `SELECT ${COLUMNS}, last_used_at FROM commit_status.tokens ${ORDER}`,
}
const LIST_OF: Statement = {
  name: 'list-tokens-of',
  text: `SELECT ${COLUMNS}, last_used_at FROM commit_status.tokens WHERE user_name = $1 ${ORDER}`,
}
const ADD: Statement = {
  name: 'add-token',
  // Its id is new: whatever is there came from the same call.
  text: `INSERT INTO commit_status.tokens (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET digest = EXCLUDED.digest`,
}
const REMOVE: Statement = { name: 'remove-token', text: 'DELETE FROM commit_status.tokens WHERE id = $1' }
const NOTE: Statement = {
  name: 'note-uses',
  text: `UPDATE commit_status.tokens SET last_used_at = u.last_used_at
FROM unnest($1::bytea[], $2::text[]) AS u (id, last_used_at) WHERE tokens.id = u.id`,
}

/** Read from the database each time: a token that another instance has revoked opens nothing any more. */
export class PostgresTokens implements TokenStore {
  readonly #database: PostgresDatabase
  readonly #writers: Writers<ReportRow, SavedStatus>
  readonly #tokens: BatchLoader<Buffer, TokenRow | undefined>

  constructor(database: PostgresDatabase, writers: Writers<ReportRow, SavedStatus>) {
    this.#database = database
    this.#writers = writers
    this.#tokens = batchLoader(async (ids) => {
      const rows = await database.query<TokenRow>(GET, [ids])
      return (id) => rows.find((row) => row.id.equals(id))
    })
  }

  async get(id: string): Promise<TokenRecord | undefined> {
    const row = await this.#database.keepingOpen(async () => await this.#tokens.load(Buffer.from(id)))
    return row && tokenOf(row)
  }

  async add(record: TokenRecord): Promise<void> {
    const { id, digest, user, name, scopes, created_at, expires_at, limited } = toStored(record)
    const values = [Buffer.from(id), digest, Buffer.from(user), name, scopes, created_at, expires_at]
    await this.#change(ADD, [...values, limited ? JSON.stringify(limited) : null])
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#change(REMOVE, [Buffer.from(id)])) > 0
  }

  async list(user?: string): Promise<(TokenRecord & TokenUse)[]> {
    const rows =
      user === undefined
        ? await this.#database.query<ListedRow>(LIST, [])
        : await this.#database.query<ListedRow>(LIST_OF, [Buffer.from(user)])
    return rows.map((row) => ({ ...tokenOf(row), last_used_at: row.last_used_at }))
  }

  async noteUse(uses: ReadonlyMap<string, string>): Promise<void> {
    await this.#change(NOTE, [[...uses.keys()].map((id) => Buffer.from(id)), [...uses.values()]])
  }

  async #change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return await this.#writers.applyAlone([], async () => await this.#database.change(statement, values))
  }
}

/** @throws StoreCorrupt */
export function tokenOf({
  id,
  digest,
  user_name,
  name,
  scopes,
  created_at,
  expires_at,
  limited,
}: TokenRow): TokenRecord {
  const token = { id: id.toString(), digest, user: user_name.toString(), name, scopes, created_at, expires_at }
  return limited === null ? token : fromStored({ ...token, limited: limitsIn(limited, token.id) })
}

/** @throws StoreCorrupt: limits that nobody can read are not none */
function limitsIn(text: string, id: string): Limited {
  const limits: unknown = JSON.parse(text)
  if (isLimits(limits)) return limits
  throw new StoreCorrupt(`the limits of the token ${id} are damaged`)
}
