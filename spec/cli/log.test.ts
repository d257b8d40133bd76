import { join } from 'node:path'
import t from 'tap'
import { ciAgent, type Agent } from '../fixtures/ci-agent.js'
import { listen } from '../fixtures/embedded.js'
import { git, gitWithInput, makeCommit } from '../fixtures/git.js'
import type { Outcome } from '../fixtures/command.js'

interface Checkout extends Agent {
  readonly second: string
  readonly checkout: string
  readonly report: (sha: string, body: object) => Promise<void>
  readonly log: (...args: string[]) => Promise<Outcome>
}

/** A checkout of two commits. */
async function checkoutOf(t: Parameters<typeof ciAgent>[0]): Promise<Checkout> {
  const agent = await ciAgent(t)
  const { place, service, token, environment } = agent
  const directory = join(place.repositories, 'alice/hello.git')
  const second = await makeCommit(directory, 'second')
  const checkout = join(place.folder, 'checkout')
  await git('clone', '--quiet', directory, checkout)
  return {
    ...agent,
    second,
    checkout,
    report: async (sha, body) => {
      const headers = { Authorization: `Bearer ${token}` }
      const address = `${service.url}/api/v1/repos/alice/hello/statuses/${sha}`
      const { status } = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })
      t.equal(status, 201)
    },
    log: async (...args) => await place.run(['log', ...args], { environment, directory: checkout }),
  }
}

t.test('Each commit has a sign for its state, and the contexts that failed', async (t) => {
  const { sha, second, report, log } = await checkoutOf(t)
  await report(sha, { state: 'success' })
  await report(second, { state: 'failure', context: 'test\u001b[2J' })
  await report(second, { state: 'error', context: 'lint' })
  await report(second, { state: 'success', context: 'build' })
  const short = (id: string): string => id.slice(0, 7)
  const shown = await log()
  t.strictSame(shown, {
    status: 0,
    stdout: `✗ ${short(second)} second  [lint, test\\u{1b}[2J]\n✓ ${short(sha)} a commit\n`,
    stderr: '',
  })
  const painted = await log('-1', '--graph')
  t.equal(painted.stdout, `* ✗ ${short(second)} second  [lint, test\\u{1b}[2J]\n`)
  const none = await log('HEAD~1..HEAD~1')
  t.strictSame([none.status, none.stdout], [0, ''])
})

t.test("What git log takes is git's: ranges, paths, patches, what it refuses", async (t) => {
  const { place, checkout, environment, sha, second, log } = await checkoutOf(t)
  t.match((await log('HEAD~1')).stdout, new RegExp(`^· ${sha.slice(0, 7)} a commit\n$`))
  t.strictSame(await log('--', 'no-such-file'), { status: 0, stdout: '', stderr: '' })
  t.match((await log('-p', '-1', '--stat')).stdout, new RegExp(`^· ${second.slice(0, 7)} second\n`))
  const refused = await place.runProcess(['log', 'no-such-branch'], { environment, directory: checkout })
  t.equal(refused.status, 128)
  t.match(refused.stderr, /^fatal: .*no-such-branch/)
})

t.test('As JSON, a line for each commit', async (t) => {
  const { sha, second, report, log } = await checkoutOf(t)
  await report(second, { state: 'failure', context: 'test' })
  const { stdout } = await log('--json')
  const lines = stdout.trimEnd().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [
      { sha: second, author: 'A U Thor', subject: 'second', state: 'failure', statuses: 1, failed: ['test'] },
      { sha, subject: 'a commit', state: null, statuses: 0, failed: [] },
    ],
  )
})

t.test('Without the service the log is shown all the same, and it is said once', async (t) => {
  const { place, checkout, service, log, environment } = await checkoutOf(t)
  const refused = await place.run(['log'], {
    environment: { ...environment, COMMIT_STATUS_TOKEN: 'cst_wrong' },
    directory: checkout,
  })
  t.match(refused, {
    status: 0,
    stdout: /^· .* second\n· .* a commit\n$/,
    stderr: /401 \(invalid or expired token\)\n$/,
  })
  await service.end('SIGTERM')
  const { status, stdout, stderr } = await log()
  t.equal(status, 0)
  t.match(stdout, /^· .* second\n· .* a commit\n$/)
  t.match(stderr, /^commit-status: the log is shown without states: http:.* cannot be reached: .*\n$/)
})

