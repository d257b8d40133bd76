import type { Html } from './html.js'

/**
 * Rows of as many items from the first on as have room: texts of others may be long. No others are made.
 * @param bytes how much room there is; where there is any, there is one row at least
 */
export function fitting<Item>(items: readonly Item[], bytes: number, rowOf: (item: Item) => Html): readonly Html[] {
  const rows: Html[] = []
  let taken = 0
  for (const item of bytes > 0 ? items : []) {
    const row = rowOf(item)
    taken += Buffer.byteLength(row.toString())
    if (rows.length > 0 && taken > bytes) break
    rows.push(row)
  }
  return rows
}
