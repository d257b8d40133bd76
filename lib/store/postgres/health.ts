import { errorMessage } from '../../errors.js'
import type { Logger } from '../../contracts/logger.js'
import type { Meter } from '../../contracts/meter.js'
import type { PostgresDatabase, RetryPolicy } from './database.js'

/** How often it is looked whether writes go through, while nothing else is written. */
const INTERVAL_MILLISECONDS = 1_000

/** Rows that instances write; two that share one only wait for each other. */
const SLOTS = 1_000

const PROBE = {
  name: 'probe',
  text: `INSERT INTO commit_status.probes (slot, written_at) VALUES ($1, $2) ON CONFLICT (slot) DO UPDATE SET
  written_at = EXCLUDED.written_at`,
}

/** Short, so that a failure is known soon. */
const PATIENCE = { milliseconds: 2_000, statementMilliseconds: 2_000 } satisfies RetryPolicy

/** Knows whether the database takes writes: by those that are made, and by one of its own when there are none. */
export class Health {
  readonly #database: PostgresDatabase
  readonly #statuses: PostgresDatabase
  readonly #logger: Logger
  readonly #meter: Meter
  readonly #slot = Math.floor(Math.random() * SLOTS)
  readonly #timer: NodeJS.Timeout
  #unavailableReason: string | undefined
  #since = 0
  #written = true
  #probing = false

  /** @param statuses the same database, or the same over other connections */
  constructor(database: PostgresDatabase, statuses: PostgresDatabase, logger: Logger, meter: Meter) {
    this.#database = database
    this.#statuses = statuses
    this.#logger = logger
    this.#meter = meter
    this.#timer = setInterval(() => void this.#probe(), INTERVAL_MILLISECONDS).unref()
  }

  /** Why no write goes through at the moment. */
  get unavailableReason(): string | undefined {
    return this.#unavailableReason
  }

  /** To be called when a write has gone through. */
  written(): void {
    this.#written = true
    if (this.#unavailableReason === undefined) return
    this.#unavailableReason = undefined
    this.#setFailFast(false)
    this.#logger.warn({ ms: Math.round(performance.now() - this.#since) }, 'the database takes writes again')
  }

  /** To be called when a write has failed in spite of all patience. */
  failed(error: unknown): void {
    if (this.#unavailableReason === undefined) {
      this.#since = performance.now()
      this.#meter.storeFenced()
      this.#logger.error({ reason: errorMessage(error) }, 'the database takes no writes: reports are refused')
    }
    this.#unavailableReason = errorMessage(error)
    this.#setFailFast(true)
  }

  /** Looks now: something has failed that may have other reasons. */
  look(): void {
    this.#written = false
    void this.#probe()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #setFailFast(failFast: boolean): void {
    for (const database of [this.#database, this.#statuses]) database.failFast = failFast
  }

  async #probe(): Promise<void> {
    if (this.#written && this.#unavailableReason === undefined) {
      this.#written = false
      return
    }
    if (this.#probing) return
    this.#probing = true
    try {
      await this.#database.change(PROBE, [this.#slot, Date.now()], PATIENCE)
      this.written()
    } catch (error) {
      if (!this.#database.isClosed) this.failed(error)
    }
    this.#probing = false
  }
}
