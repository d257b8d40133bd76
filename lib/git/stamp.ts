import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'

/**
 * A file system stamps changes by a clock that stands still for some milliseconds: what changed this recently may
 * change again without a new stamp.
 */
const STAMP_MILLISECONDS = 20

/**
 * Says whether files and folders have changed: equal stamps mean that they have not.
 * @returns `undefined` while they are changing, or did so just now
 */
export async function stampOf(
  paths: readonly string[],
  look: (path: string) => Promise<BigIntStats | undefined> = async (path) => await stat(path, { bigint: true }),
): Promise<string | undefined> {
  const now = Date.now()
  // What cannot be looked at stays so until it changes; whoever reads it meets the error.
  const stamps = await Promise.all(paths.map(async (path) => await look(path).catch(() => undefined)))
  const changing = stamps.some((found) => found && Math.abs(now - Number(found.ctimeMs)) < STAMP_MILLISECONDS)
  return changing ? undefined : stamps.map((found) => (found ? `${found.ino}.${found.ctimeNs}` : '-')).join()
}
