import { StoreUnavailable } from '../../errors.js'
import { cacheShares, type CacheShares } from '../../contracts/cache-shares.js'
import type { MaybeSync } from '../../concurrency/maybe-promise.js'
import type { FailureBudget, StoredFailureBudget } from '../../contracts/failure-budget.js'
import { silentLogger, type Logger } from '../../contracts/logger.js'
import { noopMeter, type Meter } from '../../contracts/meter.js'
import type { SavedStatus } from '../../contracts/records.js'
import type { Store } from '../../contracts/store.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { claimDay } from './claimed-day.js'
import { PostgresContents } from './contents.js'
import { PostgresDatabase } from './database.js'
import { PostgresFailureBudget } from './failure-budget.js'
import { moveGrants, PostgresGrants, removeGrants } from './grants.js'
import { Health } from './health.js'
import { bumpVersion } from './repository-versions.js'
import { checkVersion } from './schema.js'
import { saveReports } from './save-reports.js'
import { PostgresSignIns } from './sign-ins.js'
import type { ReportRow } from './status-rows.js'
import { moveStatuses, PostgresStatuses, removeStatuses } from './statuses.js'
import { PostgresTokens } from './tokens.js'
import { PostgresWriter } from './writer.js'

/** A store in a database that speaks PostgreSQL's protocol; any number of instances may share one. */
export class PostgresStore implements Store {
  readonly statuses: PostgresStatuses
  readonly tokens: PostgresTokens
  readonly grants: PostgresGrants
  readonly signIns: PostgresSignIns
  readonly contents: PostgresContents
  readonly #database: PostgresDatabase
  readonly #writer: PostgresWriter<ReportRow, SavedStatus>
  readonly #health: Health
  readonly #meter: Meter
  #closing: Promise<void> | undefined

  private constructor(database: PostgresDatabase, logger: Logger, meter: Meter, shares: CacheShares) {
    this.#database = database
    this.#meter = meter
    this.#health = new Health(database, logger, meter)
    this.#writer = new PostgresWriter(async (reports) => await this.#save(reports), logger)
    this.statuses = new PostgresStatuses(database, this.#writer, meter, shares.lists)
    this.tokens = new PostgresTokens(database, this.#writer)
    this.grants = new PostgresGrants(database, this.#writer)
    this.signIns = new PostgresSignIns(database)
    this.contents = new PostgresContents(database)
    meter.gauge('queuedChanges', () => this.#writer.waiting)
    // Measurements are read most when something is wrong, and the rest of them are there all the same.
    meter.gauge('storeBytes', async () => await this.contents.bytes().catch(() => NaN))
  }

  /**
   * Opens the store in a database.
   * @param url as `pg` takes it
   * @param shares what its caches may take in memory
   * @throws StoreUnavailable when the database cannot be used, or its tables are not of this program's version
   */
  static async open(
    url: string,
    logger: Logger = silentLogger,
    meter: Meter = noopMeter,
    shares: CacheShares = cacheShares(),
  ): Promise<PostgresStore> {
    const database = new PostgresDatabase(url, logger)
    try {
      await checkVersion(database)
    } catch (error) {
      await database.close()
      throw error
    }
    return new PostgresStore(database, logger, meter, shares)
  }

  async renameRepository(from: RepositoryName, to: RepositoryName): Promise<void> {
    if (from.full === to.full) return
    await this.#alone(async (connection) => {
      await bumpVersion(connection, from, to)
      await moveStatuses(connection, from, to)
      await moveGrants(connection, from, to)
    })
  }

  async deleteRepository(name: RepositoryName): Promise<void> {
    await this.#alone(async (connection) => {
      await bumpVersion(connection, name)
      await removeStatuses(connection, name)
      await removeGrants(connection, name)
    })
  }

  failureBudget(
    limits: { limit: number; windowSeconds: number },
    memory: MaybeSync<FailureBudget>,
  ): StoredFailureBudget {
    return new PostgresFailureBudget(this.#database, limits, memory)
  }

  async claimDay(now: number): Promise<boolean> {
    return await claimDay(this.#database, now)
  }

  unavailableReason(): string | undefined {
    return this.#closing ? 'the store is closed' : this.#health.unavailableReason
  }

  async close(): Promise<void> {
    await (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#writer.close()
    this.#health.close()
    await this.#database.close()
  }

  async #alone(work: Parameters<PostgresDatabase['transaction']>[0]): Promise<void> {
    await this.#writer.applyAlone(async () => {
      await this.#database.transaction(work)
    })
  }

  async #save(reports: readonly ReportRow[]): Promise<(SavedStatus | Error)[]> {
    const begun = performance.now()
    try {
      const saved = await saveReports(this.#database, reports)
      this.#meter.batchWritten(reports.length, (performance.now() - begun) / 1000)
      const failure = saved.find((result) => result instanceof StoreUnavailable)
      if (failure) this.#health.failed(failure)
      else this.#health.written()
      return saved
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#health.failed(error)
      throw error
    }
  }
}
