import { readFileSync, renameSync, rmSync, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from './checkout.js'
import { say } from './progress.js'

const lock = join(root, 'build/set-up.lock')
const mine = `${process.pid}@${hostname()}`
const beatMilliseconds = 2000
const silenceMilliseconds = 30_000

/**
 * Runs `work` while no other set-up works in this folder; waits for the other one first. A lock
 * whose owner was killed is taken away: at once when its process is gone, and after half a minute
 * without a sign of life when that cannot be seen from here (another container, a process number
 * in use again after a restart).
 * @param {() => Promise<void>} work
 */
export async function withLock(work) {
  mkdirSync(join(root, 'build'), { recursive: true })
  await acquire()
  const beat = setInterval(touch, beatMilliseconds)
  beat.unref()
  process.on('exit', release)
  try {
    await work()
  } finally {
    clearInterval(beat)
    process.off('exit', release)
    release()
  }
}

async function acquire() {
  let seen = ''
  let since = 0
  let announced = false
  while (!create(mine)) {
    const other = look()
    if (other === undefined) continue // released in this moment
    if (other.state !== seen) {
      seen = other.state
      since = performance.now()
    }
    if (isGone(other.owner) || performance.now() - since > silenceMilliseconds) {
      takeAway(other.owner)
      continue
    }
    if (!announced) say(`waiting for another set-up of this folder (process ${other.owner.replace('@', ' on ')})`)
    announced = true
    await sleep(250)
  }
}

/** @returns {boolean} whether this call made the lock */
function create(/** @type {string} */ owner) {
  try {
    writeFileSync(lock, owner, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function look() {
  try {
    const owner = readFileSync(lock, 'utf8')
    return { owner, state: `${owner} ${statSync(lock).mtimeMs}` }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function isGone(/** @type {string} */ owner) {
  const [pid, host] = owner.split('@')
  if (host !== hostname()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/** Two may find the same dead lock: renaming tells them apart, and gives back a live one. */
function takeAway(/** @type {string} */ owner) {
  const aside = `${lock}.${process.pid}`
  try {
    renameSync(lock, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  const taken = readFileSync(aside, 'utf8')
  if (taken !== owner) create(taken)
  rmSync(aside)
}

function touch() {
  try {
    utimesSync(lock, new Date(), new Date())
  } catch {
    // Only when somebody removed the folder `build`: the work itself will say so.
  }
}

function release() {
  if (look()?.owner === mine) rmSync(lock, { force: true })
}
