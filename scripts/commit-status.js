import { existsSync } from 'node:fs'

if (process.argv.slice(2).join() === 'set-up') {
  // Apart from the other commands, which it may be that cannot run yet.
  const { setUp } = await import('./set-up.js')
  await setUp()
} else if (existsSync(new URL('../build/scripts/cli/main.js', import.meta.url))) {
  const { main } = await import('../build/scripts/cli/main.js')
  await main(process.argv.slice(2))
} else {
  console.error('commit-status: not set up yet; run scripts/commit-status set-up first, or npm start')
  process.exitCode = 1
}
