import type { Html } from './html.js'

/** What the rows of a page may take, so that the whole of it has at most 20 kB. */
const MAX_ROW_BYTES = 14_000

/** As many rows from the first on as fit on a page: texts of others may be long. There is one at least. */
export function fitting(rows: readonly Html[]): readonly Html[] {
  let bytes = 0
  const end = rows.findIndex((row, index) => {
    bytes += Buffer.byteLength(row.toString())
    return index > 0 && bytes > MAX_ROW_BYTES
  })
  return end === -1 ? rows : rows.slice(0, end)
}
