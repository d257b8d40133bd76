import { Semaphore } from '../../concurrency/semaphore.js'
import type { Meter } from '../../contracts/meter.js'
import type { StoredStatus } from '../../domain/commit-status.js'
import type { ObjectId } from '../../domain/object-id.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import {
  LARGE_LIST_BYTES,
  largeList,
  serialisedList,
  toText,
  type SentList,
  type SerialisedList,
  type StatusText,
} from '../../domain/status-list.js'
import { batchLoader, groupedLoader, type BatchLoader } from './batch-loader.js'
import { FEW_ROWS, NO_STATUS, type AskedList, type CommitKey, type FoundRows } from './asked-list.js'
import type { PostgresDatabase, Snapshot } from './database.js'
import { ListCache, type CacheEntry } from './list-cache.js'
import { DIGESTS, LISTS, LISTS_OF_ONE, PAGE, PAGE_OF, PAGE_ROWS } from './list-statements.js'
import { digestsOverShards, listsOverShards } from './lists-over-shards.js'
import type { StatusRow } from './status-columns.js'
import { fromRow, repositoryKey, repositoryText } from './status-rows.js'

/** Lists of more rows than that which are read into memory at a time; those that wait do so for milliseconds. */
const MAX_READS = 4

/** Lists at a time that are too large for the memory: each has a connection for as long as its client reads. */
const MAX_LARGE_LISTS = 8

/** Reads lists: small ones of several requests together, large ones in pages of one moment. */
export class PostgresLists {
  readonly #database: PostgresDatabase
  readonly #lists: Pick<BatchLoader<AskedList, FoundRows>, 'load'>
  /** Where they are on several shards: those of all that can be read together. */
  readonly #together: BatchLoader<AskedList, FoundRows | undefined> | undefined
  readonly #cache: ListCache
  readonly #reads = new Semaphore(MAX_READS, Infinity)
  readonly #largeLists = new Semaphore(MAX_LARGE_LISTS, 0)

  /** @param cacheBytes of lists that are kept in memory as they are sent */
  constructor(database: PostgresDatabase, meter: Meter, cacheBytes: number) {
    this.#database = database
    this.#cache = new ListCache(cacheBytes, meter)
    const find = async (keys: readonly AskedList[]): Promise<(asked: AskedList) => FoundRows> => await this.#find(keys)
    if (database.isSharded) this.#together = batchLoader(async (lists) => await listsOverShards(database, lists))
    this.#lists = database.isSharded ? groupedLoader(find, ({ repository }) => repository.escaped) : batchLoader(find)
  }

  async list(repository: RepositoryName, commit: ObjectId): Promise<StoredStatus[]> {
    const rows = await this.#few(repository, commit)
    if (rows) return rows.map(fromRow)
    const all: StoredStatus[] = []
    for await (const status of this.scan(repository, commit)) all.push(status)
    return all
  }

  async serialised(repository: RepositoryName, commit: ObjectId): Promise<SentList> {
    const key = cacheKey({ repository, commit })
    const cached = this.#cache.get(key)
    const { rows, digest } = await this.#ask({ repository, commit }, cached)
    const isSame = cached?.digest === digest
    this.#cache.countLookup(isSame)
    if (isSame) return cached.list
    if (rows.length > FEW_ROWS) return await this.#many(repository, commit)
    const list = serialisedList(rows.map(fromRow).map(toText))
    this.#cache.set(key, { list, digest })
    return list
  }

  async *pages(repository: RepositoryName, commit: ObjectId): AsyncGenerator<StoredStatus[]> {
    const few = await this.#few(repository, commit)
    if (few) {
      yield few.map(fromRow)
      return
    }
    // One connection for each; those that wait do so for milliseconds.
    await this.#reads.enter()
    try {
      const snapshot = await this.#database.snapshot(repositoryText(repository))
      try {
        for await (const rows of pagesOf(snapshot, repository, commit)) yield rows.map(fromRow)
      } finally {
        snapshot.close()
      }
    } finally {
      this.#reads.leave()
    }
  }

