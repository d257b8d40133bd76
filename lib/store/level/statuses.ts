import { setImmediate } from 'node:timers/promises'
import { pendingSince, type CommitState, type Report, type StoredStatus } from '../../domain/commit-status.js'
import { ContextLimitReached } from '../../errors.js'
import type { ObjectId } from '../../domain/object-id.js'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import { cacheShares } from '../../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../../contracts/meter.js'
import type { SavedStatus } from '../../contracts/records.js'
import type { WholeStatusStore } from '../../contracts/store.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import { LARGE_LIST_BYTES, largeList, serialisedList, type SentList } from '../../domain/status-list.js'
import { Semaphore } from '../../concurrency/semaphore.js'
import { reportSize } from '../bounded-queue.js'
import { statesOfLists } from '../states-of-lists.js'
import { StatusIds } from '../status-ids.js'
import { Turns } from '../turns.js'
import { CachedList } from './cached-list.js'
import type { BatchOperation } from './batch.js'
import type { LevelDatabase } from './database.js'
import { ReadCache } from './read-cache.js'
import { rekeyed } from './record.js'
import { toEntry, fromStored, statusText, updatedAt } from './status-record.js'
import type { LevelOutbox, Noted } from './outbox.js'
import { outboxPut } from './outbox-record.js'
import type { LevelWriter } from './writer.js'

/** Lists that are read into memory at a time; those that wait do so for milliseconds. */
const MAX_READS = 64

/** Lists at a time that are too large for the memory. Each takes some pages of it, for as long as its client reads. */
const MAX_LARGE_LISTS = 64

/** The list of a commit without statuses. */
const NOTHING = serialisedList([])

export class LevelStatuses implements WholeStatusStore {
  readonly #database: LevelDatabase
  readonly #writer: LevelWriter
  readonly #outbox: LevelOutbox
  readonly #lists: ReadCache<CachedList>
  readonly #reads = new Semaphore(MAX_READS, Infinity)
  readonly #largeLists = new Semaphore(MAX_LARGE_LISTS, 0)
  readonly #ids = new StatusIds()
  readonly #turns = new Turns()

  /** @param cacheBytes of lists that are kept in memory as they are sent */
  constructor(
    database: LevelDatabase,
    writer: LevelWriter,
    outbox: LevelOutbox,
    meter: Meter = noopMeter,
    cacheBytes = cacheShares().lists,
  ) {
    this.#database = database
    this.#writer = writer
    this.#outbox = outbox
    this.#lists = new ReadCache({ name: 'lists', maxSize: cacheBytes, sizeOf: ({ size }) => size, meter })
    database.onReopen(() => {
      this.#lists.clear()
    })
  }

