import { silentLogger, type Logger } from '../../logger.js'
import { idleMeter, type Meter } from '../../meter.js'
import type { RepositoryName } from '../../repository-name.js'
import type { Store } from '../store.js'
import { LevelContents } from './contents.js'
import { Database } from './database.js'
import { LevelGrants } from './grants.js'
import { LevelMaintenance } from './maintenance.js'
import { LevelStatuses } from './statuses.js'
import { LevelTokens } from './tokens.js'
import { Writer } from './writer.js'

const DAMAGED =
  'the store is damaged: acknowledged statuses, tokens or grants may be missing from it. While a table is damaged, what lies in it is answered with 500, ' +
  'and nothing is accepted. See what it is with commit-status store verify, and restore the store from a backup; ' +
  'to go on without what a log has lost, remove lost.txt from its folder'

/** A store in one LevelDB folder. */
export class LevelStore implements Store {
  readonly statuses: LevelStatuses
  readonly tokens: LevelTokens
  readonly grants: LevelGrants
  readonly maintenance: LevelMaintenance
  readonly contents: LevelContents
  readonly #database: Database
  readonly #logger: Logger
  readonly #writer: Writer
  readonly #checked: Promise<void>
  #closed = false

  private constructor(database: Database, logger: Logger, meter: Meter) {
    this.#database = database
    this.#logger = logger
    this.#writer = new Writer(database, logger, undefined, meter)
    this.statuses = new LevelStatuses(database, this.#writer, meter)
    this.tokens = new LevelTokens(database, this.#writer, meter)
    this.grants = new LevelGrants(database, this.#writer, meter)
    this.maintenance = new LevelMaintenance(database)
    this.contents = new LevelContents(database, this.#writer, this.statuses, this.grants)
    this.#checked = this.#tellDamage()
    meter.gauge('storeBytes', async () => await database.bytes())
  }

  /**
   * Opens the store of a folder, which is made when it is missing. What is damaged in it is told to the logger, then
   * or a little later.
   * @throws StoreLocked when another process has it open, StoreUnavailable when it cannot be opened
   */
  static async open(folder: string, logger: Logger = silentLogger, meter: Meter = idleMeter): Promise<LevelStore> {
    return new LevelStore(await Database.open(folder), logger, meter)
  }

  async renameRepository(from: RepositoryName, to: RepositoryName): Promise<void> {
    if (from.full === to.full) return
    const { statuses, grants } = this
    await this.#writer.applyAlone(async function* () {
      yield* statuses.moves(from, to)
      yield* grants.moves(from, to)
    })
    this.#forget()
  }

  async deleteRepository(name: RepositoryName): Promise<void> {
    const { statuses, grants } = this
    await this.#writer.applyAlone(async function* () {
      yield* statuses.removals(name)
      yield* grants.removals(name)
    })
    this.#forget()
  }

  trouble(): string | undefined {
    return this.#writer.trouble
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#writer.close()
    await this.#checked
    await this.#database.close()
  }

  #forget(): void {
    this.statuses.forgetLists()
    this.grants.forgetAll()
  }

  async #tellDamage(): Promise<void> {
    const { folder: store } = this.#database
    const tell = (damage: readonly string[]): void => {
      if (damage.length > 0) this.#logger.error({ store, damage }, DAMAGED)
    }
    const { damage } = this.#database
    tell(damage)
    await this.#database.checkTables(() => !this.#closed)
    tell(this.#database.damage.filter((words) => !damage.includes(words)))
  }
}
