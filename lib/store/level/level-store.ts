import { cacheShares, type CacheShares } from '../../contracts/cache-shares.js'
import { silentLogger, type Logger } from '../../contracts/logger.js'
import { noopMeter, type Meter } from '../../contracts/meter.js'
import type { Store } from '../../contracts/store.js'
import { StoreUnavailable } from '../../errors.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { ClaimedDay } from './claimed-day.js'
import { LevelContents } from './contents.js'
import { LevelDatabase } from './database.js'
import { LevelGrants } from './grants.js'
import { LevelHooks } from './hooks.js'
import { LevelMaintenance } from './maintenance.js'
import { permissionsOfOthers } from './private-files.js'
import { LevelStatuses } from './statuses.js'
import { LevelTokens } from './tokens.js'
import { LevelWriter } from './writer.js'

const DAMAGED =
  'the store is damaged: acknowledged statuses, tokens or grants may be missing from it. While a table is damaged, ' +
  'what lies in it is answered with 500, ' +
  'and nothing is accepted. See what it is with commit-status store verify, and restore the store from a backup; ' +
  'to go on without what a log has lost, remove lost.txt from its folder'

const OPEN_TO_OTHERS =
  'the folder of the store is open to others than its owner, and digests of tokens and what is private are in it: ' +
  'chmod it to 700'

/** A store in one LevelDB folder. */
export class LevelStore implements Store {
  readonly statuses: LevelStatuses
  readonly tokens: LevelTokens
  readonly grants: LevelGrants
  readonly hooks: LevelHooks
  readonly maintenance: LevelMaintenance
  readonly contents: LevelContents
  readonly #database: LevelDatabase
  readonly #logger: Logger
  readonly #writer: LevelWriter
  readonly #claimedDay: ClaimedDay
  readonly #checked: Promise<void>
  #closed = false

  private constructor(database: LevelDatabase, logger: Logger, meter: Meter, shares: CacheShares) {
    this.#database = database
    this.#logger = logger
    this.#writer = new LevelWriter(database, logger, undefined, meter, shares.counts)
    this.hooks = new LevelHooks(database, this.#writer)
    this.statuses = new LevelStatuses(database, this.#writer, this.hooks.outbox, meter, shares.lists)
    this.tokens = new LevelTokens(database, this.#writer, meter, shares.tokens)
    this.grants = new LevelGrants(database, this.#writer, meter, shares.grants)
    this.maintenance = new LevelMaintenance(database)
    this.contents = new LevelContents(database, this.#writer, this.statuses, this.grants)
    this.#claimedDay = new ClaimedDay(database.folder)
    this.#checked = this.#logDamage()
    meter.gauge('storeBytes', async () => await database.files.bytes())
  }

  /**
   * Opens the store of a folder, which is made when it is missing. What is damaged in it is logged, then or a little
   * later.
   * @throws StoreLocked when another process has it open, StoreUnavailable when it cannot be opened
   */
  static async open(
    folder: string,
    logger: Logger = silentLogger,
    meter: Meter = noopMeter,
    shares: CacheShares = cacheShares(),
  ): Promise<LevelStore> {
    const database = await LevelDatabase.open(folder)
    const mode = await permissionsOfOthers(folder)
    if (mode !== undefined) logger.warn({ store: folder, mode }, OPEN_TO_OTHERS)
    return new LevelStore(database, logger, meter, shares)
  }

  async renameRepository(from: RepositoryName, to: RepositoryName): Promise<void> {
    if (from.full === to.full) return
    const { statuses, grants, hooks } = this
    await this.#writer.applyAlone(async function* () {
      yield* statuses.moves(from, to)
      yield* grants.moves(from, to)
      yield* hooks.moves(from, to)
    })
    this.#forget()
  }

  async deleteRepository(name: RepositoryName): Promise<void> {
    const { statuses, grants, hooks } = this
    await this.#writer.applyAlone(async function* () {
      yield* statuses.removals(name)
      yield* grants.removals(name)
      yield* hooks.removals(name)
    })
    this.#forget()
  }

  async claimDay(now: number): Promise<boolean> {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    return await this.#claimedDay.claim(now)
  }

  unavailableReason(): string | undefined {
    return this.#writer.unavailableReason
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
    this.hooks.outbox.reload()
  }

  async #logDamage(): Promise<void> {
    const { folder: store } = this.#database
    const log = (damage: readonly string[]): void => {
      if (damage.length > 0) this.#logger.error({ store, damage }, DAMAGED)
    }
    const { files } = this.#database
    const { damage } = files
    log(damage)
    await files.checkTables(() => !this.#closed)
    log(files.damage.filter((words) => !damage.includes(words)))
  }
}
