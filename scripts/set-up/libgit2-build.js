import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { SetUpFailure } from './failure.js'
import { copySources } from './libgit2-sources.js'
import { reasonLines, runWithLog } from './log.js'
import { nodeHeaders } from './node.js'
import { say, secondsSince, withProgress } from './progress.js'
import { ensureSystemPackages } from './system-packages.js'

const jobs = availableParallelism()

/**
 * Compiles nodegit and its libgit2 and hands the binary to `keep`.
 *
 * In a fresh copy of its sources each time: a build that was interrupted cannot spoil the next
 * one, not even when its compiler still runs, and node_modules stays as npm made it.
 *
 * @param {{ nodegit: { folder: string }, headerFiles: string[], folder: string,
 *   flags: { c: string, cxx: string }, keep: (binary: string) => void }} job
 *   folder: where the copy, the log and the products live
 */
export async function build({ nodegit, headerFiles, folder, flags, keep }) {
  refuseUnsafePath(folder)
  const headers = nodeHeaders()
  await ensureSystemPackages()
  say(`building libgit2 with SHA-256 for Node ${process.versions.node} (takes about a minute, only this once)`)

  const log = join(folder, 'build.log')
  const copy = await copySources(nodegit.folder, folder)
  const removeCopy = () => rmSync(copy, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', removeCopy) // when a signal ends the set-up
  try {
    for (const file of headerFiles) copyFileSync(file, join(copy, basename(file)))
    const nodeGyp = createRequire(join(nodegit.folder, 'package.json')).resolve('node-gyp/bin/node-gyp.js')
    const command = [process.execPath, nodeGyp, 'rebuild', `--nodedir=${headers}`, `--jobs=${jobs}`]
    const env = environment(nodegit.folder, copy, flags)
    const building = () => runWithLog(log, command, { cwd: copy, env, grace: 0 })
    const code = await withProgress(progressOf(copy, log), building)
    const binary = join(copy, 'build/Release/nodegit.node')
    if (code !== 0) throw failure('libgit2 could not be built', log)
    // A missing symbol shows only when the binary is loaded.
    const check = [process.execPath, '-e', 'process.dlopen({ exports: {} }, process.argv[1])', binary]
    const loadLog = join(folder, 'load.log')
    if ((await runWithLog(loadLog, check)) !== 0) throw failure('libgit2 was built but cannot be loaded', loadLog)
    keep(binary)
  } finally {
    process.off('exit', removeCopy)
    removeCopy()
  }
}

/** make takes these characters apart. */
function refuseUnsafePath(/** @type {string} */ folder) {
  const [unsafe] = /[\s"#$&'`\\%:;()*?[\]<>|!{}~^]/.exec(folder) ?? []
  if (unsafe === undefined) return
  const name = /\s/.test(unsafe) ? 'white space' : unsafe
  throw new SetUpFailure(`libgit2 cannot be built in a path that contains ${name}: ${folder}`, {
    mend: 'move the folder to a path without it (mv), then run the same command again',
  })
}

/**
 * @param {string} sources
 * @param {string} copy
 * @param {{ c: string, cxx: string }} flags
 * @returns {NodeJS.ProcessEnv}
 */
function environment(sources, copy, flags) {
  // npm's config is stronger than node-gyp's command line, and make's own variables change what it prints.
  const foreign = /^(npm_config_(?!python$)|npm_package_|MAKE|MFLAGS$|V$|BUILDTYPE$)/i
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return {
    ...Object.fromEntries(own),
    LC_ALL: 'C',
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
    // Modules that nodegit's build scripts load are found from the copy as from the original.
    NODE_PATH: (createRequire(join(sources, 'package.json')).resolve.paths('nan') ?? []).join(delimiter),
    // Wherever it is built, the binary is the same.
    CFLAGS: `${flags.c} -ffile-prefix-map=${copy}=.`,
    // nodegit names no C++ standard itself once CXXFLAGS is set, hence the one in the flags.
    CXXFLAGS: `${flags.cxx} -ffile-prefix-map=${copy}=. -include ${copy}/libgit2-bridge.h`,
  }
}

/** How far make has come, by how long the compiler takes for what it has begun and ended. */
function progressOf(/** @type {string} */ copy, /** @type {string} */ log) {
  const start = performance.now()
  let total = 0
  return () => {
    const seconds = secondsSince(start)
    const begun = readFileSync(log, 'utf8').match(/(?<=^ +(CC|CXX)\(target\) ).*/gm) ?? []
    if (begun.length === 0) return `libgit2: preparing, ${seconds} s`
    total ||= weightOf(objectsIn(join(copy, 'build')))
    const percent = Math.min(99, Math.floor((100 * weightOf(begun.slice(0, -jobs))) / total))
    return `libgit2: ${percent} %, ${seconds} s`
  }
}

/** In files of C, of which a joined file of C++ takes as long as 25. */
function weightOf(/** @type {string[]} */ objects) {
  return objects.reduce((sum, object) => sum + (object.includes('/joined-') ? 25 : 1), 0)
}

/** @returns the object files that the generated makefiles name */
function objectsIn(/** @type {string} */ folder) {
  // The others are variants of http_parser that nothing uses.
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.target.mk') && !name.endsWith('strict.target.mk'),
  )
  return names.flatMap((name) => readFileSync(join(folder, name), 'utf8').match(/(?<=^\t\$\(obj\))\S+\.o\b/gm) ?? [])
}

function failure(/** @type {string} */ message, /** @type {string} */ log) {
  return new SetUpFailure(message, {
    lines: reasonLines(log, /\berror\b|fatal|cannot find|No space left|Killed|undefined symbol/i),
    mend: `remove the cause named above, then run the same command again; the whole output: ${log}`,
  })
}
