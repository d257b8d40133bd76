import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { root } from './checkout.js'
import { codeOf, SetUpFailure } from './failure.js'
import { fingerprint } from './fingerprint.js'
import { readJson } from './json.js'

// nodegit with a libgit2 that reads SHA-256 repositories. The product of the build is kept in
// build/libgit2/, as npm empties node_modules on each change of any dependency, and copied from
// there to the place where nodegit looks for it.

const ours = (/** @type {string} */ name) => join(root, 'scripts/set-up', name)
const headerFiles = ['libgit2-bridge.h', 'libgit2-open.h'].map(ours)
const folder = join(root, 'build/libgit2')

/** Whether nodegit has the binary that belongs to our changes, nodegit and Node. */
export function isCurrent() {
  const nodegit = locateNodegit()
  if (nodegit === undefined) return false
  const kept = statSync(keptBinary(nodegit), { throwIfNoEntry: false })
  const used = statSync(usedBinary(nodegit), { throwIfNoEntry: false })
  return kept !== undefined && kept.size === used?.size && kept.mtimeMs === used.mtimeMs
}

/** Builds the binary, unless it has been built before, and gives it to nodegit. */
export async function make() {
  const { nodegit, kept, known } = await built()
  copyWhole(kept, usedBinary(nodegit))
  return known ? 'gave nodegit the libgit2 built before' : 'built libgit2'
}

/** The binary for this Node, which is built unless it is there. */
export async function built() {
  const nodegit = locateNodegit()
  if (nodegit === undefined)
    throw new SetUpFailure('nodegit is not installed', {
      mend: 'install the package from a tarball that `npm pack` made in its checkout, not through a symbolic link',
    })
  const kept = keptBinary(nodegit)
  const known = existsSync(kept)
  if (!known) {
    const { build } = await import('./libgit2-build.js')
    await build({ nodegit, headerFiles, folder, flags: flags(), keep: (binary) => copyWhole(binary, kept) })
    // Those of other Nodes stay, so that one can go back and forth between them.
    for (const name of readdirSync(folder)) {
      if (name.startsWith(`${variant()}-`) && name !== nameOf(nodegit)) rmSync(join(folder, name), { recursive: true })
    }
  }
  return { nodegit, kept, known }
}

/** @typedef {{ folder: string, version: string, nan: string }} Nodegit */

/** @returns {Nodegit | undefined} the nodegit that this package gets when it imports it */
function locateNodegit() {
  try {
    const file = createRequire(join(root, 'package.json')).resolve('nodegit/package.json')
    const nan = createRequire(file).resolve('nan/package.json')
    return { folder: dirname(file), version: versionIn(file), nan: versionIn(nan) }
  } catch (error) {
    if (codeOf(error) === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

const versionIn = (/** @type {string} */ file) => String(readJson(file)['version'])
const keptBinary = (/** @type {Nodegit} */ nodegit) => join(folder, nameOf(nodegit), 'nodegit.node')
const usedBinary = (/** @type {Nodegit} */ nodegit) => join(nodegit.folder, 'build/Release/nodegit.node')

function flags() {
  const standard = Number(process.versions.modules) >= 131 ? 'c++20' : 'c++17'
  const sha256 = '-DGIT_EXPERIMENTAL_SHA256'
  // As distributions optimise it; more takes longer to compile and finds no commit sooner.
  return { c: `${sha256} -O2`, cxx: `${sha256} -std=${standard}` }
}

/** Names what the binary depends on, and nothing else: what is not in here causes no build. */
function nameOf(/** @type {Nodegit} */ { version, nan }) {
  const changes = [...headerFiles, ours('libgit2-local.js')].map((file) => readFileSync(file, 'utf8'))
  return `${variant()}-${fingerprint([changes, flags(), version, nan])}`
}

/** Binaries of different variants do not take each other's place. */
function variant() {
  const { platform, arch, versions } = process
  return `${platform}-${arch}-${libc()}-node${versions.modules}`
}

/** A folder may be shared with a container of another Linux; asking the system itself is slow. */
function libc() {
  try {
    const ldd = readFileSync('/usr/bin/ldd', 'utf8')
    return ldd.includes('musl') ? 'musl' : `glibc${/\) (\d+\.\d+)/.exec(ldd)?.[1]}`
  } catch {
    return 'libc' // not a Linux with this file: the platform has to do
  }
}

/** Copies a file so that the copy is whole and on disk, or not there, and has the same time. */
function copyWhole(/** @type {string} */ from, /** @type {string} */ to) {
  mkdirSync(dirname(to), { recursive: true })
  const partial = `${to}.partial`
  copyFileSync(from, partial)
  // Whole seconds: every file system keeps them exactly, and `isCurrent` compares them.
  const time = Math.floor(statSync(from).mtimeMs / 1000)
  utimesSync(partial, time, time)
  const file = openSync(partial, 'r+')
  fsyncSync(file)
  closeSync(file)
  renameSync(partial, to)
}
