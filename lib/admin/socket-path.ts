import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** What every system takes as the path of a Unix socket (sun_path has 104 bytes on some, 108 on Linux). */
const MAX_BYTES = 103

/** What is left for the folder of the link, which TMPDIR names: it may be long itself. */
const MAX_FOLDER_BYTES = MAX_BYTES - '/cst-XXXXXX/s/socket'.length

/**
 * Where a store's administration socket stands: in a folder of its own that only the owner may enter.
 * @param folder of the store
 */
export function socketPath(folder: string): string {
  return join(folder, 'admin', 'socket')
}

/**
 * Listens on or connects to a socket whose path may be longer than the system allows: `use` gets a short path to it,
 * through a symbolic link that is gone when its promise settles.
 */
export async function withShortPath<T>(path: string, use: (short: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(path) <= MAX_BYTES) return await use(path)
  const folder = await mkdtemp(join(Buffer.byteLength(tmpdir()) <= MAX_FOLDER_BYTES ? tmpdir() : '/tmp', 'cst-'))
  try {
    const link = join(folder, 's')
    await symlink(dirname(path), link)
    return await use(join(link, basename(path)))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
