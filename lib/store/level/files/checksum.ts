import { crc32c } from '@node-rs/crc32'

/** What LevelDB adds to a checksum that it stores (util/crc32c.h). */
const MASK_DELTA = 0xa282ead8

/** Whether `stored`, as LevelDB wrote it, is the checksum of `bytes`. */
export function isChecksumOf(stored: number, bytes: Uint8Array): boolean {
  return stored === masked(crc32c(bytes))
}

/** The length of the beginning of `bytes`, at least `least`, that `stored` is the checksum of. */
export function lengthOf(stored: number, bytes: Uint8Array, least: number): number | undefined {
  let crc = crc32c(bytes.subarray(0, least))
  for (let length = least; length <= bytes.length; length++) {
    if (masked(crc) === stored) return length
    crc = crc32c(bytes.subarray(length, length + 1), crc)
  }
  return undefined
}

function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0
}
