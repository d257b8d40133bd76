import { silentLogger, type Logger } from '../../logger.js'
import type { RepositoryName } from '../../repository-name.js'
import type { Store } from '../store.js'
import { Database } from './database.js'
import { LevelGrants } from './grants.js'
import { LevelStatuses } from './statuses.js'
import { LevelTokens } from './tokens.js'
import { Writer } from './writer.js'

/** A store in one LevelDB folder. */
export class LevelStore implements Store {
  readonly statuses: LevelStatuses
  readonly tokens: LevelTokens
  readonly grants: LevelGrants
  readonly #database: Database
  readonly #writer: Writer

  private constructor(database: Database, logger: Logger) {
    this.#database = database
    this.#writer = new Writer(database, logger)
    this.statuses = new LevelStatuses(database, this.#writer)
    this.tokens = new LevelTokens(database, this.#writer)
    this.grants = new LevelGrants(database, this.#writer)
  }

  /**
   * Opens the store of a folder, which is made when it is missing.
   * @throws StoreLocked when another process has it open, StoreUnavailable when it cannot be opened
   */
  static async open(folder: string, logger: Logger = silentLogger): Promise<LevelStore> {
    return new LevelStore(await Database.open(folder), logger)
  }

  async renameRepository(from: RepositoryName, to: RepositoryName): Promise<void> {
    if (from.full === to.full) return
    const { statuses, grants } = this
    await this.#writer.applyAlone(async function* () {
      yield* statuses.moves(from, to)
      yield* grants.moves(from, to)
    })
  }

  async deleteRepository(name: RepositoryName): Promise<void> {
    const { statuses, grants } = this
    await this.#writer.applyAlone(async function* () {
      yield* statuses.removals(name)
      yield* grants.removals(name)
    })
  }

  trouble(): string | undefined {
    return this.#writer.trouble
  }

  async close(): Promise<void> {
    await this.#writer.close()
    await this.#database.close()
  }
}
