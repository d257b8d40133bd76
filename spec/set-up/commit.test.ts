import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { git } from '../fixtures/git.js'

const setUp = fileURLToPath(new URL('../../scripts/set-up', import.meta.url))
const isRoot = process.geteuid?.() === 0
const NOBODY = 65534

/** A folder that holds the set-up, and what a compiler has written. */
function compiledFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'compiled-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'build/lib'), { recursive: true })
  cpSync(setUp, join(folder, 'scripts/set-up'), { recursive: true })
  return folder
}

async function commit(folder: string): Promise<string> {
  await git('-C', folder, 'init', '--quiet')
  await git('-C', folder, 'commit', '--quiet', '--allow-empty', '--message=another one')
  return await git('-C', folder, 'rev-parse', '--short', 'HEAD')
}

/** Runs the step that records the commit: whether it had nothing to do, and what the program knows then. */
async function run(folder: string, uid?: number): Promise<[wasCurrent: boolean, recorded: string | null]> {
  const program = `import { existsSync, readFileSync } from 'node:fs'
    import { isCurrent, make } from './scripts/set-up/commit.js'
    const wasCurrent = isCurrent()
    if (!wasCurrent) await make()
    const recorded = existsSync('build/lib/commit') ? readFileSync('build/lib/commit', 'utf8') : null
    console.log(JSON.stringify([wasCurrent, recorded]))`
  const options = { cwd: folder, ...(uid !== undefined && { uid }) }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options)
  return JSON.parse(stdout) as [boolean, string | null]
}

t.test('The commit is recorded once, and again after another one or a change', async (t) => {
  const folder = compiledFolder(t)
  const first = await commit(folder)
  t.strictSame(await run(folder), [false, `${first}\n`])
  t.strictSame(await run(folder), [true, `${first}\n`], 'there is nothing to do')
  const second = await commit(folder)
  t.strictSame(await run(folder), [false, `${second}\n`])
  await git('-C', folder, 'add', 'scripts/set-up/commit.js')
  t.strictSame(await run(folder), [false, `${second}-dirty\n`], 'with what is not committed yet')
})

t.test('A folder that is no checkout has none, even within one', async (t) => {
  const folder = compiledFolder(t)
  t.strictSame(await run(folder), [true, null])
  const outer = compiledFolder(t)
  await commit(outer)
  const inner = join(outer, 'inner')
  cpSync(folder, inner, { recursive: true })
  t.strictSame(await run(inner), [true, null])
})

t.test('Somebody who may not write there starts the program as it is', async (t) => {
  const folder = compiledFolder(t)
  const first = await commit(folder)
  await run(folder)
  chmodSync(join(folder, 'build/lib/commit'), 0o444)
  await commit(folder)
  t.strictSame(await run(folder, isRoot ? NOBODY : undefined), [true, `${first}\n`])
})
