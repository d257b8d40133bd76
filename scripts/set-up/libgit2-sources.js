import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { edit, makeLocal } from './libgit2-local.js'

/** What nothing compiles, and is most of nodegit's volume. */
const OMITTED = ['build', 'vendor/libgit2/fuzzers', 'vendor/libgit2/tests', 'vendor/libssh2']

/** What Node looks for in the binary. */
const ENTRY = 'src/nodegit.cc'

/** What a look-up of a commit runs through. */
const LOOK_UP = [
  ...['async_baton', 'async_worker', 'cleanup_handle', 'commit', 'context', 'lock_master', 'oid', 'promise_completion'],
  ...['reference_counter', 'repository', 'thread_pool', 'tracker_wrap', 'v8_helpers', 'wrapper'],
].map((name) => `src/${name}.cc`)

/** Files of all the rest: more would parse the headers more often, fewer would need more memory each. */
const REST_FILES = 8

const INCLUDES = [...['vendor/libgit2/include', 'vendor/libv8-convert'], `<!(node -e "require('nan')")`]

/**
 * Copies nodegit's sources and prepares them for the compiler. What earlier runs have left in `folder` is removed.
 * @param {string} nodegit
 * @param {string} folder
 * @returns {Promise<string>} the path of the copy, in `folder`
 */
export async function copySources(nodegit, folder) {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    if (name.startsWith('tmp-')) rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 5 })
  }
  const copy = mkdtempSync(join(folder, 'tmp-'))
  const omitted = OMITTED.map((name) => join(nodegit, name))
  await cp(nodegit, copy, { recursive: true, filter: (path) => !omitted.includes(path) })
  await makeLocal(copy)
  joinSources(copy)
  guardOpening(copy)
  return copy
}

/** Has libgit2 open every file by libgit2-open.h, which the build puts into the copy. */
function guardOpening(/** @type {string} */ copy) {
  const guard = '#include "posix.h"\n#include "../../../../libgit2-open.h"\n#define open open_at_once\n'
  edit(copy, { 'vendor/libgit2/src/util/posix.c': [[/#include "posix\.h"\n/, guard]] })
}

/**
 * Has nodegit's 160 C++ files compiled as a few that include them: each of them includes the headers of V8, nan and
 * libgit2, and to parse these takes longer than all the rest. Only what a look-up runs through is optimised.
 */
function joinSources(/** @type {string} */ copy) {
  const project = join(copy, 'binding.gyp')
  const text = readFileSync(project, 'utf8')
  const list = /"sources": \[[^\]]*\]/
  const sources = [...new Set(list.exec(text)?.[0].match(/(?<=")src\/[^"]+\.cc(?=")/g))]
  const size = (/** @type {string} */ source) => statSync(join(copy, source)).size
  const rest = sources
    .filter((source) => source !== ENTRY && !LOOK_UP.includes(source))
    .sort((one, other) => size(other) - size(one))
  if (rest.length !== sources.length - LOOK_UP.length - 1) throw new Error(`${project} lacks sources`)

  const restFiles = Array.from({ length: REST_FILES }, (_, index) =>
    joinedFile(
      copy,
      `rest-${index}`,
      rest.filter((_, rank) => rank % REST_FILES === index),
    ),
  )
  const targets = [
    { target_name: 'look-up', sources: [joinedFile(copy, 'look-up', LOOK_UP)] },
    { target_name: 'rest', sources: restFiles, cflags_cc: ['-O0'] },
  ].map((target) => JSON.stringify({ ...target, type: 'static_library', include_dirs: INCLUDES }))
  writeFileSync(
    project,
    text
      .replace(list, `"sources": ["${ENTRY}"]`)
      // In this order: of a function that both have, the linker takes the first.
      .replace('"vendor/libgit2.gyp:libgit2"', '"look-up", "rest", $&')
      .replace(/\]\s*\}\s*$/, `, ${targets.join()}] }\n`),
  )

  // A template that each of them includes, without a guard.
  const template = join(copy, 'src/nodegit_wrapper.cc')
  writeFileSync(template, `#pragma once\n${readFileSync(template, 'utf8')}`)
}

/** Two of nodegit's headers have one guard: without the second line, the first of them would hide the other. */
const PREAMBLE = `#include "../include/git_buf_converter.h"
#undef STR_ARRAY_H
#include "../include/str_array_converter.h"
`

/**
 * @param {string} copy
 * @param {string} name
 * @param {string[]} sources
 * @returns {string} the path of a new file in the copy that includes the sources
 */
function joinedFile(copy, name, sources) {
  const file = `src/joined-${name}.cc`
  const includes = sources.map((source) => `#include "${source.replace('src/', '')}"\n`)
  writeFileSync(join(copy, file), PREAMBLE + includes.join(''))
  return file
}
