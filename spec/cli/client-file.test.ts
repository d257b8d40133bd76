import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { repositoryAt } from '../../scripts/cli/git/checkout.js'
import { ciAgent, type Agent } from '../fixtures/ci-agent.js'
import { CommandPlace } from '../fixtures/command.js'
import { listen } from '../fixtures/embedded.js'
import { git } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'

const client = fileURLToPath(new URL('../../config/commit-status-report', import.meta.url))
const ZERO = '0'.repeat(40)

/** The shells of CI agents: Debian's, that of most people, and that of small containers. */
const shells = [['dash'], ['bash'], ['busybox', 'sh']] as const
const skip = await missing('curl', 'dash', 'busybox')

// Most of the time is waiting.
t.jobs = 3
/** A new one each time: tap writes the test's own state into it. */
const atOnce = () => ({ buffered: true, skip })

/** Runs the client in a shell. */
const started = (agent: Pick<Agent, 'place' | 'environment'>, [shell, ...how]: readonly [string, ...string[]]) => ({
  start: (args: readonly string[], environment: Record<string, string> = {}, directory = agent.place.folder) =>
    agent.place.start(args, {
      directory,
      environment: { ...agent.environment, GIT_CEILING_DIRECTORIES: agent.place.folder, ...environment },
      program: [shell, ...how, client],
    }),
})

async function checkoutOf({ place }: Agent): Promise<string> {
  const checkout = join(place.folder, 'checkout')
  await git('clone', '--quiet', join(place.repositories, 'alice/hello.git'), checkout)
  return checkout
}

t.test('It is one file of 150 lines at most, and shellcheck finds nothing', async (t) => {
  const lines = readFileSync(client, 'utf8').trimEnd().split('\n')
  t.ok(lines.length <= 150, `${lines.length} lines`)
  t.strictSame(
    lines.filter((line) => line.length > 120),
    [],
  )
  t.test('shellcheck', { skip: await missing('shellcheck') }, async (t) => {
    t.equal((await promisify(execFile)('shellcheck', [client])).stdout, '')
  })
})

