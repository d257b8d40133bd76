import { join } from 'node:path'
import { run } from './set-up/child.js'
import { root } from './set-up/checkout.js'
import { setUp } from './set-up.js'

await setUp()
const loader = join(root, 'spec/loader/register.js')
const program = join(root, 'spec/clients/main.ts')
process.exit(await run([process.execPath, '--import', loader, program, ...process.argv.slice(2)]))
