import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './set-up/checkout.js'
import { readJson } from './set-up/json.js'
import { setUp } from './set-up.js'

// What npm runs before it packs this checkout: all is compiled then, and nodegit is as our package brings it along. As
// the registry has it, it asks for a fork of nan in git, which not everybody reaches, and its own install script would
// fetch a binary, or build a libgit2 without SHA-256 for minutes.

/** Files of nodegit that are compiled, or run. */
const FILES = [
  ...['binding.gyp', 'include', 'lib', 'src', 'utils/defaultCxxStandard.js', 'vendor/libgit2.gyp'],
  ...['http_parser.gyp', 'http_parser.c', 'http_parser.h', 'LICENSE-MIT'].map((name) => `vendor/http_parser/${name}`),
  ...['COPYING', 'include', 'src/libgit2', 'src/util', 'deps/pcre', 'deps/xdiff', 'deps/zlib'].map(
    (name) => `vendor/libgit2/${name}`,
  ),
  '!vendor/libgit2/src/util/win32',
]

await setUp()
const file = join(root, 'node_modules/nodegit/package.json')
// What it imports, and what builds it, our own package.json asks for: npm installs that from the registry.
const { scripts: _, dependencies: __, ...nodegit } = readJson(file)
writeFileSync(`${file}.new`, `${JSON.stringify({ ...nodegit, gypfile: false, files: FILES }, null, 2)}\n`)
// As a new file: npm believes what it has noted of a package, unless its folder has changed since.
renameSync(`${file}.new`, file)