for (const shell of shells) {
  const name = shell.join(' ')

  t.test(`${name}: reports in the words of the command, whatever the texts are`, atOnce(), async (t) => {
    const agent = await ciAgent(t)
    const { sha, list, place, environment, token } = agent
    const { start } = started(agent, shell)
    const checkout = await checkoutOf(agent)
    const description = '42 "tests" \\ \t\n \u0001\u001f\u007f ünï \u{1f600} $(id) `id` %s @'
    const args = ['--state=failure', '--context', "it's 100 % \\n", '--description', description, '--target-url']
    t.strictSame(await start(['report', ...args, 'https://ci.example/1?a=b&c'], {}, checkout).ended, {
      status: 0,
      stdout: `reported failure on alice/hello ${sha}\n`,
      stderr: '',
    })
    const [status] = await list()
    t.match(status, { state: 'failure', context: "it's 100 % \\n", target_url: 'https://ci.example/1?a=b&c' })
    t.equal(status && 'description' in status && status.description, description)

    writeFileSync(join(place.folder, 'token'), `${token}\n`)
    const given = ['report', 'alice/hello', sha.toUpperCase(), '--state', 'success', '--token-file', 'token', '--json']
    const json = await start(given, { COMMIT_STATUS_TOKEN: '' }).ended
    t.match(json, { status: 0, stderr: '' })
    t.match(JSON.parse(json.stdout), { sha, state: 'success', context: 'default' })

    for (const refused of [
      ['alice/hello', ZERO],
      ['alice/none', sha],
    ]) {
      const asked = [...refused, '--state', 'success', '--timeout', '5s']
      const { stderr } = await place.run(['status', 'report', ...asked], { environment })
      t.strictSame(
        await start(['report', ...asked]).ended,
        { status: 1, stdout: '', stderr: stderr.replace('commit-status', 'commit-status-report') },
        'as the command',
      )
    }
  })

  t.test(`${name}: wrong use exits 2, before anything is sent, and shows no secret`, atOnce(), async (t) => {
    const place = new CommandPlace(t.testdir({ token: 'cst_1\nSECRET' }))
    const environment = { COMMIT_STATUS_URL: 'http://127.0.0.1:4', COMMIT_STATUS_TOKEN: 'cst_SECRET' }
    const { start } = started({ place, environment }, shell)
    const success = ['report', 'alice/hello', ZERO, '--state', 'success']
    const cases: [args: string[], complaint: string, environment?: Record<string, string>][] = [
      [[], "unknown command ''"],
      [['send'], "unknown command 'send'"],
      [['report', 'alice/hello', ZERO], "option '--state <state>' is invalid. Allowed choices are pending, success,"],
      [['report', 'alice/hello', ZERO, '--state', 'done'], "option '--state <state>' is invalid."],
      [[...success, '--nope', 'x'], "unknown option '--nope'"],
      [['wait', '--state', 'success'], "unknown option '--state'"],
      [[...success, 'more'], "too many arguments for 'report'. Expected 2 arguments but got 3."],
      [[...success, '--timeout', '60'], "option '--timeout <time>' is invalid. It must be like 30s, 5m or 1h."],
      [success, 'no address of the service', { COMMIT_STATUS_URL: '' }],
      [success, 'no address of the service', { COMMIT_STATUS_URL: 'ftp://x' }],
      [success, 'no address of the service', { COMMIT_STATUS_URL: 'http://bob:SECRET@x' }],
      [success, 'no token: set COMMIT_STATUS_TOKEN, or give --token-file', { COMMIT_STATUS_TOKEN: '' }],
      [[...success, '--token-file', 'token'], 'no token:'],
      [['report', 'a b/c', ZERO, '--state', 'success'], "no repository, 'a b/c': give <owner>/<repo>"],
      [['report', 'alice/hello', 'nope', '--state', 'success'], "'nope' is not a full 40 or 64 character hex commit"],
      [['run', 'alice/hello', ZERO], 'no command is given'],
    ]
    await Promise.all(
      // Each shell reads the first ones as it does the rest.
      cases.slice(0, shell === shells[0] ? cases.length : 8).map(async ([args, complaint, environment]) => {
        const { status, stdout, stderr } = await start(args, environment).ended
        t.strictSame([status, stdout], [2, ''], complaint)
        t.ok(stderr.startsWith(`error: ${complaint}`), stderr)
        t.match(stderr, '\nsee commit-status-report --help\n')
        t.notMatch(stderr, 'SECRET')
      }),
    )
    t.match(await start(['report', '--state']).ended, { stdout: '', stderr: "option '--state' argument missing" })
    t.match(await start(['--help']).ended, { status: 0, stdout: 'commit-status-report run [options]', stderr: '' })
  })

  t.test(`${name}: tries again while the service is away or busy, as long as it may`, atOnce(), async (t) => {
    const agent = await ciAgent(t)
    const { service, sha, place, list } = agent
    const { start } = started(agent, shell)
    const report = ['report', 'alice/hello', sha, '--state', 'success']
    await service.end('SIGTERM')
    const gone = await start([...report, '--timeout', '1s']).ended
    t.match(gone, { status: 3, stdout: '', stderr: /cannot be reached: .*; gave up after 1 s\n$/ })
    const { child, ended } = start(report)
    await once(child.stderr, 'data')
    await place.serve(t, { environment: { COMMIT_STATUS_PORT: new URL(service.url).port } })
    t.match(await ended, { status: 0, stdout: /^reported success/, stderr: /trying again/ })
    t.match(await list(), [{ state: 'success' }])

    const answers: ((response: ServerResponse, request: IncomingMessage) => void)[] = [
      (response) => response.writeHead(503, { 'Retry-After': '2' }).end('{"error":"not now"}\n'),
      (response) => response.writeHead(429).end('<html>'),
      (response) => response.destroy(),
      (response) => response.writeHead(201).end('{"state":"success"}\n'),
      (response) => response.writeHead(503, { 'Retry-After': '600' }).end('{"error":"later"}\n'),
      (response) => response.writeHead(500).end('{"error":"internal error"}\n'),
      (response) => response.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end(),
      (response) => response.writeHead(201).end('<html>'),
      (response, { headers }) => response.writeHead(400).end(`{"error":"${headers.authorization ?? ''}"}\n`),
    ]
    const at: number[] = []
    const url = await listen(t, (request, response) => {
      at.push(performance.now())
      request.resume()
      answers[at.length - 1]?.(response, request)
    })
    t.match(await start([...report, '--url', `${url}/`]).ended, {
      status: 0,
      stdout: /^reported/,
      stderr: /answers 503 \(not now\); trying again\n.*answers 429 .*; trying again\n.*cannot be reached/,
    })
    t.ok((at[1] ?? 0) - (at[0] ?? 0) >= 1900, 'Retry-After is waited for')
    const outcomes: [status: number, words: RegExp][] = [
      [3, /answers 503 \(later\); gave up after 60 s\n$/],
      [1, /answers 500 \(internal error\)\n$/],
      [1, /answers 302 \(not as a commit-status service does: is the address right\?\)\n$/],
      [1, /answers 201 \(not as a commit-status service does: is the address right\?\)\n$/],
      [1, /sends the token back: it is no commit-status service\n$/],
    ]
    for (const [status, stderr] of outcomes)
      t.match(await start([...report, '--url', url]).ended, { status, stdout: '', stderr })
  })

  t.test(
    `${name}: run passes input and signals on, keeps the exit status, and reports how the command ended`,
    atOnce(),
    async (t) => {
      const agent = await ciAgent(t)
      const { sha, list, service, token, environment } = agent
      const { start } = started(agent, shell)
      const checkout = await checkoutOf(agent)
      const reported = (state: string) =>
        `reported pending on alice/hello ${sha}\nreported ${state} on alice/hello ${sha}\n`
      const run = async (...args: string[]) => await start(['run', '--context', 'test', ...args], {}, checkout).ended
      const line = [...shell, client, 'run', '--context', 'test', '--', 'cat'].join(' ')
      const program = ['sh', '-c', `echo in | ${line}`] as const
      t.match(await agent.place.start([], { directory: checkout, environment, program }).ended, { stdout: 'in\n' })
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        const args = ['run', '--context', 'test', '--', 'sh', '-c', 'echo ready; exec sleep 600']
        const { child, ended } = start(args, {}, checkout)
        await once(child.stdout, 'data')
        child.kill(signal)
        await ended
        t.equal(child.signalCode, signal, 'as if there had been no client')
        t.match(await list(), [{ state: 'error', description: `ended by ${signal}` }])
      }
      t.strictSame(await run('--', 'sh', '-c', 'echo out; test "$1" = "a  b"', 'sh', 'a  b'), {
        status: 0,
        stdout: 'out\n',
        stderr: reported('success'),
      })
      t.match(await list(), [{ context: 'test', state: 'success', description: null }])
      t.match(await run('--', 'sh', '-c', 'exit 7'), { status: 7, stdout: '', stderr: reported('failure') })
      t.match(await list(), [{ state: 'failure', description: 'exit status 7' }])
      t.match(await run('--description', 'see the log', '--', 'sh', '-c', 'kill -KILL $$'), { status: 137 })
      t.match(await list(), [{ state: 'error', description: 'see the log' }])
      t.match(await run('--', '/nonexistent'), { status: 127 })
      t.match(await list(), [{ state: 'failure', description: 'exit status 127' }])

      writeFileSync(join(checkout, 'file'), 'untracked files are no matter')
      t.match(await run('--', 'true'), { status: 0 })
      await git('-C', checkout, 'add', 'file')
      t.match(await run('--', 'true'), { status: 2, stderr: /^error: files differ from the commit/ })
      t.match(await run('--dirty', '--', 'true'), { status: 0 })
      t.match(await run(sha, '--', 'true'), { status: 0 }, 'nobody says that it is what is here')

      t.match(
        await start(['run', 'alice/none', sha, '--', 'echo', 'out']).ended,
        { status: 1, stdout: '', stderr: /repository not found/ },
        'what will be refused does not begin',
      )
      await service.end('SIGTERM')
      const brief = ['run', 'alice/hello', sha, '--timeout', '1s', '--']
      t.match(await start([...brief, 'echo', 'out']).ended, { status: 3, stdout: 'out\n' }, 'it may be back in time')
      t.match(await start([...brief, 'false']).ended, { status: 1 })
      t.notMatch(JSON.stringify(await list()), token)
    },
  )

  t.test(`${name}: waits for a verdict, with the exit statuses of the command`, atOnce(), async (t) => {
    const agent = await ciAgent(t)
    const { sha, place, environment } = agent
    const { start } = started(agent, shell)
    const report = async (context: string, state: string, ...more: string[]) =>
      await start(['report', 'alice/hello', sha, '--context', context, '--state', state, ...more]).ended
    const wait = (...args: string[]) => start(['wait', 'alice/hello', sha, ...args])
    await report('build', 'success', '--description', '"fine"\\ \u009b2J')
    await report('test/a', 'pending')
    const waiting = wait('--require', 'build', '--require', 'test/*')
    t.match(await wait('--require', 'test/*', '--require', 'lint', '--timeout', '1s').ended, {
      status: 3,
      stdout: '',
      stderr: 'commit-status-report: no verdict in time: test/* (pending),lint (no report yet)\n',
    })
    await report('test/a', 'success', '--target-url', 'https://ci.example/7')
    t.strictSame(await waiting.ended, {
      status: 0,
      stdout: 'success  build  "fine"\\ ?2J\nsuccess  test/a  https://ci.example/7\nverdict: success\n',
      stderr: '',
    })
    // It takes ten seconds without a change.
    if (shell === shells[0]) t.match(await wait().ended, { status: 0, stdout: /\nverdict: success\n$/ })

    await report('lint', 'failure')
    await report('deploy', 'pending')
    const failed = { status: 1, stdout: /^failure {2}lint$/m, stderr: '' }
    t.match(await wait('--fail-fast').ended, failed)
    t.match(await wait('--require', 'lint').ended, failed, 'nothing that is required is to come')
    t.match(await wait('--timeout', '1s').ended, { status: 3 }, 'deploy may be')
    const json = await wait('--fail-fast', '--json').ended
    const { stdout } = await place.run(['status', 'wait', 'alice/hello', sha, '--fail-fast', '--json'], { environment })
    t.strictSame(json, { status: 1, stdout: stdout.replace('\\u009b', '?'), stderr: '' }, 'as the command')

    t.match(await start(['wait', 'alice/none', sha]).ended, {
      status: 4,
      stderr: /\(repository not found: alice\/none\)\n$/,
    })
    t.match(await wait('--by', '').ended, { status: 4, stderr: /answers 422 \(by / })
    t.match(await wait('--url', 'http://127.0.0.1:4', '--timeout', '1s').ended, {
      status: 3,
      stderr: /trying again\n.*no verdict in time: http:\/\/127\.0\.0\.1:4 cannot be reached/,
    })
    const url = await listen(t, ({ url = '' }, response) => {
      const verdict = '{"verdict":"success","required":[]}'
      response.end(url.includes('/verdict') ? verdict : '{"state":null,"statuses":[]}')
    })
    t.match(
      await wait('--url', url, '--require', 'build', '--timeout', '1s').ended,
      { status: 3, stderr: /answers what was not asked/ },
      'a proxy took away what stands behind the "?"',
    )
  })
}

