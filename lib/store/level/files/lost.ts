import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The file that it stands in, until an admin removes it. LevelDB passes over it. */
const LOST = 'lost.txt'

/**
 * Writes down what LevelDB will pass over when it opens a database, and leave no trace of.
 * @returns all that was written down so far
 */
export async function noteLost(folder: string, damage: readonly string[]): Promise<string[]> {
  const path = join(folder, LOST)
  const known = (await readFile(path, 'utf8').catch(whenAbsent)).split('\n').filter((line) => line !== '')
  const found = damage.filter((words) => !known.includes(words))
  if (found.length > 0) {
    const file = await open(path, 'a', 0o600)
    try {
      await file.write(found.map((words) => `${words}\n`).join(''))
      await file.sync()
    } finally {
      await file.close()
    }
  }
  return [...known, ...found]
}

function whenAbsent(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return ''
  throw error
}
