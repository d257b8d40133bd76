import { chmod, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Permission bits of everybody but the owner. */
const OTHERS = 0o077

/**
 * Takes the files of a store from everybody but their owner: LevelDB makes them as the umask says, and a folder that
 * was there before may be open to others. What it makes later is as the umask says again.
 */
export async function makeFilesPrivate(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
  // One that is gone was LevelDB's to remove; one of another user is his to change.
  await Promise.allSettled(files.map(async (file) => await chmod(file, 0o600)))
}

/** The permissions of a folder, as `chmod` takes them, where others than its owner have any. */
export async function permissionsOfOthers(folder: string): Promise<string | undefined> {
  const { mode } = await stat(folder)
  return (mode & OTHERS) === 0 ? undefined : (mode & 0o777).toString(8)
}
