import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { run } from './set-up/child.js'
import { root } from './set-up/checkout.js'
import { setUp } from './set-up.js'

await setUp()
if (spawnSync('wrk', ['--version']).error) {
  console.error('The bench needs wrk, which makes the load. On Debian and Ubuntu: apt-get install wrk')
  process.exit(1)
}
process.exit(
  await run([
    process.execPath,
    '--import',
    join(root, 'spec/loader/register.js'),
    join(root, 'spec/bench/main.ts'),
    ...process.argv.slice(2),
  ]),
)
