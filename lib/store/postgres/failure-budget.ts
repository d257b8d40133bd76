import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import { clientKey } from '../../auth/client-key.js'
import type { FailureBudget } from '../../auth/failure-budget.js'
import type { Statement } from './connection.js'
import type { Database } from './database.js'
import { Lookups } from './lookups.js'

/** How often windows that are over are removed, while there are failures. */
const CLEAR_MILLISECONDS = 5 * 60 * 1000

/** A log-in waits no longer for it: there is the memory. */
const PATIENCE = { milliseconds: 1_000, statement: 1_000 }

const GET: Statement = { name: 'get-failures', text: 'SELECT key, points, expire FROM commit_status.auth_failures WHERE key = ANY ($1::text[])' }

const CLEAR: Statement = { name: 'clear-failures', text: 'DELETE FROM commit_status.auth_failures WHERE expire < $1' }

/** A budget that all instances share; while the database is away, each counts in its own memory. */
export class PostgresFailureBudget implements FailureBudget {
  readonly #limiter: RateLimiterPostgres
  readonly #limit: number
  readonly #database: Database
  readonly #lookups: Lookups<string, readonly WindowRow[]>
  #clearAt = 0

  /** @param limits as those of `MemoryFailureBudget` */
  constructor(database: Database, { limit, windowSeconds }: { limit: number; windowSeconds: number }) {
    const counting = { points: limit, duration: windowSeconds, keyPrefix: 'auth' }
    this.#limit = limit
    this.#database = database
    this.#lookups = new Lookups<string, readonly WindowRow[]>(async (keys) => {
      const rows = await database.query<WindowRow>(GET, [keys], PATIENCE)
      return (key) => rows.filter((row) => row.key === key)
    })
    this.#limiter = new RateLimiterPostgres({
      ...counting,
      storeClient: { query: async (statement: LimiterStatement) => await this.#answer(statement) },
      storeType: 'client',
      schemaName: 'commit_status',
      tableName: 'auth_failures',
      tableCreated: true,
      // Its timer would outlive the store.
      clearExpiredByTimeout: false,
      insuranceLimiter: new RateLimiterMemory(counting),
    })
  }

  async retryAfter(address: string): Promise<number> {
    const found = await this.#limiter.get(clientKey(address))
    return found && found.consumedPoints >= this.#limit ? seconds(found) : 0
  }

  async recordFailure(address: string): Promise<number> {
    const counted = await this.#limiter.penalty(clientKey(address))
    if (performance.now() >= this.#clearAt) {
      this.#clearAt = performance.now() + CLEAR_MILLISECONDS
      void this.#database.change(CLEAR, [Date.now()]).catch(() => undefined)
    }
    return counted.consumedPoints > this.#limit ? seconds(counted) : 0
  }

  /** Every request that logs in asks for its window: those go together. */
  async #answer({ name, text, values }: LimiterStatement): Promise<{ rows: object[]; rowCount: number }> {
    const [key, now] = values
    const rows = name.endsWith('rlflx-get')
      ? (await this.#lookups.get(String(key), String(key))).filter(({ expire }) => Number(expire) > Number(now))
      : await this.#database.query<object>({ name, text }, values, PATIENCE)
    return { rows, rowCount: rows.length }
  }
}

interface WindowRow {
  readonly key: string
  readonly points: number
  readonly expire: string
}

interface LimiterStatement {
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
}

function seconds({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(Math.ceil(msBeforeNext / 1000), 1)
}