  async digests(commits: readonly CommitKey[]): Promise<readonly (string | undefined)[]> {
    if (this.#database.isSharded) {
      const digestOf = await digestsOverShards(this.#database, commits)
      return commits.map((commit) => digestOf(commit)?.digest)
    }
    const rows = await this.#database.query<{ at: string; digest: string | null }>(DIGESTS, [
      commits.map(({ repository }) => repositoryKey(repository)),
      commits.map(({ commit }) => Buffer.from(commit.hex, 'hex')),
    ])
    const digests = new Map(rows.map(({ at, digest }) => [Number(at), digest]))
    // PostgreSQL counts from 1.
    return commits.map((_, index) => digests.get(index + 1) ?? '')
  }

  async *scan(repository: RepositoryName, commit?: ObjectId): AsyncGenerator<StoredStatus> {
    const snapshot = await this.#database.snapshot(repositoryText(repository))
    try {
      for await (const rows of pagesOf(snapshot, repository, commit)) yield* rows.map(fromRow)
    } finally {
      snapshot.close()
    }
  }

  /** `undefined` when there are more. */
  async #few(repository: RepositoryName, commit: ObjectId): Promise<readonly StatusRow[] | undefined> {
    const { rows } = await this.#ask({ repository, commit })
    return rows.length > FEW_ROWS ? undefined : rows
  }

  async #ask(list: CommitKey, cached?: CacheEntry): Promise<FoundRows> {
    const asked = { ...list, cached, question: `${cacheKey(list)} ${cached?.digest ?? ''}` }
    return await this.#database.keepingOpen(
      async () => (await this.#together?.load(asked)) ?? (await this.#lists.load(asked)),
    )
  }

  async #many(repository: RepositoryName, commit: ObjectId): Promise<SentList> {
    const [reads, largeLists] = [this.#reads, this.#largeLists]
    await reads.enter()
    let snapshot: Snapshot | undefined
    try {
      snapshot = await this.#database.snapshot(repositoryText(repository))
      const all = await wholeOf(snapshot, repository, commit)
      if (all) {
        snapshot.close()
        return all
      }
      await largeLists.enter()
    } catch (error) {
      snapshot?.close()
      throw error
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      reads.leave()
    }
    return await largeList({
      async *pages() {
        for await (const rows of pagesOf(snapshot, repository, commit)) yield rows.map(fromRow).map(toText)
      },
      close: () => {
        largeLists.leave()
        snapshot.close()
        return Promise.resolve()
      },
    })
  }

  /** The lists of commits, each asked for once. */
  async #find(lists: readonly AskedList[]): Promise<(asked: AskedList) => FoundRows> {
    const asked = new Map(lists.map((list) => [list.question, list]))
    const each = [...asked.values()]
    const names = each.map(({ repository }) => repositoryText(repository))
    const [name = ''] = names
    const [statement, repositories] = this.#database.isSharded
      ? [LISTS_OF_ONE, Buffer.from(name)]
      : [LISTS, names.join(' ')]
    const rows = await this.#database.query<ListRow>(
      statement,
      [
        repositories,
        each.map(({ commit }) => commit.hex).join(' '),
        each.map(({ cached }) => cached?.digest ?? '').join(' '),
        FEW_ROWS + 1,
      ],
      { repositories: [name] },
    )
    const questions = [...asked.keys()]
    const found = new Map<string, { readonly digest: string; readonly rows: StatusRow[] }>()
    for (const row of rows) {
      // PostgreSQL counts from 1.
      const { [Number(row.at) - 1]: question = '' } = questions
      const list = found.get(question) ?? { digest: row.digest ?? NO_STATUS, rows: [] }
      found.set(question, list)
      if (row.sha) list.rows.push(row)
    }
    return ({ question, cached }) => found.get(question) ?? { digest: cached?.digest ?? NO_STATUS, rows: [] }
  }
}

/** A status, with the digest of its list; without a status neither. */
type ListRow = { readonly at: string; readonly digest: string | null } & (StatusRow | { readonly sha: null })

function cacheKey({ repository, commit }: CommitKey): string {
  return `${repository.escaped}/${commit.hex}`
}

/** A list that is not too large for the memory. */
async function wholeOf(
  snapshot: Snapshot,
  repository: RepositoryName,
  commit: ObjectId,
): Promise<SerialisedList | undefined> {
  const texts: StatusText[] = []
  let size = 0
  for await (const rows of pagesOf(snapshot, repository, commit)) {
    for (const text of rows.map(fromRow).map(toText)) {
      texts.push(text)
      size += text.json.length
    }
    if (size > LARGE_LIST_BYTES) return undefined
  }
  return serialisedList(texts)
}

/** The statuses of a repository, or of a commit, some at a time. */
async function* pagesOf(
  snapshot: Snapshot,
  repository: RepositoryName,
  commit: ObjectId | undefined,
): AsyncGenerator<readonly StatusRow[]> {
  const sha = commit && Buffer.from(commit.hex, 'hex')
  let last: Pick<StatusRow, 'sha' | 'context'> | undefined = { sha: sha ?? Buffer.alloc(0), context: Buffer.alloc(0) }
  while (last) {
    const place = [repositoryKey(repository), last.sha, last.context]
    const rows: StatusRow[] = await snapshot.query<StatusRow>(sha ? PAGE_OF : PAGE, place)
    if (rows.length > 0) yield rows
    last = rows[PAGE_ROWS - 1]
  }
}
