import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as commit from './set-up/commit.js'
import * as compile from './set-up/compile.js'
import { orEnd } from './set-up/failure.js'
import * as libgit2 from './set-up/libgit2.js'
import { checkNodeVersion } from './set-up/node.js'
import * as packages from './set-up/packages.js'

// Each step finds out in milliseconds whether its product is current, and otherwise makes it anew from
// a clean state: an interrupted set-up is repaired by running it again.
const steps = [packages, libgit2, compile, commit]

/**
 * Brings this folder to where the service and the tests can run, in silence when it is there
 * already. Ends the process with a message when that is not possible.
 */
export async function setUp() {
  await orEnd(async () => {
    checkNodeVersion()
    // Short of work this takes no lock, writes nothing and starts only git: the service may run as
    // a user who cannot write here.
    if (!steps.every((step) => step.isCurrent())) await makeAll()
  })
}

async function makeAll() {
  const { withLock } = await import('./set-up/lock.js')
  const { say, secondsSince } = await import('./set-up/progress.js')
  await withLock(async () => {
    for (const step of steps) {
      if (step.isCurrent()) continue
      const start = performance.now()
      const done = await step.make()
      say(`${done} (${secondsSince(start)} s)`)
    }
  })
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await setUp()
}