  async save(
    repository: RepositoryName,
    commit: ObjectId,
    report: Report,
    at: number,
    maxContexts = Infinity,
  ): Promise<SavedStatus> {
    const list = prefix(repository, commit)
    const key = `${list}${report.context}`
    const notes = this.#outbox.isIdle ? [] : this.#outbox.notes(repository, commit.hex, report.context, report.state)
    let noted: Noted = { entries: [], held: [] }
    const saving = this.#writer.apply({
      size: reportSize(report),
      reads: notes.length === 0 ? [key] : [key, ...notes.map((note) => note.key)],
      counts: list,
      decide: ([value, ...waiting], count) => {
        if (value === undefined && count >= maxContexts) throw new ContextLimitReached(maxContexts)
        const previous = value === undefined ? undefined : fromStored(repository, key, value)
        const id = previous?.id ?? this.#ids.next()
        const status = replaced(previous, id, commit, report, new Date(at).toISOString())
        const put: BatchOperation = { type: 'put', ...toEntry(repository, status) }
        if (notes.length === 0) return { operations: [put], result: { status, previous } }
        noted = this.#outbox.entriesOf(notes, waiting, previous?.state ?? null, at)
        return { operations: [put, ...noted.entries.map(outboxPut)], result: { status, previous } }
      },
    })
    const saved = await saving.catch((error: unknown) => {
      this.#outbox.givenUp(noted)
      throw error
    })
    if (notes.length > 0) this.#outbox.written(noted)
    this.#lists.change(list, (cached) => (cached.size > LARGE_LIST_BYTES ? undefined : cached.note(saved.status)))
    return saved
  }

  async list(repository: RepositoryName, commit: ObjectId): Promise<StoredStatus[]> {
    const found = await this.#database.all(prefix(repository, commit))
    await this.#turns.next()
    return found.map(([key, value]) => fromStored(repository, key, value))
  }

  serialised(repository: RepositoryName, commit: ObjectId): MaybePromise<SentList> {
    const key = prefix(repository, commit)
    const cached = this.#lists.get(key, () =>
      this.#database.hasNone(key) ? new CachedList(NOTHING) : this.#readList(key, commit),
    )
    if (cached instanceof CachedList) return cached.list
    return Promise.resolve(cached).then(async (read) => (read ? read.list : await this.#large(key, commit)))
  }

  /** `undefined` for a list that is too large for the memory. */
  async #readList(key: string, commit: ObjectId): Promise<CachedList | undefined> {
    await this.#reads.enter()
    try {
      // Those of a turn of the event loop are begun together: one that is begun alone wakes a thread for itself.
      await setImmediate()
      const { entries, isWhole } = await this.#database.upTo(key, LARGE_LIST_BYTES)
      if (!isWhole) return undefined
      const texts = entries.map(([each, value]) => statusText(commit, each, value, each.slice(key.length)))
      return new CachedList(serialisedList(texts))
    } finally {
      this.#reads.leave()
    }
  }

  async #large(key: string, commit: ObjectId): Promise<SentList> {
    await this.#largeLists.enter()
    const entriesOf = this.#database.snapshot(key)
    return await largeList({
      async *pages() {
        for await (const entries of entriesOf.pages()) {
          yield entries.map(([each, value]) => statusText(commit, each, value, each.slice(key.length)))
        }
      },
      close: async () => {
        this.#largeLists.leave()
        await entriesOf.close()
      },
    })
  }

  async status(repository: RepositoryName, commit: ObjectId, context: string): Promise<StoredStatus | undefined> {
    const key = `${prefix(repository, commit)}${context}`
    const [value] = await this.#database.read([key])
    return value === undefined ? undefined : fromStored(repository, key, value)
  }

  async states(
    repository: RepositoryName,
    commits: readonly ObjectId[],
    failed: number | undefined,
  ): Promise<readonly CommitState[]> {
    return await statesOfLists(this, repository, commits, failed)
  }

  async *pages(repository: RepositoryName, commit: ObjectId): AsyncGenerator<StoredStatus[]> {
    const entriesOf = this.#database.snapshot(prefix(repository, commit))
    try {
      for await (const entries of entriesOf.pages())
        yield entries.map(([key, value]) => fromStored(repository, key, value))
    } finally {
      await entriesOf.close()
    }
  }

  async remove(repository: RepositoryName, commit: ObjectId, context: string | undefined): Promise<number> {
    const list = prefix(repository, commit)
    const removed = context === undefined ? await this.#removeAll(list) : await this.#removeOne(`${list}${context}`)
    this.#lists.forget(list)
    return removed
  }

  async #removeOne(key: string): Promise<number> {
    return await this.#writer.apply({
      size: key.length,
      reads: [key],
      decide: ([value]) =>
        value === undefined ? { operations: [], result: 0 } : { operations: [{ type: 'del', key }], result: 1 },
    })
  }

  /** Removes all, however many there are, in a batch of their own. */
  async #removeAll(list: string): Promise<number> {
    const database = this.#database
    let removed = 0
    await this.#writer.applyAlone(async function* () {
      for await (const key of database.keys(list)) {
        removed++
        yield { type: 'del', key }
      }
    })
    return removed
  }

  async count(repository: RepositoryName): Promise<number> {
    let found = 0
    for await (const _ of this.#database.keys(`${repository.escaped}/`)) found++
    return found
  }

  /** To be called when many statuses have come, moved or gone. */
  forgetLists(): void {
    this.#lists.clear()
  }

  /** To be called when statuses of these commits have gone. */
  forgetListsOf(repository: RepositoryName, statuses: readonly StoredStatus[]): void {
    for (const list of new Set(statuses.map(({ sha }) => `${repository.escaped}/${sha}/`))) this.#lists.forget(list)
  }

  /** What moves every status of a repository to another name. */
  async *moves(from: RepositoryName, to: RepositoryName): AsyncGenerator<BatchOperation> {
    const there = new Map(await this.#database.all(`${to.escaped}/`))
    for await (const [key, value] of this.#database.scan(`${from.escaped}/`)) {
      const newKey = to.escaped + key.slice(from.escaped.length)
      const other = there.get(newKey)
      yield { type: 'del', key }
      if (other === undefined || updatedAt(newKey, other) <= updatedAt(key, value)) {
        yield { type: 'put', key: newKey, value: rekeyed(key, newKey, value) }
      }
    }
  }

  /** What removes every status of a repository. */
  async *removals(name: RepositoryName): AsyncGenerator<BatchOperation> {
    for await (const key of this.#database.keys(`${name.escaped}/`)) yield { type: 'del', key }
  }

  async *scan(repository: RepositoryName, commit?: ObjectId): AsyncGenerator<StoredStatus> {
    const start = commit ? prefix(repository, commit) : `${repository.escaped}/`
    for await (const [key, value] of this.#database.scan(start)) yield fromStored(repository, key, value)
  }
}

function prefix(repository: RepositoryName, commit: ObjectId): string {
  return `${repository.escaped}/${commit.hex}/`
}

function replaced(
  previous: StoredStatus | undefined,
  id: string,
  commit: ObjectId,
  report: Report,
  at: string,
): StoredStatus {
  // Times of this form sort as text.
  const updated_at = previous && previous.updated_at > at ? previous.updated_at : at
  return {
    id,
    sha: commit.hex,
    context: report.context,
    state: report.state,
    description: report.description,
    target_url: report.target_url,
    created_at: previous?.created_at ?? at,
    updated_at,
    ...(report.reporter && { reporter: report.reporter }),
    ...pendingSince(previous, report.state, updated_at),
  }
}
