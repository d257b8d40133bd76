import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './checkout.js'

const groups = 'build/spec-groups'
/** Long enough that the start of a process is little beside it, short enough that processes end at the same time. */
const FILES_IN_GROUP = 8

/**
 * What a spec says that shares no process. What is set on tap at the top holds for a whole process; so does what is
 * written into its environment.
 */
const alone = /^\/\/ A process of its own: |^t\.(?!test\()|\bprocess\.env\S* = /m

/**
 * Arguments for tap, where a folder stands for the specs in it, and none for all. Specs of a folder share a process,
 * but for those that need one of their own. A file that is named runs alone.
 * @param {readonly string[]} args
 */
export function withSpecsOf(args) {
  const named = args.some((arg) => !arg.startsWith('-'))
  return [...args, ...(named ? [] : ['spec'])].flatMap((arg) => (isFolder(arg) ? inGroups(relative('.', arg)) : [arg]))
}

/** @returns {string[]} files that run the specs in a folder, and in the folders in it */
function inGroups(/** @type {string} */ folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1))
  const specs = entries.filter(({ name }) => name.endsWith('.test.ts')).map(({ name }) => join(folder, name))
  const shared = specs.filter((spec) => !alone.test(readFileSync(spec, 'utf8')))
  const count = Math.ceil(shared.length / FILES_IN_GROUP)
  const made = Array.from({ length: count }, (_, index) =>
    group(
      `${folder.replaceAll('/', '-')}-${index + 1}`,
      shared.filter((_, place) => place % count === index),
    ),
  )
  const below = entries.filter((entry) => entry.isDirectory()).flatMap(({ name }) => inGroups(join(folder, name)))
  return [...below, ...made, ...specs.filter((spec) => !shared.includes(spec))]
}

/** Writes a file that runs some specs in one process. */
function group(/** @type {string} */ name, /** @type {string[]} */ specs) {
  const file = join(groups, `${name}.test.ts`)
  mkdirSync(join(root, groups), { recursive: true })
  const list = JSON.stringify(specs, null, 2)
  const text = `import { runGroup } from '../../spec/fixtures/group.ts'\n\nrunGroup(${list})\n`
  // Only what is not there yet: a run that is under way may be about to read it.
  if (!existsSync(join(root, file)) || readFileSync(join(root, file), 'utf8') !== text)
    writeFileSync(join(root, file), text)
  return file
}

const isFolder = (/** @type {string} */ path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
