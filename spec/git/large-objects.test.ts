// A process of its own: memory is measured.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { formats, makeFinder } from '../fixtures/finder.js'
import { git, gitWithInput, makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'

const SIZE = 100 * 1024 * 1024

/** The highest resident memory of this process since the last call, in bytes. */
function peak(): number {
  const highest = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024
  writeFileSync('/proc/self/clear_refs', '5')
  return highest
}

interface Cost {
  readonly answer: boolean
  /** Of processor time, which others on this machine do not change. */
  readonly milliseconds: number
  /** Of memory, at its highest. */
  readonly bytes: number
}

async function costOf(lookUp: () => Promise<boolean>): Promise<Cost> {
  peak()
  const before = process.memoryUsage.rss()
  const begun = process.cpuUsage()
  const answer = await lookUp()
  const { user, system } = process.cpuUsage(begun)
  return { answer, milliseconds: (user + system) / 1000, bytes: peak() - before }
}

/** The cheapest of three look-ups. */
async function leastCostOf(lookUp: () => Promise<boolean>): Promise<Cost> {
  const costs = [await costOf(lookUp), await costOf(lookUp), await costOf(lookUp)]
  return costs.reduce((one, other) => (other.milliseconds < one.milliseconds ? other : one))
}

/** Stores bytes that cannot be compressed, without taking them into this process. */
async function makeLargeBlob(directory: string): Promise<string> {
  const script = `head -c ${SIZE} /dev/urandom | git -C "$0" -c core.compression=0 hash-object -w --stdin`
  return (await promisify(execFile)('sh', ['-c', script, directory])).stdout.trim()
}

for (const format of formats) {
  t.test(`The id of a blob of 100 MB costs less than 50 MB and 100 ms, format ${format}`, async (t) => {
    const { directory, sha: commit } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello', { format })
    const blob = await makeLargeBlob(directory)
    const finder = makeFinder(t)
    for (const layout of ['loose', 'packed']) {
      t.equal(await finder.has(directory, commit), true)
      const { answer, milliseconds, bytes } = await leastCostOf(async () => await finder.has(directory, blob))
      t.equal(answer, false, `${layout}: it is no commit`)
      t.ok(milliseconds < 100, `${layout}: ${milliseconds.toFixed(1)} ms`)
      t.ok(bytes < 50e6, `${layout}: ${(bytes / 1e6).toFixed(1)} MB`)
      await git('-C', directory, 'update-ref', 'refs/blobs/large', blob)
      await git('-C', directory, '-c', 'core.compression=0', '-c', 'core.bigFileThreshold=1m', 'repack', '-adq')
    }
    t.strictSame(readdirSync(join(directory, 'objects')).sort(), ['info', 'pack'], 'git has packed everything')
  })
}

t.test('The id of a commit of 100 MB costs no more, and it is a commit', async (t) => {
  const directory = await makeRepository(t.testdir(), 'alice/hello')
  const tree = await gitWithInput('', '-C', directory, 'mktree')
  const message = Buffer.alloc(SIZE, 'The same reason as before.\n')
  const head = Buffer.from(`tree ${tree}\nauthor A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\n`)
  const commit = await gitWithInput(
    Buffer.concat([head, message]),
    '-C',
    directory,
    'hash-object',
    '-t',
    'commit',
    '-w',
    '--stdin',
  )
  const finder = makeFinder(t)
  for (const layout of ['loose', 'packed']) {
    t.equal(await finder.has(directory, tree), false)
    const { answer, milliseconds, bytes } = await leastCostOf(async () => await finder.has(directory, commit))
    t.equal(answer, true, `${layout}: it is a commit`)
    t.ok(milliseconds < 100, `${layout}: ${milliseconds.toFixed(1)} ms`)
    t.ok(bytes < 50e6, `${layout}: ${(bytes / 1e6).toFixed(1)} MB`)
    await git('-C', directory, 'update-ref', 'refs/heads/large', commit)
    await git('-C', directory, 'repack', '-adq')
  }
})