t.test('A hundred commits are asked for at once, and more in turn', async (t) => {
  const { place, service, sha, checkout, report, log } = await checkoutOf(t)
  const commits = Array.from({ length: 120 }, (_, at) => [
    'commit refs/heads/main',
    `committer x <x@x> ${1_800_000_000 + at} +0000`,
    'data 1',
    'm',
    ...(at === 0 ? ['from refs/heads/main^0'] : []),
    '',
  ])
  const directory = join(place.repositories, 'alice/hello.git')
  await gitWithInput(commits.flat().join('\n'), '-C', directory, 'fast-import', '--quiet')
  await git('-C', checkout, 'pull', '--quiet')
  await report(sha, { state: 'success' })
  const ids = await git('-C', checkout, 'rev-list', '--max-count=60', 'HEAD')
  const failing = ids.split('\n')
  await Promise.all(failing.map(async (id) => await report(id, { state: 'failure', context: 'test' })))
  const asked: string[] = []
  const forwarder = await listen(t, (request, response) => {
    asked.push(request.url ?? '')
    const headers = { Authorization: request.headers.authorization ?? '' }
    void fetch(`${service.url}${request.url ?? ''}`, { headers }).then(async (answer) => {
      response.writeHead(answer.status).end(await answer.text())
    })
  })
  const { stdout } = await log('--url', forwarder)
  const lines = stdout.trimEnd().split('\n')
  t.equal(lines.length, 122)
  t.match(lines.at(-1), /^✓ /)
  t.equal(lines.filter((line) => /^✗ .*\[test\]$/.test(line)).length, 60)
  t.strictSame(
    asked.map((path) => path.replace(/\?.*/, '')),
    Array(2).fill('/api/v1/repos/alice/hello/states'),
  )
})

t.test('Of many contexts that failed the first are named', async (t) => {
  const { second, report, log } = await checkoutOf(t)
  const names = Array.from({ length: 21 }, (_, index) => `c${String.fromCharCode(97 + index)}`)
  const failed = async (context: string): Promise<void> => {
    await report(second, { state: 'failure', context })
  }
  await Promise.all(names.slice(0, 10).map(failed))
  t.match((await log('-1')).stdout, `[${names.slice(0, 10).join(', ')}]\n`)
  await Promise.all(names.slice(10).map(failed))
  t.match((await log('-1')).stdout, `[${names.slice(0, 10).join(', ')}, …]\n`)
  const { stdout } = await log('-1', '--json')
  t.match(JSON.parse(stdout), { statuses: 21, failed: names.slice(0, 20) })
})

t.test('What is too long to be an answer is said to be that', async (t) => {
  const { log } = await checkoutOf(t)
  const url = await listen(t, (_, response) => {
    response.end('x'.repeat(5_000_000))
  })
  const { status, stdout, stderr } = await log('--url', url)
  t.equal(status, 0)
  t.match(stdout, /^· .* second\n· .* a commit\n$/)
  t.equal(stderr, `commit-status: the log is shown without states: ${url} answers more than 4194304 bytes\n`)
})

t.test('On a terminal it is paged and coloured', async (t) => {
  const { place, checkout, second, environment, report } = await checkoutOf(t)
  await report(second, { state: 'success' })
  const { status, stdout } = await place.runOnTerminal(['log', '--no-decorate'], {
    environment: { ...environment, GIT_PAGER: 'sed s/second/paged/', TERM: 'xterm' },
    directory: checkout,
  })
  t.equal(status, 0)
  t.match(stdout, '\u001b[32m✓\u001b[39m')
  t.match(stdout, 'paged')
  const ended = await place.runOnTerminal(['log', '--no-decorate'], {
    environment: { ...environment, GIT_PAGER: 'true', TERM: 'xterm' },
    directory: checkout,
  })
  t.equal(ended.status, 0)
})

