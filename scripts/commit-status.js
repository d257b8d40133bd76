import { existsSync } from 'node:fs'

const setUp = new URL('./set-up.js', import.meta.url)
if (process.argv.slice(2).join() === 'set-up') {
  // Apart from the other commands, which it may be that cannot run yet. A package has all that it needs.
  if (existsSync(setUp)) await (await import('./set-up.js')).setUp()
} else if (existsSync(new URL('../build/scripts/cli/main.js', import.meta.url))) {
  const { main } = await import('../build/scripts/cli/main.js')
  await main(process.argv.slice(2))
} else {
  const { fileURLToPath } = await import('node:url')
  const script = fileURLToPath(new URL('./commit-status', import.meta.url))
  console.error(`commit-status: not set up yet; run first ${script} set-up`)
  process.exitCode = 1
}
