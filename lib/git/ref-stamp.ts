import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { quickStat } from './stat.js'
import { stampOf } from './stamp.js'

/** Folders of refs that are looked at for one stamp. */
const MAX_FOLDERS = 2_000

/** Entries of a folder that are read at a time. */
const ENTRIES = 1024

/**
 * Shows that no ref of a repository has changed. git puts a new file in the place of one that changes, which its folder
 * has the stamp of: the packed refs, each that is not packed, and the table of contents of a reftable.
 */
export class RefStamp {
  readonly #paths: readonly string[]
  readonly #stamp: string

  private constructor(paths: readonly string[], stamp: string) {
    this.#paths = paths
    this.#stamp = stamp
  }

  /**
   * To be taken before refs are read.
   * @returns `undefined` where they are changing, or where that cannot be seen: refs are elsewhere, or in very many
   *   folders
   */
  static async take(directory: string): Promise<RefStamp | undefined> {
    // The refs of a work tree are those of another repository.
    if (await quickStat(join(directory, 'commondir')).catch(() => undefined)) return undefined
    const folders = [join(directory, 'refs')]
    const paths = [join(directory, 'packed-refs'), join(directory, 'reftable/tables.list'), ...folders]
    let stamp = await stampOf(paths)
    for (const folder of folders) {
      const below = await foldersIn(folder)
      if (!below || folders.length + below.length > MAX_FOLDERS) return undefined
      if (below.length === 0) continue
      // Before they are read: what is made in one meanwhile changes it.
      const stamps = await stampOf(below)
      stamp = stamp === undefined || stamps === undefined ? undefined : `${stamp},${stamps}`
      folders.push(...below)
      paths.push(...below)
    }
    return stamp === undefined ? undefined : new RefStamp(paths, stamp)
  }

  /** Whether everything is as it was. */
  async isCurrent(): Promise<boolean> {
    return (await stampOf(this.#paths)) === this.#stamp
  }
}

/** `undefined` where something leads elsewhere, or cannot be read. */
async function foldersIn(folder: string): Promise<string[] | undefined> {
  const folders: string[] = []
  try {
    for await (const entry of await opendir(folder, { bufferSize: ENTRIES })) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name))
      else if (!entry.isFile()) return undefined
    }
    return folders
  } catch {
    return undefined
  }
}