t.test('The settings of git say whether it is paged and coloured, and arguments go before them', async (t) => {
  const { place, checkout, second, environment, report } = await checkoutOf(t)
  await report(second, { state: 'failure', context: 'test' })
  const run = async (kind: 'run' | 'runOnTerminal', given: Record<string, string>, ...args: string[]) => {
    const settings = Object.entries({ 'core.pager': 'sed s/second/paged/', ...given }).filter(([name]) =>
      name.includes('.'),
    )
    const variables = settings.flatMap(([name, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, name],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ])
    const more = Object.entries(given).filter(([name]) => !name.includes('.'))
    const { status, stdout } = await place[kind](['log', '-1', '--no-decorate', ...args], {
      environment: {
        ...environment,
        TERM: 'xterm',
        ...(Object.fromEntries([...variables, ...more]) as Record<string, string>),
        GIT_CONFIG_COUNT: String(settings.length),
      },
      directory: checkout,
    })
    t.equal(status, 0)
    const colours = [
      stdout.includes('\u001b[31m✗\u001b[39m'),
      stdout.includes('\u001b[31m[test]\u001b[39m'),
      stdout.includes('\u001b[33m'),
    ]
    t.equal(new Set(colours).size, 1, 'signs, contexts and what is of git are as one')
    return [stdout.includes('paged'), colours[0]]
  }
  const [paged, coloured] = [true, true]
  t.strictSame(await run('runOnTerminal', {}), [paged, coloured])
  t.strictSame(await run('runOnTerminal', { 'pager.log': 'false' }), [!paged, coloured])
  t.strictSame(await run('runOnTerminal', { 'pager.log': 'true' }), [paged, coloured])
  t.strictSame(await run('runOnTerminal', { 'core.pager': 'cat', 'pager.log': 'sed s/second/paged/' }), [
    paged,
    coloured,
  ])
  t.strictSame(await run('runOnTerminal', { 'core.pager': 'cat' }), [!paged, coloured])
  t.strictSame(await run('runOnTerminal', {}, '--no-color'), [paged, !coloured])
  t.strictSame(await run('runOnTerminal', {}, '--color=never', '--color=auto'), [paged, coloured])
  t.strictSame(await run('runOnTerminal', { 'color.ui': 'never' }), [paged, !coloured])
  t.strictSame(await run('runOnTerminal', { 'color.ui': 'never' }, '--color'), [paged, coloured])
  t.strictSame(await run('runOnTerminal', { 'color.ui': 'never', 'color.diff': 'auto' }), [paged, coloured])
  t.strictSame(await run('runOnTerminal', { 'color.pager': 'false' }), [paged, !coloured])
  t.strictSame(await run('runOnTerminal', { 'color.pager': 'false', 'pager.log': 'false' }), [!paged, coloured])
  t.strictSame(await run('runOnTerminal', { NO_COLOR: '1' }), [paged, !coloured])
  t.strictSame(await run('run', {}), [!paged, !coloured])
  t.strictSame(await run('run', {}, '--color=always'), [!paged, coloured])
  t.strictSame(await run('run', {}, '--color=always', '--'), [!paged, coloured])
  t.strictSame(await run('run', {}, '--color=auto'), [!paged, !coloured])
  t.strictSame(await run('run', { 'color.ui': 'always' }), [!paged, coloured])
  t.strictSame(await run('run', { FORCE_COLOR: '1' }), [!paged, coloured])
  t.strictSame(await run('run', { FORCE_COLOR: '1' }, '--no-color'), [!paged, !coloured])
})

t.test('-z, which ends lines otherwise, is wrong use; a path of that name is none', async (t) => {
  const { log } = await checkoutOf(t)
  t.match(await log('-z'), { status: 2, stdout: '', stderr: /-z cannot be given/ })
  t.strictSame(await log('--', '-z'), { status: 0, stdout: '', stderr: '' })
})

t.test('Without an address, or outside of a checkout, it says what is missing', async (t) => {
  const { place, environment } = await checkoutOf(t)
  t.match(await place.run(['log'], { directory: place.folder }), { status: 2, stderr: /no address of the service/ })
  const outside = await place.run(['log'], { environment, directory: '/' })
  t.match(outside, { status: 2, stderr: /the folder does not tell the repository/ })
})
