import { randomBytes } from 'node:crypto'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The file that the proof is made with. LevelDB passes over it; a crash may leave it behind. */
export const SPACE_PROBE = 'room'

/** What must fit onto the disk besides what LevelDB writes when it opens: all that its logs hold, as a table. */
const SPACE_BYTES = 1024 * 1024

/** Proves that the disk takes as much as the next opening of a database may need; rejects when it does not. */
export async function assertFreeSpace(folder: string): Promise<void> {
  const logs = (await readdir(folder)).filter((name) => name.endsWith('.log'))
  const sizes = await Promise.all(logs.map(async (name) => (await stat(join(folder, name))).size))
  const path = join(folder, SPACE_PROBE)
  try {
    const file = await open(path, 'w', 0o600)
    try {
      // Random, since a file system may compress.
      const piece = randomBytes(SPACE_BYTES)
      for (let left = sizes.reduce((sum, size) => sum + size, SPACE_BYTES); left > 0; left -= piece.length)
        await file.writeFile(piece.subarray(0, left))
      await file.sync()
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}
