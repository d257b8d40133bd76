import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CommandPlace, executable, type Served } from '../fixtures/command.js'
import { git, makeCommit, makeRepository } from '../fixtures/git.js'
import type { ObjectFormat } from '../../lib/object-id.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ZERO = '0'.repeat(40)

interface Agent {
  readonly place: CommandPlace
  readonly service: Served
  readonly sha: string
  readonly token: string
  /** What a CI job has in its environment. */
  readonly environment: Record<string, string>
  readonly list: () => Promise<object[]>
}

/** A running service with a repository of one commit, and a token of its owner. */
async function agent(t: Test, format: ObjectFormat = 'sha1'): Promise<Agent> {
  const place = new CommandPlace(t.testdir())
  const sha = await makeCommit(await makeRepository(place.repositories, 'alice/hello', { format }))
  const service = await place.serve(t)
  const token = (await place.run(['token', 'create', 'alice'])).stdout.trimEnd().split('\n').at(-1) ?? ''
  const list = async () => (await place.run(['status', 'list', 'alice/hello', sha, '--json'])).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as object)
  return { place, service, sha, token, list, environment: { COMMIT_STATUS_TOKEN: token, COMMIT_STATUS_URL: service.url } }
}

t.test('A CI job reports a check, and says again how it ended', async (t) => {
  const { place, service, sha, token, environment, list } = await agent(t)
  t.strictSame(await place.run(['status', 'report', 'alice/hello', sha, '--state', 'pending'], { environment }), { status: 0, stdout: `reported pending on alice/hello ${sha}\n`, stderr: '' })
  const file = join(place.folder, 'token')
  writeFileSync(file, `${token}\n`)
  const options = ['--context', 'build', '--description', '42 tests', '--target-url', 'https://ci.example.com/1', '--url', `${service.url}/`, '--token-file', file, '--json']
  const { status, stdout, stderr } = await place.run(['status', 'report', 'alice/hello', sha.toUpperCase(), '--state', 'failure', ...options])
  const saved = JSON.parse(stdout) as object
  t.strictSame([status, stderr], [0, ''])
  t.match(saved, { sha, state: 'failure', context: 'build', description: '42 tests', target_url: 'https://ci.example.com/1' })
  t.match(await list(), [saved, { state: 'pending', context: 'default', description: null, target_url: null }])
})

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`In a checkout, commit and repository go without saying (${format})`, async (t) => {
    const { place, sha, environment, list } = await agent(t, format)
    const checkout = join(place.folder, 'checkout')
    const remote = join(place.repositories, 'alice/hello.git')
    await git('clone', '--quiet', remote, checkout)
    const inside = join(checkout, 'inside')
    mkdirSync(inside)
    const report = async (...args: string[]) => await place.run(['status', 'report', '--state', 'success', ...args], { environment, directory: inside })
    t.strictSame(await report(), { status: 0, stdout: `reported success on alice/hello ${sha}\n`, stderr: '' })
    t.match(await list(), [{ state: 'success', context: 'default' }])

    await git('-C', checkout, 'remote', 'rename', 'origin', 'upstream')
    t.match(await report(), { status: 0 }, 'the only remote')
    await git('-C', checkout, 'remote', 'add', 'fork', 'https://bob:secret@git.example.com/x')
    t.match(await report(), { status: 2, stderr: 'error: no repository is given, and none can be told from the folder: no remote of the checkout is called origin\n\nUsage: ' })
    await git('-C', checkout, 'remote', 'remove', 'upstream')
    const unclear = await report()
    t.match(unclear, { status: 2, stderr: 'the URL of the remote fork does not end in <owner>/<repo>\n' })
    t.notMatch(unclear.stderr, 'secret')
    await git('-C', checkout, 'remote', 'remove', 'fork')
    t.match(await report(), { status: 2, stderr: 'the checkout has no remote\n' })
    t.match(await report('alice/hello'), { status: 0, stdout: sha })
  })
}

