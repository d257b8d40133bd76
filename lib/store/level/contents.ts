import { isDeepStrictEqual } from 'node:util'
import type { StoredStatus } from '../../domain/commit-status.js'
import { StoreCorrupt, StoreUnavailable } from '../../errors.js'
import type {
  RepositoryMerge,
  RepositoryStatus,
  StatusPage,
  StoreContents,
} from '../../contracts/store-administration.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { BatchOperation } from './batch.js'
import type { LevelDatabase } from './database.js'
import type { LevelGrants } from './grants.js'
import { STATUSES } from './key-range.js'
import { LevelMerge } from './merge.js'
import { toEntry, parseStatus } from './status-record.js'
import type { LevelStatuses } from './statuses.js'
import type { LevelWriter } from './writer.js'

/** All that a LevelDB store has. */
export class LevelContents implements StoreContents {
  readonly #database: LevelDatabase
  readonly #writer: LevelWriter
  readonly #statuses: LevelStatuses
  readonly #grants: LevelGrants
  /** The repositories that are being merged into. */
  readonly #merging = new Set<string>()

  constructor(database: LevelDatabase, writer: LevelWriter, statuses: LevelStatuses, grants: LevelGrants) {
    this.#database = database
    this.#writer = writer
    this.#statuses = statuses
    this.#grants = grants
  }

  async *pages(): AsyncGenerator<StatusPage> {
    const { damage } = this.#database.files
    if (damage.length > 0) throw new StoreCorrupt(`the store is damaged: ${damage.join('; ')}`)
    let previous: RepositoryStatus | undefined
    for await (const { entries, share } of this.#database.pages(STATUSES)) {
      yield { statuses: entries.map(([key, value]) => (previous = parseStatus(key, value, previous))), share }
    }
  }

  merge(repository: RepositoryName): RepositoryMerge {
    if (this.#merging.has(repository.full))
      throw new StoreUnavailable(`statuses are being put into ${repository.full} already`)
    this.#merging.add(repository.full)
    return new LevelMerge(repository, this.#database, this.#writer, {
      committed: () => {
        this.#statuses.forgetLists()
        this.#grants.forgetAll()
      },
      ended: () => this.#merging.delete(repository.full),
    })
  }

  async remove(repository: RepositoryName, statuses: readonly StoredStatus[]): Promise<number> {
    const keys = statuses.map((status) => toEntry(repository, status).key)
    const removed = await this.#writer.apply({
      size: keys.reduce((sum, key) => sum + key.length, 0),
      reads: keys,
      decide: (values) => {
        const same = keys.filter((key, index) => {
          const value = values[index]
          return value !== undefined && isDeepStrictEqual(parseStatus(key, value).status, statuses[index])
        })
        return { operations: same.map((key): BatchOperation => ({ type: 'del', key })), result: same.length }
      },
    })
    this.#statuses.forgetListsOf(repository, statuses)
    return removed
  }

  async bytes(): Promise<number> {
    return await this.#database.files.bytes()
  }
}
