import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './checkout.js'
import { SetUpFailure } from './failure.js'
import { readJson } from './json.js'

/** Stops when this Node is older than the oldest that package.json names. */
export function checkNodeVersion() {
  const [least = ''] = /[\d.]+/.exec(String(readJson(join(root, 'package.json'), 'engines')['node'])) ?? []
  if (process.versions.node.localeCompare(least, 'en', { numeric: true }) < 0) {
    throw new SetUpFailure(`this is Node ${process.versions.node}, and Node ${least} or newer is needed`, {
      mend: 'install a newer Node.js (https://nodejs.org), then run the same command again',
    })
  }
}

/**
 * The folder whose `include/node` holds the header files of exactly this Node. node-gyp would
 * fetch them from nodejs.org otherwise, and nothing may come from there.
 */
export function nodeHeaders() {
  const beside = dirname(dirname(realpathSync(process.execPath)))
  const found = [beside, process.env['npm_config_nodedir']]
    .filter((folder) => folder !== undefined)
    .find((folder) => headersVersion(folder) === process.version)
  if (found !== undefined) return found
  const other = headersVersion(beside)
  const state = other === undefined ? 'are missing' : `are those of ${other}`
  const needed = `building libgit2 needs those of ${process.version}`
  throw new SetUpFailure(`Node's own header files in ${beside}/include/node ${state}, and ${needed}`, {
    mend:
      'install the package that brings them (Debian, Ubuntu: apt-get install libnode-dev), or a Node.js ' +
      'from nodejs.org, which has them beside it, or set npm_config_nodedir to the folder with their include/node',
  })
}

/** @returns {string | undefined} such as v20.19.0 */
function headersVersion(/** @type {string} */ folder) {
  let text
  try {
    text = readFileSync(join(folder, 'include/node/node_version.h'), 'utf8')
  } catch {
    return undefined
  }
  const part = (/** @type {string} */ name) => new RegExp(`#define NODE_${name}_VERSION (\\d+)`).exec(text)?.[1]
  return `v${part('MAJOR')}.${part('MINOR')}.${part('PATCH')}`
}
