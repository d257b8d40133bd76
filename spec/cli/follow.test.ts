import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { FollowedRepository } from '../../scripts/cli/clients/event-client.js'
import { ciAgent, type Agent } from '../fixtures/ci-agent.js'
import { git } from '../fixtures/git.js'
import { listen } from '../fixtures/embedded.js'
import { freePort } from '../fixtures/free-port.js'
import { until } from '../fixtures/within.js'

// Most of the time is waiting.
t.jobs = 3
/** A new one each time: tap writes the test's own state into it. */
const atOnce = () => ({ buffered: true })

/** A follower that goes on, and what it has printed by now. */
function follows(
  { place, environment }: Agent,
  args: string[] = ['alice/hello'],
  url = environment['COMMIT_STATUS_URL'],
) {
  const started = place.start(['follow', ...args], { environment: { ...environment, COMMIT_STATUS_URL: url } })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    started.child[name].on('data', (some: Buffer) => (printed[name] += some.toString()))
  return { ...started, printed }
}

async function report({ service, token, sha }: Agent, context: string, state: string, more: object = {}) {
  const response = await fetch(`${service.url}/api/v1/repos/alice/hello/statuses/${sha}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ state, context, ...more }),
  })
  if (response.status !== 201) throw new Error(await response.text())
  return (await response.json()) as Record<string, unknown>
}

/** Reports until it is printed: nobody hears when a command has begun to follow. */
async function reportUntilPrinted(agent: Agent, printed: { stdout: string }): Promise<void> {
  await until(async () => {
    await report(agent, 'begin', 'pending')
    return printed.stdout !== ''
  })
}

const withoutBegin = (text: string) => text.replaceAll(/^.*\bbegin\b.*\n/gm, '')

t.test('It prints each report as it comes, and Ctrl-C ends it with 0', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const { child, ended, printed } = follows(agent)
  await reportUntilPrinted(agent, printed)
  const one = await report(agent, 'build', 'failure', {
    description: 'red\u001b[2J\u2028',
    target_url: 'https://ci.example/7',
  })
  const other = await report(agent, 'test', 'success')
  await until(() => printed.stdout.includes('  test\n'))
  child.kill('SIGINT')
  const { status, stdout, stderr } = await ended
  t.strictSame([status, stderr], [0, ''])
  t.equal(
    withoutBegin(stdout),
    `${String(one['updated_at'])}  failure  ${agent.sha}  build  red\\u{1b}[2J\\u{2028}  https://ci.example/7\n` +
      `${String(other['updated_at'])}  success  ${agent.sha}  test\n`,
  )
})

t.test('With --json an object for each event', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const { child, ended, printed } = follows(agent, ['alice/hello', '--json'])
  await reportUntilPrinted(agent, printed)
  const status = await report(agent, 'build', 'success', { description: '\u2028' })
  await until(() => printed.stdout.includes('"build"'))
  child.kill('SIGTERM')
  const { status: exit, stdout } = await ended
  t.equal(exit, 0)
  t.strictSame(JSON.parse(withoutBegin(stdout)), {
    event: 'status',
    repository: 'alice/hello',
    status,
    previous_state: null,
  })
})

t.test('Without a repository it is that of the checkout; a public one needs no token', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const { place, environment, service } = agent
  await place.run(['repo', 'public', 'alice/hello'])
  await git('init', '--quiet', `${place.folder}/work`)
  const directory = `${place.folder}/work`
  await git('-C', directory, 'remote', 'add', 'origin', 'ssh://git@example.com/srv/git/alice/hello.git')
  await git('-C', directory, 'config', 'commit-status.url', service.url)
  const { child, ended } = place.start(['follow'], { directory, environment: { COMMIT_STATUS_URL: undefined } })
  let printed = ''
  child.stdout.on('data', (some: Buffer) => (printed += some.toString()))
  await until(async () => {
    await report(agent, 'begin', 'success')
    return printed !== ''
  })
  child.kill('SIGINT')
  t.match(await ended, { status: 0, stderr: '' })
  await git('-C', directory, 'remote', 'remove', 'origin')
  const nowhere = await place.run(['follow'], { directory, environment })
  t.match(nowhere, { status: 2, stderr: /no repository is given, and none can be told from the folder/ })
})

