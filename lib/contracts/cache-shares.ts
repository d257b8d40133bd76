import { defaultOf } from '../../config/settings.js'
import type { CacheName } from './meter.js'

/** Bytes that each cache may take, about: as V8 counts them, with what a cache needs itself. */
export type CacheShares = Readonly<Record<CacheName, number>>

/**
 * Shares the setting `cache.megabytes` out. A commit that is remembered saves as much as a list, and is smaller; an
 * answer of another API stands beside its list. 100,000 refs take some 3 MB.
 */
export function cacheShares(megabytes = defaultOf('cache.megabytes')): CacheShares {
  const share = (megabytes * 1024 * 1024) / 64
  return {
    lists: 18 * share,
    commits: 15 * share,
    answers: 7.5 * share,
    tokens: 4 * share,
    grants: 4 * share,
    counts: 4 * share,
    refLists: 4 * share,
    pages: 3 * share,
    logs: 2 * share,
    contents: share,
    lines: 0.5 * share,
    refs: share,
  }
}
