import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** @type {import('typescript')} */
// eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- require tells no types
const ts = createRequire(import.meta.url)('typescript')

const LIBRARY = fileURLToPath(new URL('../../lib/', import.meta.url))

/**
 * Puts a probe at the head of every function of the library: it calls `probe` with the name of the file.
 * @param {string} url
 * @param {object} context
 * @param {(url: string, context: object) => Promise<{ source?: unknown }>} next
 */
export async function load(url, context, next) {
  const loaded = await next(url, context)
  const isOurs = url.startsWith('file:') && fileURLToPath(url).startsWith(LIBRARY)
  if (!isOurs || typeof loaded.source !== 'string') return loaded
  return { ...loaded, source: probed(fileURLToPath(url).slice(LIBRARY.length), loaded.source) }
}

/**
 * @param {string} name
 * @param {string} source
 */
function probed(name, source) {
  /** @type {[position: number, text: string][]} */
  const insertions = []
  const probe = `globalThis.probe?.(${JSON.stringify(name)})`
  /** @param {import('typescript').Node} node */
  const visit = (node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const { body } = node
      if (ts.isBlock(body)) insertions.push([body.getStart() + 1, `${probe};`])
      else insertions.push([body.getStart(), `(${probe},`], [body.getEnd(), ')'])
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS))
  insertions.sort(([one], [other]) => one - other)
  let text = ''
  let end = 0
  for (const [position, inserted] of insertions) {
    text += source.slice(end, position) + inserted
    end = position
  }
  return text + source.slice(end)
}
