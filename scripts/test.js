import { check, lint } from './set-up/checks.js'
import { orEnd } from './set-up/failure.js'
import { runOnNode } from './set-up/other-node.js'
import { setUp } from './set-up.js'
import { withSpecsOf } from './set-up/specs.js'
import { offerTestPackages } from './set-up/system-packages.js'
import { buildTap } from './set-up/tap.js'

const option = '--node='
const version = process.argv.find((argument) => argument.startsWith(option))?.slice(option.length)
const forTap = process.argv.slice(2).filter((argument) => !argument.startsWith(option))

// --node=24: all that follows, on a Node of that version.
if (version !== undefined) process.exit(await orEnd(() => runOnNode(version, ['scripts/test.js', ...forTap])))

await setUp()
await offerTestPackages()
await lint()
const built = await buildTap()
if (built !== 0) process.exit(built)
await check('spec', 'tap', ...withSpecsOf(forTap))
