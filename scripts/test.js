import { check, lint } from './set-up/checks.js'
import { orEnd } from './set-up/failure.js'
import { runOnNode } from './set-up/other-node.js'
import { postgresOf } from './set-up/other-postgres.js'
import { setUp } from './set-up.js'
import { withSpecsOf } from './set-up/specs.js'
import { offerTestPackages } from './set-up/system-packages.js'
import { buildTap } from './set-up/tap.js'

const forTap = process.argv.slice(2)
const version = taken('--node=')

// --node=24: all that follows, on a Node of that version.
if (version !== undefined) process.exit(await orEnd(() => runOnNode(version, ['scripts/test.js', ...forTap])))

await setUp()
await offerTestPackages()
// --postgres=18.4.0-beta.17: specs with a database start that PostgreSQL.
const postgres = taken('--postgres=')
if (postgres !== undefined) process.env['SPEC_POSTGRES'] = await orEnd(() => postgresOf(postgres))
await lint()
const built = await buildTap()
if (built !== 0) process.exit(built)
await check('spec', 'tap', ...withSpecsOf(forTap))

/** An option of ours, which is taken from those for tap. */
function taken(/** @type {string} */ option) {
  const at = forTap.findIndex((argument) => argument.startsWith(option))
  return at === -1 ? undefined : forTap.splice(at, 1)[0]?.slice(option.length)
}
