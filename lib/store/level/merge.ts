import type { CommitStatus } from '../../commit-status.js'
import type { RepositoryName } from '../../repository-name.js'
import { StoreUnavailable, type Grant, type RepositoryMerge } from '../store.js'
import type { Batch, Database, Operation } from './database.js'
import { entryOf as grantEntry, grantsOn } from './grants.js'
import { entryOf, updatedAt } from './statuses.js'
import { Watch } from './watch.js'
import type { Writer } from './writer.js'

/** A merge, made ready while the writer goes on: its turn takes no longer than to write it. */
export class LevelMerge implements RepositoryMerge {
  readonly #repository: RepositoryName
  readonly #database: Database
  readonly #writer: Writer
  readonly #committed: () => void
  readonly #ended: () => void
  readonly #batch: Batch
  readonly #watch: Watch

  /** @param tell.committed is called once it is on disk, `tell.ended` once it is or has been let go of */
  constructor(repository: RepositoryName, database: Database, writer: Writer, tell: { committed: () => void; ended: () => void }) {
    this.#repository = repository
    this.#database = database
    this.#writer = writer
    this.#committed = tell.committed
    this.#ended = tell.ended
    this.#batch = database.batch()
    this.#watch = new Watch([`${repository.full}/`, grantsOn(repository)])
    writer.watch(this.#watch)
  }

  async add(statuses: readonly CommitStatus[], grants: readonly Grant[]): Promise<number> {
    const entries = statuses.map((status) => ({ ...entryOf(this.#repository, status), at: status.updated_at }))
    const there = await this.#database.read(entries.map(({ key }) => key))
    this.#proveSound()
    let added = 0
    for (const [index, { key, value, at }] of entries.entries()) {
      const other = there[index]
      if (other !== undefined && updatedAt(key, other) >= at) continue
      this.#batch.add({ type: 'put', key, value })
      added++
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
  async *#amendments(): AsyncGenerator<Operation> {
    this.#proveSound()
    this.#writer.unwatch(this.#watch)
    for (const key of this.#watch.changed) {
      const [value] = await this.#database.read([key])
      yield value === undefined ? { type: 'del', key } : { type: 'put', key, value }
    }
  }

  #proveSound(): void {
    const { voidance } = this.#watch
    if (voidance !== undefined) throw new StoreUnavailable(`${this.#repository.full} was not changed: ${voidance}`)
  }
}
