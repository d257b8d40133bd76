// A stand-in takes the place of Rust's toolchain: what a client can end with, without building one.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

t.test('A call that fails ends it with 1, a language that is not there is skipped by name', async (t) => {
  const home = t.testdir({ '.cargo': { bin: {} }, rust: { debug: {} } })
  const programs: Record<string, string> = {
    '.cargo/bin/cargo': 'echo "cargo 1.99.0"',
    '.cargo/bin/javac': 'echo "javac 11.0.2"',
    'rust/debug/call-octocrab': 'echo "ok $STATUS_REPOSITORY"',
    'rust/debug/call-forgejo-api': 'echo "ok get user"; echo "FAIL get ref: no"; exit 1',
    'rust/debug/call-gitlab': 'echo "it panicked" >&2; exit 3',
  }
  for (const [path, script] of Object.entries(programs)) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  const run = async (...names: string[]) => {
    const program = fileURLToPath(new URL('main.ts', import.meta.url))
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const command = [process.execPath, '--import', './spec/loader/register.js', program, '--folder', home, ...names]
    // By `env`, since tap puts into every environment what its own processes need.
    const args = ['-i', `PATH=${process.env['PATH']}`, `HOME=${home}`, ...command]
    try {
      return { code: 0, ...(await promisify(execFile)('env', args, { cwd: root })) }
    } catch (error) {
      return error as { code: number; stdout: string; stderr: string }
    }
  }
  const good = await run('octocrab', 'github-api')
  t.equal(good.code, 0, good.stderr)
  t.match(good.stdout, /octocrab [\d.]+\n {2}ok alice\/octocrab\n/)
  t.match(good.stdout, /github-api .* skipped: no javac 17\.0 or newer/)
  const bad = await run('octocrab', 'forgejo-api', 'gitlab')
  t.equal(bad.code, 1)
  t.match(bad.stdout, /FAIL get ref: no\n[^]*it panicked\n {2}FAIL run: it ended with 3, after 0 calls\n/)
  const counts = [...bad.stdout.matchAll(/^│ (\S+).*Rust +│ +(\d+) │ +(\d+) │/gm)]
  t.strictSame(
    counts.map(([, name, ok, failed]) => `${name} ${ok} ${failed}`),
    ['octocrab 1 0', 'forgejo-api 1 1', 'gitlab 0 1'],
  )
  t.match(await run('octocrap'), { code: 2, stderr: /no such client: octocrap; there are .*octocrab/ })
})
