import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './checkout.js'
import { run } from './child.js'
import { SetUpFailure } from './failure.js'
import { fingerprint } from './fingerprint.js'

const project = 'config/tsconfig.build.json'
const stamp = join(root, 'build/compiled.json')
const outputs = ['build/lib', 'build/config', 'build/scripts'].map((name) => join(root, name))
const entry = join(root, 'build/scripts/cli/main.js')

/** Whether build/ holds what the sources say. */
export function isCurrent() {
  if (!existsSync(join(root, 'lib/index.ts'))) return true // the npm package: it brings what was compiled
  return existsSync(entry) && existsSync(stamp) && readFileSync(stamp, 'utf8') === state()
}

/** Compiles the TypeScript sources. */
export async function make() {
  // Taken before the compiler reads the sources: what changes meanwhile is compiled next time.
  const compiled = state()
  // The stamp goes first and comes last: an interrupted run leaves none. The old outputs go too,
  // as those of removed sources would stay.
  for (const path of [stamp, ...outputs]) rmSync(path, { recursive: true, force: true })
  const code = await run([process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '-p', project])
  if (code !== 0) {
    throw new SetUpFailure('the sources do not compile', {
      mend: 'correct what the compiler names above, then run the same command again',
    })
  }
  for (const file of filesIn('lib').filter(isServed)) {
    mkdirSync(dirname(join(root, 'build', file)), { recursive: true })
    copyFileSync(join(root, file), join(root, 'build', file))
  }
  writeFileSync(stamp, compiled)
  return 'compiled the sources'
}

/** What the stamp says when it belongs to the sources as they are now. */
function state() {
  const files = [
    'tsconfig.json',
    'node_modules/typescript/package.json',
    ...filesIn('lib').filter((file) => isSource(file) || isServed(file)),
    ...filesIn('config'),
    ...filesIn('scripts/cli').filter(isSource),
  ]
  const contents = files.map((file) => [file, existsSync(join(root, file)) && readFileSync(join(root, file), 'utf8')])
  return `${JSON.stringify({ key: fingerprint(contents) })}\n`
}

/** Whether the service answers with it: beside the compiled source that reads it, it stands as it is. */
const isServed = (/** @type {string} */ file) => /\.(?:json|css|js|svg)$/.test(file)

const isSource = (/** @type {string} */ file) => file.endsWith('.ts')

/** @returns {string[]} paths from the root, in an order that is always the same */
function filesIn(/** @type {string} */ folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : []
    })
}
