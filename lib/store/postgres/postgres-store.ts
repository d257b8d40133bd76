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
import { moveHooks, PostgresHooks, removeHooks } from './hooks.js'
import { moveOutbox, removeFromOutbox } from './outbox-rows.js'
import { bumpVersion } from './repository-versions.js'
import { isDistributed } from './distribution.js'
import { checkVersion } from './schema.js'
import { saveReports } from './save-reports.js'
import { Shards } from './shards.js'
import { PostgresSignIns } from './sign-ins.js'
import { repositoryText, type ReportRow } from './status-rows.js'
import { moveStatuses, PostgresStatuses, removeStatuses } from './statuses.js'
import { PostgresTokens } from './tokens.js'
import { oneWriter, RepositoryWriters, type Writers } from './writers.js'

interface Databases {
  readonly database: PostgresDatabase
  readonly statuses: PostgresDatabase
  readonly shards: Shards | undefined
}

/** A store in a database that speaks PostgreSQL's protocol; any number of instances may share one. */
export class PostgresStore implements Store {
  readonly statuses: PostgresStatuses
  readonly tokens: PostgresTokens
  readonly grants: PostgresGrants
  readonly signIns: PostgresSignIns
  readonly hooks: PostgresHooks
  readonly contents: PostgresContents
  readonly #database: PostgresDatabase
  /** Where the statuses are; over connections of its own where these are on other nodes. */
  readonly #statuses: PostgresDatabase
  readonly #shards: Shards | undefined
  readonly #writers: Writers<ReportRow, SavedStatus>
  readonly #health: Health
  readonly #meter: Meter
  #closing: Promise<void> | undefined

  private constructor({ database, statuses, shards }: Databases, logger: Logger, meter: Meter, shares: CacheShares) {
    this.#database = database
    this.#statuses = statuses
    this.#shards = shards
    this.#meter = meter
    this.#health = new Health(database, statuses, logger, meter)
    const save = async (reports: readonly ReportRow[]): Promise<(SavedStatus | Error)[]> => await this.#save(reports)
    this.#writers = shards ? new RepositoryWriters(save, logger) : oneWriter(save, logger)
    this.statuses = new PostgresStatuses(statuses, this.#writers, meter, shares.lists)
    this.tokens = new PostgresTokens(database, this.#writers)
    this.grants = new PostgresGrants(database, this.#writers)
    this.signIns = new PostgresSignIns(database)
    this.hooks = new PostgresHooks(database, statuses)
    this.contents = new PostgresContents(statuses)
    meter.gauge('queuedChanges', () => this.#writers.waiting)
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
      const shards = (await database.run(isDistributed)) ? new Shards(database, logger, meter) : undefined
      const statuses = shards ? new PostgresDatabase(url, logger, shards) : database
      return new PostgresStore({ database, statuses, shards }, logger, meter, shares)
    } catch (error) {
      await database.close()
      throw error
    }
  }

  async renameRepository(from: RepositoryName, to: RepositoryName): Promise<void> {
    if (from.full === to.full) return
    await this.#alone([from, to], async (connection) => {
      await bumpVersion(connection, from, to)
      await moveStatuses(connection, from, to)
      await moveGrants(connection, from, to)
      await moveOutbox(connection, from, to, await moveHooks(connection, from, to))
    })
  }

  async deleteRepository(name: RepositoryName): Promise<void> {
    await this.#alone([name], async (connection) => {
      await bumpVersion(connection, name)
      await removeStatuses(connection, name)
      await removeGrants(connection, name)
      await removeHooks(connection, name)
      await removeFromOutbox(connection, name)
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
    await this.#writers.close()
    await this.hooks.outbox.close()
    this.#health.close()
    this.#shards?.close()
    await this.#database.close()
    if (this.#statuses !== this.#database) await this.#statuses.close()
  }

  async #alone(
    repositories: readonly RepositoryName[],
    work: Parameters<PostgresDatabase['transaction']>[0],
  ): Promise<void> {
    await this.#writers.applyAlone(repositories, async () => {
      await this.#statuses.transaction(work, repositories.map(repositoryText))
      await this.hooks.outbox.changed()
    })
  }

  async #save(reports: readonly ReportRow[]): Promise<(SavedStatus | Error)[]> {
    const begun = performance.now()
    try {
      const saved = await saveReports(this.#statuses, reports, this.hooks.outbox)
      this.#meter.batchWritten(reports.length, (performance.now() - begun) / 1000)
      const failure = saved.find((result) => result instanceof StoreUnavailable)
      if (failure) this.#failed(failure)
      else this.#health.written()
      return saved
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#failed(error)
      throw error
    }
  }

  /** A report that a shard did not take says nothing of the others. */
  #failed(error: StoreUnavailable): void {
    if (this.#shards) this.#health.look()
    else this.#health.failed(error)
  }
}
