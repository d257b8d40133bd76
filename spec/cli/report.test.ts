import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { ciAgent } from '../fixtures/ci-agent.js'
import { executable } from '../fixtures/command.js'
import { git } from '../fixtures/git.js'
import { chapter, codeBlocks } from '../fixtures/page.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ZERO = '0'.repeat(40)

t.test('A CI job reports a check, and says again how it ended', async (t) => {
  const { place, service, sha, token, environment, list } = await ciAgent(t)
  t.strictSame(await place.run(['status', 'report', 'alice/hello', sha, '--state', 'pending'], { environment }), {
    status: 0,
    stdout: `reported pending on alice/hello ${sha}\n`,
    stderr: '',
  })
  const file = join(place.folder, 'token')
  writeFileSync(file, `${token}\n`)
  const options = [
    '--context',
    'build',
    '--description',
    '42 tests',
    '--target-url',
    'https://ci.example.com/1',
    '--url',
    `${service.url}/`,
    '--token-file',
    file,
    '--json',
  ]
  const { status, stdout, stderr } = await place.run([
    'status',
    'report',
    'alice/hello',
    sha.toUpperCase(),
    '--state',
    'failure',
    ...options,
  ])
  const saved = JSON.parse(stdout) as object
  t.strictSame([status, stderr], [0, ''])
  t.match(saved, {
    sha,
    state: 'failure',
    context: 'build',
    description: '42 tests',
    target_url: 'https://ci.example.com/1',
  })
  t.match(await list(), [saved, { state: 'pending', context: 'default', description: null, target_url: null }])
})

t.test('The exit status tells a script what has happened, in a line on standard error', async (t) => {
  const { place, service, sha, environment } = await ciAgent(t)
  const { url } = service
  const origin = new URL(url).origin
  const report = async (args: string[], more: Record<string, string> = {}) =>
    await place.run(['status', 'report', '--state', 'success', ...args], { environment: { ...environment, ...more } })
  const refused = (words: string) => ({ status: 1, stdout: '', stderr: `commit-status: ${origin} answers ${words}\n` })
  t.strictSame(await report(['alice/hello', ZERO]), refused('404 (commit not found)'))
  t.strictSame(await report(['alice/none', sha]), refused('404 (repository not found: alice/none)'))
  t.strictSame(
    await report(['alice/hello', sha], { COMMIT_STATUS_TOKEN: 'cst_wrong' }),
    refused('401 (invalid or expired token)'),
  )
  t.match(await report(['alice/hello', sha, '--context', 'x'.repeat(256)]), {
    status: 1,
    stderr: /answers 422 \(context /,
  })
  t.match(await report(['alice/hello', sha, '--url', `${url}/elsewhere`]), {
    status: 1,
    stderr: /answers 404 \(not found\)/,
  })
  await service.end('SIGTERM')
  const { status, stdout, stderr } = await report(['alice/hello', sha, '--timeout', '1s'])
  t.strictSame([status, stdout], [3, ''])
  const lines = stderr.trimEnd().split('\n')
  t.match(lines.at(-1), /^commit-status: http:\S+ cannot be reached: .*ECONNREFUSED.*; gave up after 1 s$/)
  for (const line of lines.slice(0, -1)) t.match(line, /^commit-status: http:\S+ cannot be reached: .*; trying again$/)
})

t.test('A report that meets a service which is away for a moment arrives once it is back', async (t) => {
  const { place, service, sha, environment, list } = await ciAgent(t)
  await service.end('SIGTERM')
  const { child, ended } = place.start(['status', 'report', 'alice/hello', sha, '--state', 'success'], { environment })
  await once(child.stderr, 'data')
  await place.serve(t, { environment: { COMMIT_STATUS_PORT: new URL(service.url).port } })
  t.match(await ended, { status: 0, stdout: /^reported success/ })
  t.match(await list(), [{ state: 'success' }])
})

t.test('A checkout without git, and an agent without libgit2 and LevelDB, are no hindrance', async (t) => {
  const { place, sha, environment } = await ciAgent(t)
  const folder = mkdtempSync(join(tmpdir(), 'agent-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  for (const path of ['scripts', 'build/lib', 'build/config', 'build/scripts', 'package.json'])
    cpSync(join(root, path), join(folder, path), { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (!/^\.|level|^nodegit$|^snappy$|^@node-rs$/.test(name))
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  const program = [process.execPath, join(folder, 'scripts/commit-status')] as const
  const args = ['alice/hello', sha, '--state', 'success']
  t.match(
    await place.run(['status', 'report', ...args], {
      environment: { ...environment, PATH: '/nonexistent' },
      program: [...program],
    }),
    { status: 0, stdout: /^reported success/, stderr: '' },
  )
  t.match(
    await place.run(['status', 'report', '--state', 'success'], {
      environment: { ...environment, PATH: '/nonexistent' },
      program: [...program],
    }),
    { status: 2, stderr: 'error: no repository is given, and none can be told from the folder: spawn git ENOENT\n' },
  )
  t.match(
    await place.run(['status', 'list', 'alice/hello'], { program: [...program] }),
    { status: 0, stdout: sha },
    'nor for a command that the service carries out',
  )
})

t.test('The lines of the pages for a CI job work as they are pasted', async (t) => {
  const { place, sha, environment, list } = await ciAgent(t)
  const [, lines = ''] = codeBlocks(chapter('scripts/README.md', '## Reporting from CI'), 'sh')
  const checkout = join(place.folder, 'checkout')
  await git('clone', '--quiet', join(place.repositories, 'alice/hello.git'), checkout)
  for (const [make, state] of [
    ['true', 'success'],
    ['false', 'failure'],
  ] as const) {
    const job = lines.replace('commit-status status', `${executable} status`).replace('make test', make)
    t.match(await place.run([], { environment, directory: checkout, program: ['sh', '-euc', job] }), {
      status: 0,
      stdout: `reported pending on alice/hello ${sha}\nreported ${state} on alice/hello ${sha}\n`,
      stderr: '',
    })
    t.match(await list(), [{ context: 'test', state, description: state === 'failure' ? 'see the log' : null }])
  }
})
