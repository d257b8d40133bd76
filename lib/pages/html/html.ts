import { html as template, type SafeHtml } from '@remix-run/html-template'

/** A piece of a page, in which every text has been escaped. */
export type Html = SafeHtml

/** What may stand in a piece: texts are escaped, pieces are not. */
export type Content = Html | string | number | false | undefined | readonly Content[]

/** A tagged template that escapes, in attributes too; those must have quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  return template(unindented(strings), ...values.map(shown))
}

type Shown = Html | string | number | undefined | Shown[]

/** Leaves out what is false: a condition that does not hold shows nothing. */
function shown(value: Content): Shown {
  return value === false ? undefined : isList(value) ? value.map(shown) : value
}

function isList(value: Content): value is readonly Content[] {
  return Array.isArray(value)
}

/** Of each template once; the indentation is for who reads the source. Values are not touched. */
const known = new WeakMap<TemplateStringsArray, TemplateStringsArray>()

function unindented(strings: TemplateStringsArray): TemplateStringsArray {
  const before = known.get(strings)
  if (before) return before
  const texts = strings.map((text) => text.replaceAll(/\n\s+/g, '\n'))
  const made: TemplateStringsArray = Object.assign(texts, { raw: texts })
  known.set(strings, made)
  return made
}
