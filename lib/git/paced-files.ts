import { realpathSync, statSync, type BigIntStats, type Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { SyncWhileFast } from '../concurrency/sync-while-fast.js'
import { quickStat, undefinedFor } from './stat.js'

/**
 * Looks at files on the thread of the caller while the disk is fast: to hand a look to another thread takes ten times
 * the processor time of the look.
 */
export class PacedFiles {
  readonly #pace: SyncWhileFast

  constructor(pace = new SyncWhileFast()) {
    this.#pace = pace
  }

  /** `undefined` where nothing is (ENOENT). Rejects where that cannot be told. */
  async stat(path: string): Promise<Stats | undefined> {
    const sync = (): Stats | undefined => statSync(path, { throwIfNoEntry: false })
    return await this.#pace.call(sync, () => quickStat(path).catch(undefinedFor('ENOENT')))
  }

  /** As `stat`, with times to the nanosecond. */
  async exactStat(path: string): Promise<BigIntStats | undefined> {
    const sync = (): BigIntStats | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })
    return await this.#pace.call(sync, () => stat(path, { bigint: true }).catch(undefinedFor('ENOENT')))
  }

  /** Rejects where nothing is, or that cannot be told. */
  async realpath(path: string): Promise<string> {
    return await this.#pace.call(
      () => realpathSync.native(path),
      () => realpath(path),
    )
  }
}
