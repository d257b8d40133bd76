/** A page that a client asks for. */
export interface Page {
  /** From 1. */
  readonly number: number
  readonly size: number
}

/** How an API calls the size of a page, and what it may be. */
export interface PageRule {
  readonly parameter: string
  readonly defaultSize: number
  readonly maxSize: number
}

/** What is no page or size counts as the usual one. */
export function pageOf(query: URLSearchParams, { parameter, defaultSize, maxSize }: PageRule): Page {
  return {
    number: positive(query.get('page')) ?? 1,
    size: Math.min(positive(query.get(parameter)) ?? defaultSize, maxSize),
  }
}

export function lastPage({ size }: Page, total: number): number {
  return Math.max(1, Math.ceil(total / size))
}

/**
 * The value of a Link header (RFC 8288) that leads from a page to the others.
 * @param address absolute, without a query
 * @param query of the request, where it changes what is on the pages
 * @returns `undefined` when there is no other page
 */
export function pageLinks(
  address: string,
  query: Readonly<Record<string, string>>,
  { parameter }: PageRule,
  page: Page,
  total: number,
): string | undefined {
  const last = lastPage(page, total)
  if (last === 1 && page.number === 1) return undefined
  const numbers = {
    ...(page.number > 1 && { prev: Math.min(page.number - 1, last) }),
    ...(page.number < last && { next: page.number + 1 }),
    last,
    first: 1,
  }
  const link = ([relation, number]: [string, number]): string => {
    const all = new URLSearchParams({ ...query, page: String(number), [parameter]: String(page.size) })
    return `<${address}?${all.toString()}>; rel="${relation}"`
  }
  return Object.entries(numbers).map(link).join(', ')
}

function positive(text: string | null): number | undefined {
  const number = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 0
  return number > 0 ? number : undefined
}