t.test('What is refused: 4, also later; wrong use: 2', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const { place, environment } = agent
  const run = async (args: string[], more: Record<string, string | undefined> = {}) =>
    await place.run(['follow', ...args], { environment: { ...environment, ...more } })
  t.match(await run(['alice/none']), { status: 4, stderr: /answers 404 \(repository not found: alice\/none\)/ })
  t.match(await run(['alice/hello'], { COMMIT_STATUS_TOKEN: 'wrong' }), { status: 4, stderr: /answers 401/ })
  t.match(await run(['alice/hello'], { COMMIT_STATUS_TOKEN: undefined }), { status: 4, stderr: /answers 401/ })
  t.match(await run(['alice']), { status: 2, stderr: /"alice" is no repository name/ })
  t.match(await run(['alice/hello'], { COMMIT_STATUS_URL: '' }), { status: 2 })
  const { ended, printed } = follows(agent)
  await reportUntilPrinted(agent, printed)
  await place.run(['token', 'revoke', '-'], { input: agent.token })
  t.match(await ended, { status: 4, stderr: /^commit-status: \S+ answers 401 \(.*\)\n$/ })
})

t.test('A connection that is lost is made again, and it goes on where it was', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const asked: (string | undefined)[] = []
  const url = await before(t, agent, (request, _, pass) => {
    asked.push(request.headers['last-event-id']?.toString())
    return pass
  })
  const { child, ended, printed } = follows(agent, ['alice/hello'], url)
  await reportUntilPrinted(agent, printed)
  await report(agent, 'one', 'success')
  await until(() => printed.stdout.includes('  one\n'))
  cut(url)
  await report(agent, 'two', 'success')
  await until(() => printed.stdout.includes('  two\n'))
  t.match(asked[1], /^[\w-]+\.\d+\./)
  t.equal(printed.stderr, '')
  child.kill('SIGINT')
  t.equal((await ended).stdout.match(/ {2}one\n/g)?.length, 1)
})

t.test('Where it cannot go on where it was it says so; what fails is said once', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  let requests = 0
  const url = await before(t, agent, (request, response, pass) => {
    requests++
    if (requests === 1) return pass
    if (requests < 4) response.writeHead(503, { 'Retry-After': '1' }).end('{"error":"starting"}')
    else {
      request.headers['last-event-id'] = 'of another service'
      return pass
    }
    return undefined
  })
  const { child, ended, printed } = follows(agent, ['alice/hello'], url)
  await reportUntilPrinted(agent, printed)
  cut(url)
  await until(() => printed.stderr.includes('missing'))
  child.kill('SIGINT')
  t.match(await ended, {
    status: 0,
    stderr:
      `commit-status: ${url} answers 503 (starting); trying again\n` +
      'commit-status: of what was reported before, something may be missing\n',
  })
})

t.test('A service that is not there is tried again; Ctrl-C ends that too', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const { child, ended } = follows(agent, ['alice/hello'], `http://127.0.0.1:${await freePort()}`)
  await once(child.stderr, 'data')
  child.kill('SIGINT')
  t.match(await ended, { status: 0, stdout: '', stderr: /cannot be reached: .*; trying again\n$/ })
})

t.test(
  'On a terminal lines are short and in colour',
  { ...atOnce(), skip: process.platform !== 'linux' },
  async (t) => {
    const agent = await ciAgent(t)
    const { place, environment, sha } = agent
    const { child, ended } = place.startOnTerminal(['follow', 'alice/hello'], {
      environment: { ...environment, TERM: 'xterm', TZ: 'UTC' },
    })
    let printed = ''
    child.stdout.on('data', (some: Buffer) => (printed += some.toString()))
    await until(async () => {
      await report(agent, 'begin', 'error', { target_url: 'https://ci.example/7', description: 'x' })
      return printed !== ''
    })
    child.kill('SIGINT')
    await ended
    t.match(
      printed.split('\r\n')[0],
      new RegExp(`^\\d\\d:\\d\\d:\\d\\d  \\u001b\\[31merror\\u001b\\[39m    ${sha.slice(0, 10)}  begin  x$`),
    )
  },
)

