import { lint } from './set-up/checks.js'
import { setUp } from './set-up.js'

await setUp()
await lint()
