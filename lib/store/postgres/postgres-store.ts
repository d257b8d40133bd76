import type { FailureBudget } from '../../auth/failure-budget.js'
import { silentLogger, type Logger } from '../../logger.js'
import { idleMeter, type Meter } from '../../meter.js'
import type { RepositoryName } from '../../repository-name.js'
import { StoreUnavailable, type SavedStatus, type Store } from '../store.js'
import { noteChange } from './changes.js'
import { PostgresContents } from './contents.js'
import { Database } from './database.js'
import { PostgresFailureBudget } from './failure-budget.js'
import { moveGrants, PostgresGrants, removeGrants } from './grants.js'
import { Health } from './health.js'
import { checkVersion } from './schema.js'
import { moveStatuses, PostgresStatuses, removeStatuses, saveReports, type ReportRow } from './statuses.js'
import { PostgresTokens } from './tokens.js'
import { Writer } from './writer.js'

/** A store in a database that speaks PostgreSQL's protocol; any number of instances may share one. */
export class PostgresStore implements Store {
  readonly statuses: PostgresStatuses
  readonly tokens: PostgresTokens
  readonly grants: PostgresGrants
  readonly contents: PostgresContents
  readonly #database: Database
  readonly #writer: Writer<ReportRow, SavedStatus>
  readonly #health: Health
  readonly #meter: Meter
  #closing: Promise<void> | undefined

  private constructor(database: Database, logger: Logger, meter: Meter) {
    this.#database = database
    this.#meter = meter
    this.#health = new Health(database, logger, meter)
    this.#writer = new Writer(async (reports) => await this.#save(reports), logger)
    this.statuses = new PostgresStatuses(database, this.#writer)
    this.tokens = new PostgresTokens(database, this.#writer)
    this.grants = new PostgresGrants(database, this.#writer)
    this.contents = new PostgresContents(database, this.statuses)
    meter.gauge('queuedChanges', () => this.#writer.waiting)
    // Measurements are read most when something is wrong, and the rest of them are there all the same.
    meter.gauge('storeBytes', async () => await this.contents.bytes().catch(() => NaN))
  }

  /**
   * Opens the store in a database.
   * @param url as `pg` takes it
   * @throws StoreUnavailable when the database cannot be used, or its tables are not of this program's version
   */
  static async open(url: string, logger: Logger = silentLogger, meter: Meter = idleMeter): Promise<PostgresStore> {
    const database = new Database(url, logger)
    try {
      await checkVersion(database)
    } catch (error) {
      await database.close()
      throw error
    }
    return new PostgresStore(database, logger, meter)
  }

  async renameRepository(from: RepositoryName, to: RepositoryName): Promise<void> {
    if (from.full === to.full) return
    await this.#alone(async (connection) => {
      await noteChange(connection, from, to)
      await moveStatuses(connection, from, to)
      await moveGrants(connection, from, to)
    })
  }

  async deleteRepository(name: RepositoryName): Promise<void> {
    await this.#alone(async (connection) => {
      await noteChange(connection, name)
      await removeStatuses(connection, name)
      await removeGrants(connection, name)
    })
  }

  failureBudget(limits: { limit: number; windowSeconds: number }): FailureBudget {
    return new PostgresFailureBudget(this.#database, limits)
  }

  trouble(): string | undefined {
    return this.#closing ? 'the store is closed' : this.#health.trouble
  }

  async close(): Promise<void> {
    await (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#writer.close()
    this.#health.close()
    await this.#database.close()
  }

  async #alone(work: Parameters<Database['transaction']>[0]): Promise<void> {
    await this.#writer.applyAlone(async () => {
      await this.#database.transaction(work)
    })
  }

  async #save(reports: readonly ReportRow[]): Promise<SavedStatus[]> {
    const begun = performance.now()
    try {
      const saved = await saveReports(this.#database, reports)
      this.#meter.batchWritten(reports.length, (performance.now() - begun) / 1000)
      this.#health.written()
      return saved
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#health.failed(error)
      throw error
    }
  }
}
