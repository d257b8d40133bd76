import { html, type Content, type Html } from './html.js'

export type PageLink = readonly [rel: 'prev' | 'next', address: string, text: string]

/** The ways to the rows before and behind those of a page, if any. */
export function pagination(...ways: readonly (PageLink | false)[]): Content {
  const links = ways.filter((way) => way !== false)
  return (
    links.length > 0 &&
    html`<p class="turn">
      ${links.map(([rel, address, text]) => html`<a href="${address}" rel="${rel}">${text}</a> `)}
    </p>`
  )
}

/**
 * Keeps a page within its bytes. A fixed number of rows would not: a text of a status may take kilobytes, and six bytes
 * a character once it is escaped, and is shown whole where it fits. 20 kB arrive in the first round trips of a
 * connection, so that a page loads at once on a poor line.
 *
 * Rows of the longest prefix of items that fits into `bytes`; at least one row if `bytes` > 0, as texts of others may
 * be long. No other rows are made.
 */
export function takeWithin<Item>(items: readonly Item[], bytes: number, toRow: (item: Item) => Html): readonly Html[] {
  const rows: Html[] = []
  let taken = 0
  for (const item of bytes > 0 ? items : []) {
    const row = toRow(item)
    taken += Buffer.byteLength(row.toString())
    if (rows.length > 0 && taken > bytes) break
    rows.push(row)
  }
  return rows
}
