import type { StoreContents } from '../contracts/store-administration.js'
import type { Store } from '../contracts/store.js'
import type { Task } from '../concurrency/task.js'

/** What is in a store. */
export interface StoreStatistics {
  /** Those that have statuses. */
  readonly repositories: number
  readonly commits: number
  readonly statuses: number
  readonly tokens: number
  readonly grants: number
  /** On disk. */
  readonly bytes: number
  /** When the earliest and the latest status were reported; `null` where there is none. */
  readonly oldest: string | null
  readonly newest: string | null
  /** The repositories with the most statuses. */
  readonly top: readonly RepositoryCount[]
}

export interface RepositoryCount {
  readonly repository: string
  readonly statuses: number
}

/** Counts what is in a store. */
export async function* storeStatistics(store: Store, contents: StoreContents, top: number): Task<StoreStatistics> {
  const topRepositories = new TopRepositories(top)
  let [repositories, commits, statuses] = [0, 0, 0]
  let [repository, sha] = ['', '']
  let ofRepository = 0
  let [oldest, newest]: [string | null, string | null] = [null, null]
  for await (const page of contents.pages()) {
    for (const {
      repository: { full },
      status,
    } of page.statuses) {
      if (full !== repository) {
        topRepositories.add({ repository, statuses: ofRepository })
        ;[repository, sha, ofRepository] = [full, '', 0]
        repositories++
      }
      if (status.sha !== sha) commits++
      sha = status.sha
      ofRepository++
      // Times of this form sort as text.
      if (oldest === null || status.updated_at < oldest) oldest = status.updated_at
      if (newest === null || status.updated_at > newest) newest = status.updated_at
    }
    statuses += page.statuses.length
    yield { progress: { phase: 'counting', done: statuses, share: page.share } }
  }
  topRepositories.add({ repository, statuses: ofRepository })
  const [tokens, grants, bytes] = await Promise.all([store.tokens.list(), store.grants.list(), contents.bytes()])
  return {
    repositories,
    commits,
    statuses,
    tokens: tokens.length,
    grants: grants.length,
    bytes,
    oldest,
    newest,
    top: topRepositories.repositories,
  }
}

/** The repositories with the most statuses, the largest first. */
class TopRepositories {
  readonly #max: number
  #repositories: readonly RepositoryCount[] = []

  constructor(max: number) {
    this.#max = max
  }

  get repositories(): readonly RepositoryCount[] {
    return this.#repositories
  }

  add(count: RepositoryCount): void {
    if (count.statuses === 0) return
    this.#repositories = [...this.#repositories, count]
      .sort((one, other) => other.statuses - one.statuses)
      .slice(0, this.#max)
  }
}