t.test('What comes twice over two connections is passed over, as long as it is known', async (t) => {
  const eventsTo = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const status = { sha: 'a', context: String(index), state: 'success', updated_at: '' }
      return `event: status\ndata: ${JSON.stringify({ repository: 'a/b', status })}\n\n`
    })
  const answers = [eventsTo(3), eventsTo(1002), eventsTo(1)]
  const url = await listen(t, (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(answers.shift()?.join(''))
  })
  const followed = new FollowedRepository({ url: new URL(`${url}/`), token: undefined, repository: 'a/b' })
  const count = async () => {
    let events = 0
    for await (const _ of followed.events(new AbortController().signal)) events++
    return events
  }
  t.strictSame([await count(), await count(), await count()], [3, 999, 1])
})

t.test('What is no stream of a service is none, and silence is the end', async (t) => {
  const sent = [
    'event: status\ndata: {"repository":"a/b"}\n\n',
    'event: status\ndata: {}\n\n',
    'event: gap\ndata: nonsense\n\n',
    `data: ${'x'.repeat(2 ** 20)}`,
  ]
  const answers: ((...exchange: Parameters<RequestListener>) => void)[] = [
    (_, response) => response.writeHead(200).end('{}'),
    (_, response) => response.writeHead(302, { Location: 'https://example.com/' }).end(),
    ...sent.map((text): RequestListener => (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(text)
    }),
  ]
  const url = await listen(t, (request, response) => answers.shift()?.(request, response))
  const followed = new FollowedRepository({ url: new URL(`${url}/`), token: undefined, repository: 'a/b' }, 500)
  const read = async (of = followed) => {
    const all: unknown[] = []
    for await (const event of of.events(new AbortController().signal)) all.push(event)
    return all
  }
  await t.rejects(read(), { message: /answers 200, not as a commit-status service does/ })
  await t.rejects(read(), { message: /answers 302, not as/ })
  for (const _ of sent) await t.rejects(read(), { message: /does not answer as a commit-status service does/ })
  answers.push(
    (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(
        ': one\r\nid: 1\r\n\r\nevent: later\nid: 2\ndata: {}\n\nevent: gap\nid: \u00e9\ndata: {"repository":"a/b"}\n\n',
      )
    },
    (request, response) => {
      t.equal(request.headers['last-event-id'], '2')
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('event: gap\n', () => response.destroy())
    },
    () => undefined,
  )
  t.strictSame(await read(), [{ event: 'gap', repository: 'a/b' }], 'after so long a silence')
  t.strictSame(await read(), [], 'what is cut off is no event')
  await t.rejects(read(), { message: /cannot be reached: no answer in time/ })
})

/** What ends the connections of a server between the command and the service. */
const connections = new Map<string, Set<{ destroy(): unknown }>>()

function cut(url: string): void {
  for (const response of connections.get(url) ?? []) response.destroy()
}

/** A server between the command and the service, which passes on what `answer` does not answer. @returns its address */
async function before(
  t: Test,
  { service }: Agent,
  answer: (...exchange: [...Parameters<RequestListener>, pass: true]) => true | undefined,
): Promise<string> {
  const open = new Set<{ destroy(): unknown }>()
  const url = await listen(t, (request, response) => {
    if (!answer(request, response, true)) return
    open.add(response)
    const gone = new AbortController()
    response.on('close', () => {
      gone.abort()
    })
    const { authorization = '', 'last-event-id': last } = request.headers
    const headers = { authorization, ...(last !== undefined && { 'Last-Event-ID': String(last) }) }
    void fetch(`${service.url}${request.url ?? ''}`, { headers, signal: gone.signal })
      .then(async ({ status, headers: sent, body }) => {
        response.writeHead(status, { 'Content-Type': sent.get('content-type') ?? '' })
        for await (const part of body ?? []) response.write(part)
        response.end()
      })
      .catch(() => undefined)
  })
  connections.set(url, open)
  return url
}
