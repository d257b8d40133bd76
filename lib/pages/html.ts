import { html as template, raw } from 'hono/html'

/** A piece of a page, in which every text has been escaped. */
export type Html = ReturnType<typeof raw>

/** What may stand in a piece: texts are escaped, pieces are not. */
export type Content = Html | string | number | false | undefined | readonly Content[]

/** A tagged template that escapes, in attributes too; those must have double quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  const made = template(unindented(strings), ...values)
  /* c8 ignore next -- its type allows promises in it, ours does not */
  if (made instanceof Promise) throw new TypeError('there is no promise in a page')
  return made
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
