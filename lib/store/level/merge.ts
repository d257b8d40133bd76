import type { StoredStatus } from '../../domain/commit-status.js'
import { StoreUnavailable } from '../../errors.js'
import type { Grant } from '../../contracts/records.js'
import type { RepositoryMerge } from '../../contracts/store-administration.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { Batch, BatchOperation } from './batch.js'
import type { LevelDatabase } from './database.js'
import { toEntry as grantEntry, grantsOn } from './grants.js'
import { KeyWatch } from './key-watch.js'
import { toEntry, updatedAt } from './status-record.js'
import type { LevelWriter } from './writer.js'

/** A merge, made ready while the writer goes on: its turn takes no longer than to write it. */
export class LevelMerge implements RepositoryMerge {
  readonly #repository: RepositoryName
  readonly #database: LevelDatabase
  readonly #writer: LevelWriter
  readonly #committed: () => void
  readonly #ended: () => void
  readonly #batch: Batch
  readonly #watch: KeyWatch
  /** When each status that was added was updated: an export may have it twice. */
  readonly #added = new Map<string, string>()

  /** @param tell.committed is called once it is on disk, `tell.ended` once it is or has been let go of */
  constructor(
    repository: RepositoryName,
    database: LevelDatabase,
    writer: LevelWriter,
    tell: { committed: () => void; ended: () => void },
  ) {
    this.#repository = repository
    this.#database = database
    this.#writer = writer
    this.#committed = tell.committed
    this.#ended = tell.ended
    this.#batch = database.batch()
    this.#watch = new KeyWatch([`${repository.escaped}/`, grantsOn(repository)])
    writer.watch(this.#watch)
  }

  async add(statuses: readonly StoredStatus[], grants: readonly Grant[]): Promise<number> {
    const entries = statuses.map((status) => ({ ...toEntry(this.#repository, status), at: status.updated_at }))
    const there = await this.#database.read(entries.map(({ key }) => key))
    this.#proveSound()
    let added = 0
    for (const [index, { key, value, at }] of entries.entries()) {
      const other = there[index]
      const known = this.#added.get(key) ?? (other === undefined ? undefined : updatedAt(key, other))
      if (known !== undefined && known >= at) continue
      this.#batch.add({ type: 'put', key, value })
      if (!this.#added.has(key)) added++
      this.#added.set(key, at)
    }
    for (const grant of grants) this.#batch.add({ type: 'put', ...grantEntry(grant) })
    return added
  }

  async commit(): Promise<void> {
    await this.#writer.applyAlone(() => this.#amendments(), this.#batch)
    this.#committed()
  }

  async discard(): Promise<void> {
    this.#writer.unwatch(this.#watch)
    this.#ended()
    await this.#batch.discard()
  }

  /** What has changed since it was looked at stays as it is now. */
  async *#amendments(): AsyncGenerator<BatchOperation> {
    this.#proveSound()
    this.#writer.unwatch(this.#watch)
    for (const key of this.#watch.changed) {
      const [value] = await this.#database.read([key])
      yield value === undefined ? { type: 'del', key } : { type: 'put', key, value }
    }
  }

  #proveSound(): void {
    const { invalidReason: voidance } = this.#watch
    if (voidance !== undefined) throw new StoreUnavailable(`${this.#repository.full} was not changed: ${voidance}`)
  }
}
