import type { HookRecord, HookStore } from '../../contracts/hooks.js'
import { hookExtras, hookMembers, recordSchema } from '../../contracts/records.js'
import { Schema } from '../../domain/schema.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { StoreCorrupt } from '../../errors.js'
import type { Connection, Statement } from './connection.js'
import type { PostgresDatabase } from './database.js'
import { PostgresOutbox } from './outbox.js'
import { ALL_HOOKS, bumpVersion } from './repository-versions.js'

interface HookRow {
  readonly id: string
  /** `on` of the hook. */
  readonly target: Buffer
  /** The rest of it, as JSON. */
  readonly record: string
}

const isHook = new Schema<HookRecord>(recordSchema(hookMembers, hookExtras)).is

const TABLE = 'commit_status.hooks'
const LIST: Statement = { name: 'list-hooks', text: `SELECT id, target, record FROM ${TABLE} ORDER BY id` }
const GET: Statement = { name: 'get-hook', text: `SELECT id, target, record FROM ${TABLE} WHERE id = $1` }
const ADD: Statement = {
  name: 'add-hook',
  // Its id is new: whatever is there came from the same call.
  text: `INSERT INTO ${TABLE} (id, target, record) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET target = EXCLUDED.target, record = EXCLUDED.record`,
}
const REPLACE: Statement = {
  name: 'replace-hook',
  text: `UPDATE ${TABLE} SET target = $4, record = $5 WHERE id = $1 AND target = $2 AND record = $3`,
}
const REMOVE: Statement = { name: 'remove-hook', text: `DELETE FROM ${TABLE} WHERE id = $1` }
const MOVE: Statement = { name: 'move-hooks', text: `UPDATE ${TABLE} SET target = $2 WHERE target = $1` }
const REMOVE_ON: Statement = { name: 'remove-hooks-on', text: `DELETE FROM ${TABLE} WHERE target = $1 RETURNING id` }

/** Hooks, read from the database each time but for what is noted with reports. */
export class PostgresHooks implements HookStore {
  readonly outbox: PostgresOutbox
  readonly #database: PostgresDatabase

  /** @param statuses where these are, and what waits */
  constructor(database: PostgresDatabase, statuses: PostgresDatabase) {
    this.#database = database
    this.outbox = new PostgresOutbox(database, statuses, async () => await this.list())
  }

  async list(): Promise<HookRecord[]> {
    const hooks = (await this.#database.query<HookRow>(LIST, [])).map(fromRow)
    return hooks.sort((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at))
  }

  async get(id: string): Promise<HookRecord | undefined> {
    const row = await this.#row(id)
    return row && fromRow(row)
  }

  async add(hook: HookRecord): Promise<void> {
    // What may have been noted for one with its id while that was removed.
    await this.outbox.drop(hook.id)
    await this.#change(ADD, [hook.id, ...toRow(hook)])
  }

  async update(id: string, change: (hook: HookRecord) => HookRecord): Promise<HookRecord | undefined> {
    for (;;) {
      const row = await this.#row(id)
      if (!row) return undefined
      const before = fromRow(row)
      const hook = change(before)
      const values = [id, row.target, row.record, ...toRow(hook)]
      const changed =
        whatFor(hook) === whatFor(before)
          ? await this.#database.change(REPLACE, values, { once: true })
          : await this.#change(REPLACE, values)
      // Else somebody else has changed it meanwhile.
      if (changed > 0) return hook
    }
  }

  async remove(id: string): Promise<boolean> {
    const isThere = (await this.#change(REMOVE, [id])) > 0
    await this.outbox.drop(id)
    return isThere
  }

  /** Changes hooks so that every instance learns of it with its next report. */
  async #change(statement: Statement, values: readonly unknown[]): Promise<number> {
    let changed = 0
    await this.#database.transaction(async (connection) => {
      changed = await connection.change(statement, values)
      if (changed > 0) await bumpVersion(connection, ALL_HOOKS)
    })
    await this.outbox.changed()
    return changed
  }

  async #row(id: string): Promise<HookRow | undefined> {
    const [row] = await this.#database.query<HookRow>(GET, [id])
    return row
  }
}

/** Moves the hooks on a repository to another name, in place of those there. @returns the ids of these */
export async function moveHooks(connection: Connection, from: RepositoryName, to: RepositoryName): Promise<string[]> {
  const removed = await connection.query<Pick<HookRow, 'id'>>(REMOVE_ON, [Buffer.from(to.full)])
  const moved = await connection.change(MOVE, [Buffer.from(from.full), Buffer.from(to.full)])
  if (removed.length + moved > 0) await bumpVersion(connection, ALL_HOOKS)
  return removed.map(({ id }) => id)
}

/** Removes the hooks on a repository. */
export async function removeHooks(connection: Connection, { full }: RepositoryName): Promise<void> {
  const removed = await connection.change(REMOVE_ON, [Buffer.from(full)])
  if (removed > 0) await bumpVersion(connection, ALL_HOOKS)
}

/** What reports a hook is for: what `HookIndex` asks. */
function whatFor({ on, events, contexts, states, state }: HookRecord): string {
  return JSON.stringify([on, events, contexts, states, state === 'stopped'])
}

function toRow({ on, ...rest }: HookRecord): [target: Buffer, record: string] {
  return [Buffer.from(on), JSON.stringify(rest)]
}

/** @throws StoreCorrupt */
function fromRow({ id, target, record }: HookRow): HookRecord {
  const hook: unknown = Object.assign({}, JSON.parse(record), { on: target.toString() })
  if (isHook(hook)) return hook
  throw new StoreCorrupt(`the hook ${id} is damaged`)
}
