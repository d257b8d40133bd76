import { copyFileSync } from 'node:fs'
import { orEnd } from '../set-up/failure.js'
import { built } from '../set-up/libgit2.js'

// Copies the binary of nodegit that belongs to the Node this runs on to where the first argument says. That which the
// checkout itself uses stays as it is.
const [to = ''] = process.argv.slice(2)
await orEnd(async () => {
  copyFileSync((await built()).kept, to)
})
