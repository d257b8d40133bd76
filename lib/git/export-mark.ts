import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AdministrationError } from '../errors.js'
import { isAbsence, quickStat } from './stat.js'

/** git's own mark of a repository that everybody may read (git-daemon(1)). */
export const EXPORT_MARK = 'git-daemon-export-ok'

/** Marks a repository, or takes its mark away. */
export async function setMark(directory: string, isMarked: boolean): Promise<void> {
  const mark = join(directory, EXPORT_MARK)
  await (isMarked ? makeMark(mark) : rm(mark, { force: true }))
}

/** Never through a link: root would make or keep a file wherever it leads. */
async function makeMark(mark: string): Promise<void> {
  try {
    await writeFile(mark, '', { flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if (await isThere(mark)) return
    throw new AdministrationError(`${mark} is a link that leads nowhere: remove it first`)
  }
}

async function isThere(path: string): Promise<boolean> {
  return await quickStat(path).then(() => true, whenAbsent(false))
}

function whenAbsent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isAbsence(error)) return value
    throw error
  }
}
