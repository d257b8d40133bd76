import { uncompressSync } from 'snappy'
import { Bytes } from './bytes.js'
import { isChecksumOf } from './checksum.js'
import type { TableFile, TableRange } from './manifest.js'

/** Numbers of LevelDB's table format (doc/table_format.md). */
const FOOTER = 48
const MAGIC = 0xdb4775248b80fb57n
const SNAPPY = 1
const KEY_TRAILER = 8

interface Block {
  readonly offset: number
  readonly size: number
}

/**
 * The ranges of keys for which a table cannot be trusted, since a checksum in it is wrong. LevelDB does not look at
 * checksums when it reads: a changed key would make an entry vanish without a word.
 * @param bytes the whole file
 * @param whole the range of the table, for when it cannot be told more closely
 */
export function damagedRanges(bytes: Buffer, whole: TableFile): TableRange[] {
  try {
    const footer = new Bytes(bytes.subarray(-FOOTER))
    const [meta, index] = [handle(footer), handle(footer)]
    if (bytes.readBigUInt64LE(bytes.length - 8) !== MAGIC) return [whole]
    const filters = entries(content(bytes, meta)).map(({ block }) => block)
    for (const filter of filters) content(bytes, filter)
    const damaged: TableRange[] = []
    let first = whole.first
    // The key of a block is that of its last entry, or one between that and the next block.
    for (const { key, block } of entries(content(bytes, index))) {
      const last = key.subarray(0, -KEY_TRAILER)
      if (!isWhole(bytes, block)) damaged.push({ first, last })
      first = last
    }
    return damaged
  } catch {
    return [whole]
  }
}

function handle(bytes: Bytes): Block {
  return { offset: bytes.varint(), size: bytes.varint() }
}

function isWhole(bytes: Buffer, { offset, size }: Block): boolean {
  // Behind the data stand one byte for its compression, which counts for the checksum, and the checksum.
  const end = offset + size + 1
  return end + 4 <= bytes.length && isChecksumOf(bytes.readUInt32LE(end), bytes.subarray(offset, end))
}

/** What a block holds. Throws when its checksum is wrong. */
function content(bytes: Buffer, block: Block): Buffer {
  if (!isWhole(bytes, block)) throw new Error('a block is damaged')
  const data = bytes.subarray(block.offset, block.offset + block.size)
  return bytes.readUInt8(block.offset + block.size) === SNAPPY ? Buffer.from(uncompressSync(data)) : data
}

/** The entries of a block whose values name other blocks. Each key goes without what it shares with the one before. */
function entries(block: Buffer): { key: Buffer; block: Block }[] {
  const restarts = block.readUInt32LE(block.length - 4)
  const bytes = new Bytes(block.subarray(0, block.length - 4 * (restarts + 1)))
  const found: { key: Buffer; block: Block }[] = []
  let key = Buffer.alloc(0)
  while (bytes.left > 0) {
    const [shared, own, length] = [bytes.varint(), bytes.varint(), bytes.varint()]
    key = Buffer.concat([key.subarray(0, shared), bytes.take(own)])
    found.push({ key, block: handle(new Bytes(bytes.take(length))) })
  }
  return found
}