t.test('The token is no argument of any program', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const { sha, token, place, service } = agent
  const programs = join(place.folder, 'bin')
  mkdirSync(programs)
  const log = join(place.folder, 'arguments')
  const path = process.env['PATH'] ?? ''
  const names = [
    'curl',
    'sed',
    'awk',
    'tr',
    'od',
    'head',
    'cut',
    'grep',
    'date',
    'cat',
    'git',
    'sleep',
    'paste',
    'printf',
  ]
  for (const name of names) {
    const file = join(programs, name)
    writeFileSync(file, `#!/bin/sh\nPATH='${path}'\nprintf '%s\\n' ${name} "$@" >> '${log}'\nexec ${name} "$@"\n`)
    chmodSync(file, 0o755)
  }
  const { start } = started(agent, ['dash'])
  const environment = { PATH: `${programs}${delimiter}${path}` }
  t.match(await start(['run', 'alice/hello', sha, '--', 'true'], environment).ended, { status: 0 })
  t.match(await start(['wait', 'alice/hello', sha, '--require', 'default'], environment).ended, { status: 0 })
  writeFileSync(join(place.folder, 'odd'), `${token}"\\x\n`)
  const odd = await start(['report', '--token-file', 'odd', '--state', 'error', 'alice/hello', sha], environment).ended
  t.match(odd, { status: 1, stderr: `${service.url} answers 401` }, 'it is sent as it is, not read by curl')
  const said = readFileSync(log, 'utf8')
  t.match(said, '\ncurl\n')
  t.notMatch(said, token)
})

