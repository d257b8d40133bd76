import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * A lock as Linux lists it (proc_locks(5)): `1: POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`; process 0 is one of
 * another container.
 */
const LOCK = /^\d+: POSIX +\w+ +WRITE +([1-9]\d*) ([0-9a-f]+):([0-9a-f]+):(\d+) /gm

/** The id of the process that has the LevelDB database of a folder open; `undefined` where it is not known. */
export async function lockHolder(folder: string, list = '/proc/locks'): Promise<number | undefined> {
  try {
    const [locks, { dev, ino }] = await Promise.all([
      readFile(list, 'utf8'),
      stat(join(folder, 'LOCK'), { bigint: true }),
    ])
    const found = [...locks.matchAll(LOCK)].find(
      ([, , major, minor, inode]) =>
        BigInt(`0x${major}`) === majorOf(dev) && BigInt(`0x${minor}`) === minorOf(dev) && BigInt(`${inode}`) === ino,
    )
    return found && Number(found[1])
  } catch {
    return undefined
  }
}

/** As in gnu_dev_major(3). */
function majorOf(dev: bigint): bigint {
  return ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn)
}

function minorOf(dev: bigint): bigint {
  return (dev & 0xffn) | ((dev >> 12n) & ~0xffn & 0xffffffffn)
}
