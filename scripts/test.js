import { forFormat, forLint, forTypes } from './set-up/checks.js'
import { run } from './set-up/child.js'
import { orEnd } from './set-up/failure.js'
import { runOnNode } from './set-up/other-node.js'
import { setUp } from './set-up.js'
import { withSpecsOf } from './set-up/specs.js'
import { offerTestPackages } from './set-up/system-packages.js'
import { buildTap, tool } from './set-up/tap.js'

const option = '--node='
const version = process.argv.find((argument) => argument.startsWith(option))?.slice(option.length)
const forTap = process.argv.slice(2).filter((argument) => !argument.startsWith(option))

// --node=24: all that follows, on a Node of that version.
if (version !== undefined) process.exit(await orEnd(() => runOnNode(version, ['scripts/test.js', ...forTap])))

await setUp()
await offerTestPackages()
await check('types', 'tsc', ...forTypes())
await check('format', 'prettier', ...forFormat())
await check('lint', 'eslint', ...forLint())
const built = await buildTap()
if (built !== 0) process.exit(built)
await check('spec', 'tap', ...withSpecsOf(forTap))

/**
 * Runs a tool that npm has installed; a failure is the end.
 * @param {string} heading
 * @param {string} name
 * @param {string[]} args
 */
async function check(heading, name, ...args) {
  console.log(`\n== ${heading}: ${[name, ...args].join(' ')}`)
  const code = await run(tool(name, ...args))
  if (code !== 0) process.exit(code)
}
