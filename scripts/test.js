import { join } from 'node:path'
import { run } from './set-up/child.js'
import { root } from './set-up/checkout.js'
import { setUp } from './set-up.js'
import { offerTestPackages } from './set-up/system-packages.js'

const checks = [
  ['types', 'tsc', '--noEmit', '-p', 'tsconfig.json'],
  ['lint', 'eslint', '.', '--max-warnings', '0'],
  ['spec', 'tap', ...process.argv.slice(2)]
]

await setUp()
await offerTestPackages()
for (const [heading, tool, ...args] of checks) {
  console.log(`\n== ${heading}: ${[tool, ...args].join(' ')}`)
  const code = await run([process.execPath, join(root, 'node_modules/.bin', tool), ...args])
  if (code !== 0) process.exit(code)
}