t.test('The exit status tells a script what has happened, in a line on standard error', async (t) => {
  const { place, service, sha, environment } = await agent(t)
  const { url } = service
  const origin = new URL(url).origin
  const report = async (args: string[], more: Record<string, string> = {}) => await place.run(['status', 'report', '--state', 'success', ...args], { environment: { ...environment, ...more } })
  const refused = (words: string) => ({ status: 1, stdout: '', stderr: `commit-status: ${origin} answers ${words}\n` })
  t.strictSame(await report(['alice/hello', ZERO]), refused('404 (commit not found)'))
  t.strictSame(await report(['alice/none', sha]), refused('404 (repository not found)'))
  t.strictSame(await report(['alice/hello', sha], { COMMIT_STATUS_TOKEN: 'cst_wrong' }), refused('401 (invalid or expired token)'))
  t.match(await report(['alice/hello', sha, '--context', 'x'.repeat(256)]), { status: 1, stderr: /answers 422 \(context / })
  t.match(await report(['alice/hello', sha, '--url', `${url}/elsewhere`]), { status: 1, stderr: /answers 404 \(not found\)/ })
  await service.end('SIGTERM')
  const { status, stdout, stderr } = await report(['alice/hello', sha, '--timeout', '1s'])
  t.strictSame([status, stdout], [3, ''])
  const lines = stderr.trimEnd().split('\n')
  t.match(lines.at(-1), /^commit-status: http:\S+ cannot be reached: .*ECONNREFUSED.*; gave up after 1 s$/)
  for (const line of lines.slice(0, -1)) t.match(line, /^commit-status: http:\S+ cannot be reached: .*; trying again$/)
})

t.test('A report that meets a service which is away for a moment arrives once it is back', async (t) => {
  const { place, service, sha, environment, list } = await agent(t)
  await service.end('SIGTERM')
  const { child, ended } = place.start(['status', 'report', 'alice/hello', sha, '--state', 'success'], { environment })
  await once(child.stderr, 'data')
  await place.serve(t, { environment: { COMMIT_STATUS_PORT: new URL(service.url).port } })
  t.match(await ended, { status: 0, stdout: /^reported success/ })
  t.match(await list(), [{ state: 'success' }])
})

t.test('Wrong use exits 2 with the usage, before anything is sent, and shows no secret', async (t) => {
  const place = new CommandPlace(t.testdir({ token: 'cst_1\nSECRET', empty: '\n' }))
  const url = ['--url', 'http://127.0.0.1:4']
  const cases: [args: string[], complaint: string, environment?: Record<string, string>][] = [
    [['alice/hello', ZERO, ...url], "required option '--state <state>' not specified"],
    [['alice/hello', ZERO, ...url, '--state', 'done'], "option '--state <state>' argument 'done' is invalid. Allowed choices are pending, success, failure, error."],
    [['alice/hello', ZERO, '--state', 'success'], 'no address of the service: give --url, or set COMMIT_STATUS_URL'],
    [['alice/hello', ZERO, '--state', 'success', '--url', 'localhost:8080'], "option '--url <base>' argument 'localhost:8080' is invalid. It must be like https://status.example.com."],
    [['alice/hello', ZERO, '--state', 'success', '--url', 'http://x/?SECRET'], 'the address of the service must have no user, password, ? or #'],
    [['alice/hello', ZERO, '--state', 'success'], 'the address of the service must have no user, password, ? or #', { COMMIT_STATUS_URL: 'http://bob:SECRET@x' }],
    [['alice/hello', ZERO, '--state', 'success'], "option '--url <base>' value 'ftp://x' from env 'COMMIT_STATUS_URL' is invalid. It must be like https://status.example.com.", { COMMIT_STATUS_URL: 'ftp://x' }],
    [['alice/hello', ZERO, '--state', 'success', ...url, '--timeout', '0s'], "option '--timeout <time>' argument '0s' is invalid. It must be like 30s, 5m or 1h, and at most 1d."],
    [['alice/hello', ZERO, '--state', 'success', ...url, '--timeout', '60'], "option '--timeout <time>' argument '60' is invalid. It must be like 30s, 5m or 1h, and at most 1d."],
    [['alice/hello', ZERO, '--state', 'success', ...url], 'no token: set COMMIT_STATUS_TOKEN, or give --token-file', { COMMIT_STATUS_TOKEN: '' }],
    [['alice/hello', ZERO, '--state', 'success', ...url, '--token-file', 'none'], "the token cannot be read: ENOENT: no such file or directory, open 'none'"],
    [['alice/hello', ZERO, '--state', 'success', ...url, '--token-file', 'empty'], 'there is no token in empty'],
    [['alice/hello', ZERO, '--state', 'success', ...url, '--token-file', 'token'], 'what is in token is no token'],
    [['alice', ZERO, '--state', 'success', ...url], '"alice" is no repository name: <owner>/<repo>'],
    [['alice/hello', 'HEAD', '--state', 'success', ...url], '"HEAD" is not a full 40 or 64 character hex commit id'],
    [['alice/hello', '--state', 'success', ...url], 'no commit is given, and none can be told from the folder: git says: fatal: not a git repository'],
    [['alice/hello', ZERO, 'x', '--state', 'success', ...url], "too many arguments for 'report'. Expected 2 arguments but got 3."],
  ]
  await Promise.all(
    cases.map(async ([args, complaint, more]) => {
      const environment = { COMMIT_STATUS_TOKEN: 'cst_SECRET', GIT_CEILING_DIRECTORIES: root, ...more }
      const { status, stdout, stderr } = await place.run(['status', 'report', ...args], { environment })
      t.strictSame([status, stdout], [2, ''], complaint)
      t.ok(stderr.startsWith(`error: ${complaint}`), stderr)
      t.match(stderr, '\n\nUsage: commit-status status report [options] [owner/repo] [sha]\n')
      t.notMatch(stderr, 'SECRET')
    }),
  )
})

t.test('A checkout without git, and an agent without libgit2 and LevelDB, are no hindrance', async (t) => {
  const { place, sha, environment } = await agent(t)
  const folder = mkdtempSync(join(tmpdir(), 'agent-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  for (const path of ['scripts', 'build/lib', 'build/config', 'build/scripts', 'package.json']) cpSync(join(root, path), join(folder, path), { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (!/^\.|level|^nodegit$|^snappy$|^@node-rs$/.test(name)) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  const program = [process.execPath, join(folder, 'scripts/commit-status')] as const
  const args = ['alice/hello', sha, '--state', 'success']
  t.match(await place.run(['status', 'report', ...args], { environment: { ...environment, PATH: '/nonexistent' }, program: [...program] }), { status: 0, stdout: /^reported success/, stderr: '' })
  t.match(await place.run(['status', 'report', '--state', 'success'], { environment: { ...environment, PATH: '/nonexistent' }, program: [...program] }), { status: 2, stderr: 'error: no repository is given, and none can be told from the folder: spawn git ENOENT\n' })
  t.match(await place.run(['status', 'list', 'alice/hello'], { program: [...program] }), { status: 0, stdout: sha }, 'nor for a command that the service carries out')
})

t.test('The README’s lines for a CI job work as they are pasted', async (t) => {
  const { place, sha, environment, list } = await agent(t)
  const [, chapter = ''] = readFileSync(join(root, 'README.md'), 'utf8').split('\n## Reporting from CI\n')
  const [, lines = ''] = /```sh\n(.*?)```/s.exec(chapter) ?? []
  const checkout = join(place.folder, 'checkout')
  await git('clone', '--quiet', join(place.repositories, 'alice/hello.git'), checkout)
  for (const [make, state] of [['true', 'success'], ['false', 'failure']] as const) {
    const job = lines.replace('commit-status status', `${executable} status`).replace('make test', make)
    t.match(await place.run([], { environment, directory: checkout, program: ['sh', '-euc', job] }), { status: 0, stdout: `reported pending on alice/hello ${sha}\nreported ${state} on alice/hello ${sha}\n`, stderr: '' })
    t.match(await list(), [{ context: 'test', state, description: state === 'failure' ? 'see the log' : null }])
  }
})
