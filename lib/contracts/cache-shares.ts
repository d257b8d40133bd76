import { defaultOf } from '../../config/settings.js'
import type { CacheName } from './meter.js'

/** Bytes that each cache may take, about: as V8 counts them, with what a cache needs itself. */
export type CacheShares = Readonly<Record<CacheName, number>>

/** Shares the setting `cache.megabytes` out. A commit that is remembered saves as much as a list, and is smaller. */
export function cacheShares(megabytes = defaultOf('cache.megabytes')): CacheShares {
  const sixteenth = (megabytes * 1024 * 1024) / 16
  return { lists: 8 * sixteenth, commits: 6 * sixteenth, tokens: sixteenth, grants: sixteenth }
}
