import { html, type Content } from './html.js'

export type Way = readonly [rel: 'prev' | 'next', address: string, text: string]

/** The ways to the rows before and behind those of a page, if any. */
export function turn(...ways: readonly (Way | false)[]): Content {
  const links = ways.filter((way) => way !== false)
  return (
    links.length > 0 &&
    html`<p class="turn">
      ${links.map(([rel, address, text]) => html`<a href="${address}" rel="${rel}">${text}</a> `)}
    </p>`
  )
}