t.test('The repository of a checkout is what the command tells', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const checkout = await checkoutOf(agent)
  const paths: string[] = []
  const url = await listen(t, (request, response) => {
    paths.push(decodeURIComponent(request.url ?? ''))
    request.resume()
    response.writeHead(201).end('{}\n')
  })
  const { start } = started(agent, ['dash'])
  const report = async () => await start(['report', '--state', 'success'], { COMMIT_STATUS_URL: '' }, checkout).ended
  await git('-C', checkout, 'config', 'commit-status.url', url)
  for (const remote of [
    'https://git.example.com/alice/hello.git/',
    'http://bob:secret@git.example.com:8080/git/alice/hello.git',
    'ssh://git@git.example.com:2222/srv/git/team/sub/deep.git',
    'ssh://git@[::1]:22/project.git',
    'git@git.example.com:team/sub/deep.git',
    'git@git.example.com:project.git',
    'git@[::1]:alice/hello',
    'git.example.com:/var/lib/gitolite3/repositories/team/sub/deep.git',
    'git.example.com:/disk7/alice/hello.git',
    'file:///srv/git/project.git',
    '/home/alice/git/bob/hello.git',
    '../alice/hello.git',
  ]) {
    await git('-C', checkout, 'config', 'remote.origin.url', remote)
    t.match(await report(), { status: 0, stderr: '' }, remote)
    t.equal(/repos\/(.*)\/statuses/.exec(paths.at(-1) ?? '')?.[1], repositoryAt(remote), remote)
  }
  await git('-C', checkout, 'config', 'commit-status.topOwner', 'plain')
  await git('-C', checkout, 'config', 'remote.origin.url', 'git@git.example.com:project.git')
  t.match(await report(), { stdout: 'reported success on plain/project ' })
  await git('-C', checkout, 'config', 'commit-status.repository', 'bob/other')
  t.match(await report(), { stdout: 'reported success on bob/other ' })
})
