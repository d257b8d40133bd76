import { setUp } from './set-up.js'

await setUp()
const { main } = await import('../build/scripts/cli/main.js')
await main(['serve', ...process.argv.slice(2)])
