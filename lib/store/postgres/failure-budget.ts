import { clientKey } from '../../contracts/client-key.js'
import type { MaybeSync } from '../../concurrency/maybe-promise.js'
import type { FailureBudget, StoredFailureBudget, StoredLogIn } from '../../contracts/failure-budget.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { batchLoader, type BatchLoader } from './batch-loader.js'
import type { Statement } from './connection.js'
import type { PostgresDatabase, RetryPolicy } from './database.js'
import { grantedIn } from './grants.js'
import { logInLoader, type Failures, type LogInKey, type LogInRow } from './log-ins.js'
import { tokenOf } from './tokens.js'

/** How often windows that are over are removed, while there are failures. */
const CLEAR_MILLISECONDS = 5 * 60 * 1000

/** A log-in waits no longer for it: there is the memory. */
const POLICY = { milliseconds: 1_000, statementMilliseconds: 1_000 } satisfies RetryPolicy

const GET: Statement = {
  name: 'get-failures',
  text: 'SELECT client, failures, ends_at FROM commit_status.auth_failures WHERE client = ANY ($1::text[])',
}

/** Counts one more, in the window that is open or in a new one. */
const COUNT: Statement = {
  name: 'count-failure',
  text: `INSERT INTO commit_status.auth_failures (client, failures, ends_at) VALUES ($1, 1, $3)
ON CONFLICT (client) DO UPDATE SET
  failures = CASE WHEN auth_failures.ends_at <= $2 THEN 1 ELSE auth_failures.failures + 1 END,
  ends_at = CASE WHEN auth_failures.ends_at <= $2 THEN EXCLUDED.ends_at ELSE auth_failures.ends_at END
RETURNING client, failures, ends_at`,
}

const CLEAR: Statement = {
  name: 'clear-failures',
  text: 'DELETE FROM commit_status.auth_failures WHERE ends_at <= $1',
}

interface WindowRow extends Failures {
  readonly client: string
}

/** A budget that all instances share; while the database is away, each counts in its own memory. */
export class PostgresFailureBudget implements StoredFailureBudget {
  readonly #database: PostgresDatabase
  readonly #limit: number
  readonly #windowSeconds: number
  readonly #memory: MaybeSync<FailureBudget>
  /** Every request that logs in asks for its window: those go together. */
  readonly #windows: BatchLoader<string, WindowRow | undefined>
  readonly #logIns: BatchLoader<LogInKey, LogInRow | undefined>
  /** The failures that are being counted, each with its client, and how many ever were. */
  readonly #counting = new Map<Promise<number>, string>()
  #counted = 0
  #clearAt = 0

  /** @param memory counts while the database is away */
  constructor(
    database: PostgresDatabase,
    { limit, windowSeconds }: { limit: number; windowSeconds: number },
    memory: MaybeSync<FailureBudget>,
  ) {
    this.#database = database
    this.#limit = limit
    this.#windowSeconds = windowSeconds
    this.#memory = memory
    this.#windows = batchLoader(async (clients) => {
      const rows = await database.query<WindowRow>(GET, [clients], POLICY)
      return (client) => rows.find((row) => row.client === client)
    })
    this.#logIns = logInLoader(database)
  }

  async retryAfter(address: string): Promise<number> {
    try {
      return this.#secondsOf(await this.#windows.load(clientKey(address)))
    } catch {
      return await this.#memory.retryAfter(address)
    }
  }

  async logIn(address: string, tokenId: string, repositories: readonly RepositoryName[]): Promise<StoredLogIn> {
    const client = clientKey(address)
    const counted = this.#countingOf(client).length === 0 ? this.#counted : undefined
    try {
      const asked = repositories.length > 0 ? repositories : [undefined]
      const rows = await this.#database.keepingOpen(
        async () => await Promise.all(asked.map((repository) => this.#logIns.load({ client, tokenId, repository }))),
      )
      const [row] = rows
      const retryAfter = this.#secondsOf(row)
      return {
        retryAfter,
        ...(retryAfter === 0 && row?.id && { token: tokenOf(row) }),
        granted: repositories.map((repository, index) => ({ repository, grants: grantedIn(rows[index]) })),
        latest: () => (counted === this.#counted ? retryAfter : this.#latest(address)),
      }
    } catch (error) {
      // As `retryAfter`: without the database, who has failed too often is refused all the same.
      const retryAfter = await this.#memory.retryAfter(address)
      if (retryAfter > 0) return { retryAfter, granted: [], latest: () => retryAfter }
      throw error
    }
  }

  async recordFailure(address: string): Promise<number> {
    const counting = this.#count(address)
    this.#counted++
    this.#counting.set(counting, clientKey(address))
    try {
      return await counting
    } finally {
      this.#counting.delete(counting)
    }
  }

  #countingOf(client: string): Promise<number>[] {
    return [...this.#counting].filter(([, failed]) => failed === client).map(([counting]) => counting)
  }

  /** With every failure that is being counted here. */
  async #latest(address: string): Promise<number> {
    await Promise.allSettled(this.#countingOf(clientKey(address)))
    return await this.retryAfter(address)
  }

  async #count(address: string): Promise<number> {
    const now = Date.now()
    try {
      const values = [clientKey(address), now, now + this.#windowSeconds * 1000]
      const [window] = await this.#database.query<WindowRow>(COUNT, values, POLICY)
      this.#clear(now)
      return window && window.failures > this.#limit ? Math.max(secondsLeft(window), 1) : 0
    } catch {
      return await this.#memory.recordFailure(address)
    }
  }

  #secondsOf(row: Failures | LogInRow | undefined): number {
    return row?.ends_at && row.failures >= this.#limit ? secondsLeft(row) : 0
  }

  #clear(now: number): void {
    if (performance.now() < this.#clearAt) return
    this.#clearAt = performance.now() + CLEAR_MILLISECONDS
    void this.#database.change(CLEAR, [now]).catch(() => undefined)
  }
}

/** 0 for a window that has ended. */
function secondsLeft({ ends_at }: Failures): number {
  return Math.max(Math.ceil((Number(ends_at) - Date.now()) / 1000), 0)
}
