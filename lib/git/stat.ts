import { existsSync, stat as statCallback, statSync, type Stats } from 'node:fs'
import { promisify } from 'node:util'

/** As `stat` of node:fs/promises, in about a quarter less processor time: for what every request asks. */
export const quickStat = promisify(statCallback)

/** Ways to look at a file; where there is none, they may throw or say so with `undefined`. */
export interface FileSystem {
  stat(path: string): Promise<Stats>
  statSync(path: string): Stats | undefined
  /** `false` also where it cannot be determined. */
  existsSync(path: string): boolean
}

export const fileSystem: FileSystem = {
  stat: quickStat,
  existsSync,
  statSync: (path) => statSync(path, { throwIfNoEntry: false }),
}

/**
 * Another text for every folder that ever was.
 * @returns `undefined` where the file system does not report when a folder was made: its number may be given again
 */
export function identityOf({ dev, ino, birthtimeMs }: Stats): string | undefined {
  /* c8 ignore next -- those of the specs report it */
  return birthtimeMs > 0 ? `${dev} ${ino} ${birthtimeMs}` : undefined
}
