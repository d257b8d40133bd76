import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const scripts = fileURLToPath(new URL('../../scripts', import.meta.url))
const SILENCE = 5000

/** A folder with our scripts, and a program that takes its lock and then lives until its standard input ends. */
function folderOf(t: Test): string {
  const folder = t.testdir({
    'package.json': '{"type":"module"}',
    build: {},
    'holder.js': `
      import { appendFileSync } from 'node:fs'
      import { once } from 'node:events'
      import { withLock } from './scripts/set-up/lock.js'
      const tell = (what) => { appendFileSync('journal', what + ' '); console.log(what) }
      await withLock(async () => { tell('in'); await once(process.stdin.resume(), 'end'); tell('out') }, ${SILENCE})
    `,
  })
  cpSync(scripts, join(folder, 'scripts'), { recursive: true })
  writeFileSync(join(folder, 'journal'), '')
  return folder
}

/** Runs that program. */
function hold(t: Test, folder: string) {
  const child = spawn(process.execPath, ['holder.js'], { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit') as Promise<[code: number | null]>
  const said: string[] = []
  createInterface(child.stderr).on('line', (line) => said.push(line))
  return {
    child,
    said,
    exited,
    holds: once(createInterface(child.stdout), 'line') as Promise<unknown>,
    waits: once(child.stderr, 'data') as Promise<unknown>,
    leave: async () => {
      child.stdin.end()
      return await exited
    },
  }
}

const journal = (folder: string) => readFileSync(join(folder, 'journal'), 'utf8').trim()

t.test('Set-ups of one folder work one after the other', async (t) => {
  const folder = folderOf(t)
  const first = hold(t, folder)
  await first.holds
  const others = [hold(t, folder), hold(t, folder), hold(t, folder)]
  await Promise.all(others.map(async ({ waits }) => await waits))
  for (const { said } of others)
    t.match(said[0], `waiting for another set-up of this folder (process ${first.child.pid}`)
  t.equal(journal(folder), 'in')
  for (const { child } of [first, ...others]) child.stdin.end()
  for (const { exited } of [first, ...others]) t.strictSame((await exited)[0], 0)
  t.equal(journal(folder), 'in out in out in out in out')
})

t.test('One that was killed holds nobody up for long', async (t) => {
  const folder = folderOf(t)
  const killed = hold(t, folder)
  await killed.holds
  killed.child.kill('SIGKILL')
  await killed.exited
  const others = [hold(t, folder), hold(t, folder), hold(t, folder)]
  await Promise.race(others.map(async ({ holds }) => await holds))
  t.equal(journal(folder), 'in in', 'only one of them has its place')
  for (const { child } of others) child.stdin.end()
  for (const { exited } of others) t.strictSame((await exited)[0], 0)
  t.equal(journal(folder), 'in in out in out in out')
})

t.test('One that gave no sign of life for too long, and lost its place, ends', async (t) => {
  const folder = folderOf(t)
  const stopped = hold(t, folder)
  await stopped.holds
  stopped.child.kill('SIGSTOP')
  const other = hold(t, folder)
  await other.holds
  stopped.child.kill('SIGCONT')
  t.strictSame((await stopped.exited)[0], 1)
  t.match(stopped.said.join('\n'), /^set-up failed: .*\n {2}To mend it: run the same command again$/)
  t.strictSame((await other.leave())[0], 0)
  t.equal(journal(folder), 'in in out')
})

t.test('One that ends leaves nothing that holds up the next', async (t) => {
  const folder = folderOf(t)
  for (const _ of [1, 2]) {
    const one = hold(t, folder)
    await one.holds
    t.strictSame((await one.leave())[0], 0)
  }
  t.equal(journal(folder), 'in out in out')
})
