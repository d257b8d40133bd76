import type { SavedStatus, TokenRecord, TokenStore, TokenUse } from '../store.js'
import type { Statement } from './connection.js'
import type { Database } from './database.js'
import { Lookups } from './lookups.js'
import type { ReportRow } from './statuses.js'
import type { Writer } from './writer.js'

interface TokenRow {
  readonly id: Buffer
  readonly digest: string
  readonly user_name: Buffer
  readonly name: string
  readonly scopes: readonly string[]
  readonly created_at: string
  readonly expires_at: string | null
  readonly last_used_at: string | null
}

const COLUMNS = 'id, digest, user_name, name, scopes, created_at, expires_at'
const GET: Statement = { name: 'get-tokens', text: `SELECT ${COLUMNS} FROM commit_status.tokens WHERE id = ANY ($1::bytea[])` }
const ORDER = 'ORDER BY user_name, created_at, id'
const LIST: Statement = { name: 'list-tokens', text: `SELECT ${COLUMNS}, last_used_at FROM commit_status.tokens ${ORDER}` }
const LIST_OF: Statement = { name: 'list-tokens-of', text: `SELECT ${COLUMNS}, last_used_at FROM commit_status.tokens WHERE user_name = $1 ${ORDER}` }
const ADD: Statement = {
  name: 'add-token',
  // Its id is new: whatever is there came from the same call.
  text: `INSERT INTO commit_status.tokens (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET digest = EXCLUDED.digest`,
}
const REMOVE: Statement = { name: 'remove-token', text: 'DELETE FROM commit_status.tokens WHERE id = $1' }
const NOTE: Statement = {
  name: 'note-uses',
  text: 'UPDATE commit_status.tokens SET last_used_at = u.last_used_at FROM unnest($1::bytea[], $2::text[]) AS u (id, last_used_at) WHERE tokens.id = u.id',
}

/** Read from the database each time: a token that another instance has revoked opens nothing any more. */
export class PostgresTokens implements TokenStore {
  readonly #database: Database
  readonly #writer: Writer<ReportRow, SavedStatus>
  readonly #lookups: Lookups<Buffer, TokenRow | undefined>

  constructor(database: Database, writer: Writer<ReportRow, SavedStatus>) {
    this.#database = database
    this.#writer = writer
    this.#lookups = new Lookups(async (ids) => {
      const rows = await database.query<TokenRow>(GET, [ids])
      return (id) => rows.find((row) => row.id.equals(id))
    })
  }

  async get(id: string): Promise<TokenRecord | undefined> {
    const row = await this.#database.held(async () => await this.#lookups.get(id, Buffer.from(id)))
    return row && fromRow(row)
  }

  async add({ id, digest, user, name, scopes, created_at, expires_at }: TokenRecord): Promise<void> {
    await this.#change(ADD, [Buffer.from(id), digest, Buffer.from(user), name, scopes, created_at, expires_at])
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#change(REMOVE, [Buffer.from(id)])) > 0
  }

  async list(user?: string): Promise<(TokenRecord & TokenUse)[]> {
    const rows = user === undefined ? await this.#database.query<TokenRow>(LIST, []) : await this.#database.query<TokenRow>(LIST_OF, [Buffer.from(user)])
    return rows.map((row) => ({ ...fromRow(row), last_used_at: row.last_used_at }))
  }

  async noteUse(uses: ReadonlyMap<string, string>): Promise<void> {
    await this.#change(NOTE, [[...uses.keys()].map((id) => Buffer.from(id)), [...uses.values()]])
  }

  async #change(statement: Statement, values: readonly unknown[]): Promise<number> {
    return await this.#writer.applyAlone(async () => await this.#database.change(statement, values))
  }
}

function fromRow({ id, digest, user_name, name, scopes, created_at, expires_at }: TokenRow): TokenRecord {
  return { id: id.toString(), digest, user: user_name.toString(), name, scopes, created_at, expires_at }
}
