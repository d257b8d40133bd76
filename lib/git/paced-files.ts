import { realpathSync, statSync, type BigIntStats, type Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SyncWhileFast } from '../concurrency/sync-while-fast.js'
import { quickStat, undefinedFor } from './stat.js'

/**
 * Looks at files on the thread of the caller while the disk is fast: to hand a look to another thread takes ten times
 * the processor time of the look.
 */
export class PacedFiles {
  readonly pace: SyncWhileFast

  constructor(pace = new SyncWhileFast()) {
    this.pace = pace
  }

  /** `undefined` where nothing is (ENOENT). Rejects where that cannot be told. */
  async stat(path: string): Promise<Stats | undefined> {
    const sync = (): Stats | undefined => statSync(path, { throwIfNoEntry: false }) ?? nothingAt(path)
    return await this.pace.call(sync, () => quickStat(path).catch(undefinedFor('ENOENT')))
  }

  /** As `stat`, with times to the nanosecond. */
  async exactStat(path: string): Promise<BigIntStats | undefined> {
    const sync = (): BigIntStats | undefined =>
      statSync(path, { bigint: true, throwIfNoEntry: false }) ?? nothingAt(path)
    return await this.pace.call(sync, () => stat(path, { bigint: true }).catch(undefinedFor('ENOENT')))
  }

  /** Rejects where nothing is, or that cannot be told. */
  async realpath(path: string): Promise<string> {
    return await this.pace.call(
      () => realpathSync.native(path),
      () => realpath(path),
    )
  }
}

/** Proves it: to newer Node.js nothing is below a file either, which is an error to the system (ENOTDIR). */
function nothingAt(path: string): undefined {
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory()) return undefined
  try {
    statSync(path)
  } catch (error) {
    undefinedFor('ENOENT')(error)
  }
  return undefined
}
