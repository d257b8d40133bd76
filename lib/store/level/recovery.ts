import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Logger } from '../../contracts/logger.js'
import type { LevelDatabase } from './database.js'
import { assertFreeSpace } from './disk-space.js'

/** Pauses between attempts: the first, doubled each time up to the longest. */
const FIRST_PAUSE_MILLISECONDS = 50
const LONGEST_PAUSE_MILLISECONDS = 5_000

/** After a recovery that held for less than this, the next one goes on with the pauses where that one ended. */
const HELD_MILLISECONDS = 30_000

/** How much a fresh log must take before it is believed. */
const PROOF_BYTES = 64 * 1024

/**
 * Brings a database back after a write that failed. LevelDB would go on after it, into a log whose tail it cannot
 * recover, or refuse every write for good; so it is closed and opened again, and believed once a write has succeeded
 * on the fresh log.
 */
export class Recovery {
  readonly #database: LevelDatabase
  readonly #logger: Logger
  #pause = FIRST_PAUSE_MILLISECONDS
  #recoveredAt = -Infinity

  constructor(database: LevelDatabase, logger: Logger) {
    this.#database = database
    this.#logger = logger
  }

  /**
   * Tries until it succeeds, or until `signal` says to stop.
   * @returns whether the database takes writes again. Never rejects.
   */
  async run(signal: AbortSignal): Promise<boolean> {
    if (performance.now() - this.#recoveredAt > HELD_MILLISECONDS) this.#pause = FIRST_PAUSE_MILLISECONDS
    while (await paused(this.#pause, signal)) {
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MILLISECONDS)
      try {
        await this.#attempt()
        this.#recoveredAt = performance.now()
        return true
      } catch (error) {
        this.#logger.error({ store: this.#database.folder, err: error }, 'the store does not accept writes yet')
      }
    }
    return false
  }

  async #attempt(): Promise<void> {
    // While the disk is full, the database that is open still answers what is read; one that is closed could not be
    // opened.
    await assertFreeSpace(this.#database.folder)
    await this.#database.reopen()
    // Of which nothing is left.
    const [key, value] = ['!proof!', randomBytes(PROOF_BYTES / 2).toString('hex')]
    await this.#database.write([
      { type: 'put', key, value },
      { type: 'del', key },
    ])
  }
}

async function paused(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return await setTimeout(milliseconds, true, { signal }).catch(() => false)
}
