import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.js'
import { run } from './child.js'
import { fingerprint } from './fingerprint.js'
import { tool } from './tap.js'

/** What the checks found is kept here: a file that has not changed since is not checked again. */
const folder = 'build/checked'
const types = `${folder}/types`

/** Checks types, format and style of the whole checkout; what is wrong is the end. */
export async function lint() {
  await check('types', 'tsc', ...forTypes())
  await check('format', 'prettier', ...forFormat())
  await check('lint', 'eslint', ...forLint())
}

/**
 * Runs a tool that npm has installed; a failure is the end.
 * @param {string} heading
 * @param {string} name
 * @param {string[]} args
 */
export async function check(heading, name, ...args) {
  console.log(`\n== ${heading}: ${[name, ...args].join(' ')}`)
  const code = await run(tool(name, ...args))
  if (code !== 0) process.exit(code)
}

/** Arguments for tsc. It writes what each file declares, for eslint. */
function forTypes() {
  const kept = ['--incremental', '--tsBuildInfoFile', `${types}/state`]
  return ['-p', 'tsconfig.json', '--noEmit', 'false', '--emitDeclarationOnly', '--outDir', types, ...kept]
}

/** Arguments for prettier. */
function forFormat() {
  const kept = ['--cache', '--cache-strategy', 'content', '--cache-location', `${folder}/format`]
  return ['--check', '--log-level', 'warn', ...kept, '**/*.{ts,js,json,css}']
}

/**
 * Arguments for eslint, once tsc has run. Its rules look at a file and at the types of what the file imports: what they
 * found holds as long as the file is the same, and all that any file declares.
 */
function forLint() {
  const name = `lint-${declared()}`
  const before = readdirSync(join(root, folder)).filter((file) => file.startsWith('lint-') && file !== name)
  for (const file of before) rmSync(join(root, folder, file))
  const kept = ['--cache', '--cache-strategy', 'content', '--cache-location', `${folder}/${name}`]
  return ['.', '--max-warnings', '0', ...kept]
}

/** A name for the types of this checkout: of every file, and of the packages. */
function declared() {
  const settings = ['package-lock.json', 'tsconfig.json', 'eslint.config.js']
  const declarations = readdirSync(join(root, types), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.d.ts'))
    .sort()
    .map((file) => `${types}/${file}`)
  return fingerprint([...settings, ...declarations].map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}
