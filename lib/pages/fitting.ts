import type { Html } from './html.js'

/**
 * As many rows from the first on as have room: texts of others may be long.
 * @param bytes how much room there is; where there is any, there is one row at least
 */
export function fitting(rows: readonly Html[], bytes: number): readonly Html[] {
  if (bytes <= 0) return []
  let taken = 0
  const end = rows.findIndex((row, index) => {
    taken += Buffer.byteLength(row.toString())
    return index > 0 && taken > bytes
  })
  return end === -1 ? rows : rows.slice(0, end)
}
