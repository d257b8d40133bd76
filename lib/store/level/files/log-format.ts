import { isChecksumOf, lengthOf } from './checksum.js'

/** Numbers of LevelDB's log format (doc/log_format.md): a log is made of blocks, a block of fragments of records. */
const BLOCK = 32 * 1024
const HEADER = 7
const FULL = 1
const FIRST = 2
const LAST = 4

/** The records of a log of LevelDB: of what was written last, or the versions of the database. */
export interface LogRecords {
  readonly records: readonly Buffer[]
  /**
   * What is not as it was written, in words. A record that a crash cut at the end of the log is none: nobody was told
   * of it.
   */
  readonly damage: readonly string[]
}

/** Reads a log of LevelDB. Unlike LevelDB, it tells a length that has changed from a log that ends early. */
export function readLog(log: Buffer): LogRecords {
  const records: Buffer[] = []
  const damage: string[] = []
  let pieces: Buffer[] = []
  for (let at = 0; at < log.length;) {
    const inBlock = BLOCK - (at % BLOCK)
    const block = log.subarray(at, at + inBlock)
    if (block.length < HEADER) {
      at += inBlock
      continue
    }
    const [stored, length, type] = [block.readUInt32LE(0), block.readUInt16LE(4), block.readUInt8(6)]
    // The type counts as part of the data.
    const [data, end] = [block.subarray(HEADER - 1), HEADER + length]
    if (end > block.length || !isChecksumOf(stored, data.subarray(0, 1 + length))) {
      // What room looks like that a file system gave and that was never written.
      const isEmpty = stored === 0 && length === 0 && type === 0 && log.subarray(at).every((byte) => byte === 0)
      const isTorn = end > block.length && at + inBlock >= log.length && lengthOf(stored, data, 1) === undefined
      if (!isEmpty && !isTorn) damage.push(`what is there at byte ${at} is not what was written`)
      // LevelDB, too, goes on at the next block.
      pieces = []
      at += inBlock
      continue
    }
    if (type === FULL || type === FIRST) pieces = []
    pieces.push(block.subarray(HEADER, end))
    if (type === FULL || type === LAST) records.push(Buffer.concat(pieces))
    at += end
  }
  return { records, damage }
}
