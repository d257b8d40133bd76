import { run } from './set-up/child.js'
import { setUp } from './set-up.js'
import { withSpecsOf } from './set-up/specs.js'
import { buildTap, tool } from './set-up/tap.js'

// The specs that are named, files or folders, and nothing else: no types, format, lint or coverage.
await setUp()
const built = await buildTap()
if (built !== 0) process.exit(built)
process.exit(await run(tool('tap', '--disable-coverage', ...withSpecsOf(process.argv.slice(2)))))
