import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { root } from '../set-up/checkout.js'
import { run } from '../set-up/child.js'
import { SetUpFailure } from '../set-up/failure.js'
import { members, readJson } from '../set-up/json.js'
import { npm } from '../set-up/packages.js'
import { linkedLibraries } from './binaries.js'

/**
 * A program that runs from wherever it lies, and what it is linked to.
 * @typedef {{ folder: string, node: string, libraries: ReturnType<typeof linkedLibraries> }} Tree
 */

/** What only a build needs, of what package.json asks for. */
const BUILD_ONLY = ['nan', 'node-gyp']

/** What nobody runs: types, sources, maps, hidden files, and prose but for licences. */
const IDLE = /^\.|(?:\.(?:[cm]?ts|map|md|markdown|html|cc|h|gyp|gypi|flow|yml)|\.musl\.node|tsconfig\.json)$/
const IDLE_FOLDERS = ['benchmark', 'benchmarks', 'deps', 'docs', 'example', 'examples', 'test', 'tests']

const PROGRAMS = [
  ...['bin/node', 'scripts/commit-status'],
  ...['config/cgit-filter.sh', 'config/commit-status-report', 'config/ssh-command.sh'],
]

/** The same program as in a checkout, by the Node.js that lies beside it. */
const PROGRAM = `#!/bin/sh
# Runs commit-status on the Node.js that it comes with.
here=$(dirname "$(readlink -f "$0")")
exec "$here/../bin/node" "$here/commit-status.js" "$@"
`

/**
 * Puts together all that runs, and nothing that only a build needs.
 * @param {string} folder that is made
 * @param {{ version: string, folder: string }} node
 * @returns {Promise<Tree>}
 */
export async function makeTree(folder, node) {
  for (const file of ownFiles()) copy(join(root, file), join(folder, file))
  const { devDependencies: _, scripts: __, bundleDependencies: ___, ...manifest } = readJson(join(root, 'package.json'))
  write(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  write(join(folder, 'scripts/commit-status'), PROGRAM)
  for (const path of runtimePackages()) copyPackage(path, folder)

  copy(join(node.folder, 'bin/node'), join(folder, 'bin/node'))
  copy(join(node.folder, 'LICENSE'), join(folder, 'bin/LICENSE'))
  const binary = join(folder, 'node_modules/nodegit/build/Release/nodegit.node')
  mkdirSync(dirname(binary), { recursive: true })
  const build = join(root, 'scripts/package/libgit2.js')
  // With Node's own header files: those of another Node give a binary that does not run.
  if ((await run([join(node.folder, 'bin/node'), build, binary])) !== 0)
    throw new SetUpFailure(`libgit2 could not be built for Node ${node.version}`, { mend: 'see above' })
  const binaries = filesIn(folder).filter((file) => file.endsWith('.node') || file === 'bin/node')
  for (const file of binaries) execFileSync('strip', ['--strip-unneeded', join(folder, file)])
  for (const file of filesIn(folder)) chmodSync(join(folder, file), PROGRAMS.includes(file) ? 0o755 : 0o644)
  const libraries = linkedLibraries(binaries.map((file) => join(folder, file)))
  return { folder, node: node.version, libraries }
}

/** What npm would pack of this checkout itself, but for what makes or tests it. */
function ownFiles() {
  const args = [...npm(), 'pack', '--dry-run', '--ignore-scripts', '--json']
  const options = { cwd: root, encoding: /** @type {const} */ ('utf8'), maxBuffer: 1e8 }
  const [packed] = Object.values(
    members(JSON.parse(execFileSync('/usr/bin/env', args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] }))),
  )
  const files = members(packed)['files']
  if (!Array.isArray(files)) throw new Error('npm pack names no files')
  return files
    .map((file) => String(members(file)['path']))
    .filter((path) => !/^node_modules\/|\.d\.ts$|^scripts\/(?!commit-status|.*\.md$)/.test(path))
}

/** Folders of the packages that run, each from node_modules on. */
function runtimePackages() {
  const locked = readJson(join(root, 'package-lock.json'), 'packages')
  /** @type {Set<string>} */
  const found = new Set()
  const add = (/** @type {string} */ from, /** @type {string[]} */ names) => {
    for (const name of names) {
      const path = resolved(locked, from, name)
      // A package for another platform is named and not there.
      if (path === undefined || found.has(path) || !existsSync(join(root, path))) continue
      found.add(path)
      const { dependencies, optionalDependencies } = members(locked[path])
      const needs = Object.keys({ ...members(dependencies ?? {}), ...members(optionalDependencies ?? {}) })
      // What nodegit itself runs, package.json asks for.
      if (name !== 'nodegit') add(path, needs)
    }
  }
  const wanted = Object.keys(readJson(join(root, 'package.json'), 'dependencies'))
  add(
    '',
    wanted.filter((name) => !BUILD_ONLY.includes(name)),
  )
  return [...found].sort()
}

/**
 * Where a package finds another one.
 * @param {Record<string, unknown>} locked
 * @param {string} from
 * @param {string} name
 * @returns {string | undefined}
 */
function resolved(locked, from, name) {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`
  if (locked[path] !== undefined) return path
  return from === '' ? undefined : resolved(locked, from.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), name)
}

function copyPackage(/** @type {string} */ path, /** @type {string} */ folder) {
  const from = join(root, path)
  const isLibgit2 = path === 'node_modules/nodegit'
  cpSync(from, join(folder, path), {
    recursive: true,
    filter: (file) => {
      const name = basename(file)
      if (file === from) return true
      if (name === 'node_modules' || IDLE_FOLDERS.includes(name)) return false
      if (dirname(file) === from && isLibgit2) return ['lib', 'package.json', 'LICENSE'].includes(name)
      if (basename(dirname(file)) === 'prebuilds') return name === `linux-${process.arch}`
      if (/^licen[cs]e/i.test(name)) return true
      return !IDLE.test(name) && !isCommand(file)
    },
  })
  const licence = 'vendor/libgit2/COPYING'
  if (isLibgit2) copy(join(from, licence), join(folder, path, 'LICENSE.libgit2'))
}

/** Whether a file is a program, for the Node.js of whoever has one. */
function isCommand(/** @type {string} */ file) {
  return statSync(file).isFile() && readFileSync(file).subarray(0, 2).toString('latin1') === '#!'
}

function copy(/** @type {string} */ from, /** @type {string} */ to) {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

/** Writes a file, and the folders to it. */
export function write(/** @type {string} */ file, /** @type {string | Buffer} */ text, mode = 0o644) {
  mkdirSync(dirname(file), { recursive: true })
  rmSync(file, { force: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}

/** Files below a folder, from there on, in an order that is always the same. */
export function filesIn(/** @type {string} */ folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}
