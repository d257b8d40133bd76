import { randomUUID } from 'node:crypto'
import type { Statement } from './connection.js'
import type { PostgresDatabase, RetryPolicy } from './database.js'

/** How long it is somebody's who says nothing more. */
const LEASE_MILLISECONDS = 20_000

/** What is begun under it has that long to end before somebody else may have it. */
const REST_MILLISECONDS = 15_000

/** Short: closing waits for it. */
const PATIENCE = { milliseconds: 1_000, statementMilliseconds: 1_000 } satisfies RetryPolicy

/** By the clock of the database. One that ends later than any could was made while that was wrong. */
const RENEW: Statement = {
  name: 'renew-lease',
  text: `INSERT INTO commit_status.leases (name, holder, ends_at)
VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3::bigint)
ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, ends_at = EXCLUDED.ends_at
WHERE leases.holder = EXCLUDED.holder
  OR leases.ends_at NOT BETWEEN EXCLUDED.ends_at - $3::bigint AND EXCLUDED.ends_at + $3::bigint`,
}

const RELEASE: Statement = {
  name: 'release-lease',
  text: 'DELETE FROM commit_status.leases WHERE name = $1 AND holder = $2',
}

/** What one of all instances does: the one that renews it, until it has not done so for a while. */
export class Lease {
  readonly #database: PostgresDatabase
  readonly #name: string
  readonly #holder = randomUUID()
  #endsAt = 0

  constructor(database: PostgresDatabase, name: string) {
    this.#database = database
    this.#name = name
  }

  /** Whether this instance has it, and will have for some time. */
  get isHeld(): boolean {
    return performance.now() + REST_MILLISECONDS < this.#endsAt
  }

  /** Takes or keeps it, where nobody else has it. */
  async renew(): Promise<void> {
    const begun = performance.now()
    const renewed = await this.#database.change(RENEW, [this.#name, this.#holder, LEASE_MILLISECONDS])
    this.#endsAt = renewed > 0 ? begun + LEASE_MILLISECONDS : 0
  }

  /** Gives it back, where that can be done soon. */
  async release(): Promise<void> {
    if (!this.isHeld) return
    this.#endsAt = 0
    await this.#database.change(RELEASE, [this.#name, this.#holder], PATIENCE).catch(() => undefined)
  }
}
