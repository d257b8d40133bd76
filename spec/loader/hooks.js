import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** What was made of a source once; each spec has a process of its own, and they share most sources. */
const CACHE = new URL('../../build/spec-cache/', import.meta.url)

/**
 * TypeScript is imported by the name that it has once it is compiled.
 * @type {import('node:module').ResolveHook}
 */
export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js')) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL)
    if (existsSync(url)) return { url: url.href, format: 'module', shortCircuit: true }
  }
  return await next(specifier, context)
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return await next(url, context)
  const path = fileURLToPath(url)
  const text = await readFile(path, 'utf8')
  const made = new URL(`${createHash('sha256').update(`${path}\n${text}`).digest('hex')}.js`, CACHE)
  const source = await readFile(made, 'utf8').catch(() => make(made, path, text))
  return { format: 'module', source, shortCircuit: true }
}

/**
 * @param {URL} made where the JavaScript is kept
 * @param {string} path
 * @param {string} text
 */
async function make(made, path, text) {
  const { transform } = await import('esbuild')
  const { code } = await transform(text, {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    sourcefile: path,
  })
  await mkdir(CACHE, { recursive: true })
  // Others may read it while it is written.
  const own = new URL(`${made.href}.${process.pid}`)
  await writeFile(own, code)
  await rename(own, made)
  return code
}
