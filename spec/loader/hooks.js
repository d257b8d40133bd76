import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** What was made of a source once; each spec has a process of its own, and they share most sources. */
const CACHE = new URL('../../build/spec-cache/', import.meta.url)

/**
 * TypeScript is imported by the name that it has once it is compiled.
 * @template Found
 * @param {string} specifier
 * @param {{ parentURL?: string | undefined }} context
 * @param {(specifier: string, context: object) => Found} next
 */
export function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js')) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL)
    if (existsSync(url)) return { url: url.href, format: 'module', shortCircuit: true }
  }
  return next(specifier, context)
}

/**
 * @template Loaded
 * @param {string} url
 * @param {object} context
 * @param {(url: string, context: object) => Loaded} next
 */
export function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const path = fileURLToPath(url)
  const text = readFileSync(path, 'utf8')
  const made = new URL(`${createHash('sha256').update(`${path}\n${text}`).digest('hex')}.js`, CACHE)
  const source = existsSync(made) ? readFileSync(made, 'utf8') : make(made, path, text)
  return { format: 'module', source, shortCircuit: true }
}

/**
 * @param {URL} made where the JavaScript is kept
 * @param {string} path
 * @param {string} text
 */
function make(made, path, text) {
  // Only here: it takes longer to load than all that is made already.
  /** @type {import('esbuild')} */
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- require tells no types
  const { transformSync } = createRequire(import.meta.url)('esbuild')
  const { code } = transformSync(text, {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    sourcefile: path,
  })
  mkdirSync(CACHE, { recursive: true })
  // Others may read it while it is written.
  const own = new URL(`${made.href}.${process.pid}`)
  writeFileSync(own, code)
  renameSync(own, made)
  return code
}
