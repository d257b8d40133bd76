import type { ObjectId } from '../../domain/object-id.js'
import type { RepositoryName } from '../../domain/repository-name.js'
import type { CacheEntry } from './list-cache.js'
import type { StatusRow } from './status-columns.js'

/** The most rows of a list that is read together with others. One with more is read by itself. */
export const FEW_ROWS = 100

/** Stands for the digest of a commit without statuses. */
export const NO_STATUS = ''

/** Which list is meant. */
export interface CommitKey {
  readonly repository: RepositoryName
  readonly commit: ObjectId
}

export interface AskedList extends CommitKey {
  /** What is sent again if it has not changed. */
  readonly cached: CacheEntry | undefined
  /** The same for the same question. */
  readonly question: string
}

export interface FoundRows {
  readonly digest: string
  /** None if the cached list is what is there; more than are read together: not all. */
  readonly rows: readonly StatusRow[]
}
