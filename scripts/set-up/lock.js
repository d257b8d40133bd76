import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from './checkout.js'
import { codeOf, orEnd } from './failure.js'
import { say } from './progress.js'

// A folder with one file, named after who holds the lock. To take the lock is to move a folder with one's own file to
// this place, which fails while there is a file in it. To release it, or to take it away from one that is dead, is to
// remove that one's file: whatever two do at once, neither removes the other's.
const lock = join(root, 'build/set-up-lock')
const me = `${process.pid}@${hostname()}`
const beatMilliseconds = 1000

/**
 * Runs `work` while no other set-up works in this folder; waits for the other one first. One that gives no sign of life
 * for that long is dead: a process number says nothing in another container, or after a restart.
 * @template Result
 * @param {() => Promise<Result>} work
 * @param {number} [silenceMilliseconds]
 */
export async function withLock(work, silenceMilliseconds = 20_000) {
  await acquire(silenceMilliseconds)
  const mine = join(lock, me)
  const release = () => rmSync(mine, { force: true })
  // It fails when the lock was taken away, after the computer slept perhaps: then another set-up works here.
  const beat = setInterval(() => void orEnd(() => utimesSync(mine, new Date(), new Date())), beatMilliseconds)
  process.on('exit', release)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    process.off('exit', release)
    release()
  }
}

async function acquire(/** @type {number} */ silenceMilliseconds) {
  let seen = ''
  let since = 0
  while (!take()) {
    const [owner] = readdirSync(lock)
    if (owner === undefined) continue // released in this moment
    const time = statSync(join(lock, owner), { throwIfNoEntry: false })?.mtimeMs
    const state = `${owner} ${time}`
    if (state !== seen) {
      if (seen === '') say(`waiting for another set-up of this folder (process ${owner.replace('@', ' on ')})`)
      seen = state
      since = performance.now()
    }
    if (performance.now() - since > silenceMilliseconds) rmSync(join(lock, owner), { force: true })
    await sleep(250)
  }
}

/** @returns {boolean} whether the lock is ours now */
function take() {
  const own = `${lock}.${me}`
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, me), '')
  try {
    renameSync(own, lock)
    return true
  } catch (error) {
    rmSync(own, { recursive: true })
    if (['ENOTEMPTY', 'EEXIST'].includes(String(codeOf(error)))) return false
    throw error
  }
}
