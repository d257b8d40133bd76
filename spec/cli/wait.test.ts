import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import stringWidth from 'string-width'
import t, { type Test } from 'tap'
import { ciAgent, type Agent } from '../fixtures/ci-agent.js'
import { listen } from '../fixtures/embedded.js'
import { freePort } from '../fixtures/free-port.js'
import { until } from '../fixtures/within.js'

// Most of the time is waiting.
t.jobs = 3
/** A new one each time: tap writes the test's own state into it. */
const atOnce = () => ({ buffered: true })

function waits({ place, environment, sha }: Agent) {
  return (...args: string[]) => place.start(['status', 'wait', 'alice/hello', sha, ...args], { environment })
}

async function report(
  { service, token, sha }: Agent,
  context: string,
  state: string,
  more: object = {},
): Promise<void> {
  const response = await fetch(`${service.url}/api/v1/repos/alice/hello/statuses/${sha}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ state, context, ...more }),
  })
  if (response.status !== 201) throw new Error(await response.text())
}

/** A server between the command and the service. @returns its address */
async function before(t: Test, answer: (...exchange: Parameters<RequestListener>) => Promise<void>): Promise<string> {
  return await listen(t, (...exchange) => void answer(...exchange))
}

t.test('It prints each status when it settles, then the verdict, and succeeds', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  await report(agent, 'build', 'success', { description: 'fine\u001b[2J' })
  await report(agent, 'test/a', 'pending')
  const { child, ended } = waits(agent)('--require', 'build', '--require', 'test/*')
  await once(child.stdout, 'data')
  await report(agent, 'test/a', 'success', { target_url: 'https://ci.example/7' })
  t.strictSame(await ended, {
    status: 0,
    stdout: 'success  build  fine\\u{1b}[2J\nsuccess  test/a  https://ci.example/7\nverdict: success\n',
    stderr: '',
  })
})

t.test('What is reported between the list and the verdict is printed before it', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  await report(agent, 'build', 'pending')
  let isReported = false
  const url = await before(t, async ({ url = '', headers: { authorization = '' } }, response) => {
    if (url.includes('/verdict') && !isReported) {
      isReported = true
      await report(agent, 'build', 'success')
    }
    const answer = await fetch(`${agent.service.url}${url}`, { headers: { authorization } })
    response.writeHead(answer.status, { ETag: answer.headers.get('etag') ?? '' }).end(await answer.text())
  })
  t.match(await waits(agent)('--url', url, '--require', 'build').ended, {
    status: 0,
    stdout: 'success  build\nverdict: success\n',
  })
})

t.test('So is what is reported while it is asked whether anything is to come', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  await report(agent, 'build', 'failure')
  await report(agent, 'test', 'pending')
  let verdicts = 0
  const url = await before(t, async ({ url = '', headers: { authorization = '' } }, response) => {
    if (url.includes('/verdict') && ++verdicts === 2) await report(agent, 'test', 'success')
    const answer = await fetch(`${agent.service.url}${url}`, { headers: { authorization } })
    response.writeHead(answer.status, { ETag: answer.headers.get('etag') ?? '' }).end(await answer.text())
  })
  t.match(await waits(agent)('--url', url, '--require', 'build', '--require', 'test', '--by', 'alice').ended, {
    status: 1,
    stdout: 'failure  build\nsuccess  test\nverdict: failure\n',
  })
})

t.test('A check that failed: 1, at once with --fail-fast, else when nothing is to come', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const wait = waits(agent)
  await report(agent, 'build', 'failure')
  await report(agent, 'test', 'pending')
  const require = ['--require', 'build', '--require', 'test']
  t.match(await wait(...require, '--fail-fast', '--json').ended, { status: 1, stdout: /"verdict":"failure"/ })
  const { child, ended } = wait(...require)
  let isOver = false
  void ended.then(() => (isOver = true))
  await once(child.stdout, 'data')
  t.notOk(isOver)
  await report(agent, 'test', 'success')
  t.match(await ended, { status: 1, stdout: 'failure  build\nsuccess  test\nverdict: failure\n' })
})

t.test('No verdict in time: 3, and what is missing', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  await report(agent, 'build', 'pending')
  t.match(await waits(agent)('--require', 'build', '--require', 'lint', '--timeout', '2s').ended, {
    status: 3,
    stdout: '',
    stderr: 'commit-status: no verdict in time: build (pending), lint (no report yet)\n',
  })
  t.match(await waits(agent)('--timeout', '1s').ended, { status: 3, stderr: /build \(pending\)\n$/ })
})

t.test('Without a requirement: success ten seconds after the last change', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  await report(agent, 'build', 'success')
  const begun = performance.now()
  t.match(await waits(agent)().ended, { status: 0, stdout: 'success  build\nverdict: success\n' })
  t.ok(performance.now() - begun >= 10_000)
})

t.test('What is refused: 4; wrong use: 2', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const { place, environment, sha } = agent
  const run = async (args: string[], more: Record<string, string> = {}) =>
    await place.run(['status', 'wait', ...args], { environment: { ...environment, ...more } })
  t.match(await run(['alice/none', sha]), { status: 4, stderr: /answers 404 \(repository not found: alice\/none\)/ })
  t.match(await run(['alice/hello', '0'.repeat(40)]), { status: 4, stderr: /commit not found/ })
  t.match(await run(['alice/hello', sha], { COMMIT_STATUS_TOKEN: 'wrong' }), { status: 4, stderr: /answers 401/ })
  t.match(await run(['alice/hello', 'abc']), { status: 2, stderr: /not a full 40 or 64/ })
  t.match(await run(['alice/hello', sha, '--stale', 'soon']), { status: 2, stderr: /stale must be like/ })
  t.match(await run(['alice/hello', sha, '--timeout', '0s']), { status: 2, stderr: /like 30s, 5m or 1h/ })
  t.match(await run(['alice/hello', sha], { COMMIT_STATUS_URL: '' }), { status: 2 })
})

t.test('An error is never a verdict: it asks again until the time is over', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  await report(agent, 'build', 'success')
  let requests = 0
  const url = await before(t, async (request, response) => {
    if (++requests <= 3) {
      response.writeHead([500, 503, 200][requests - 1] ?? 500, { 'Retry-After': '1' }).end('<html>')
      return
    }
    // A service that lets nobody wait.
    const { authorization = '' } = request.headers
    const answer = await fetch(`${agent.service.url}${request.url ?? ''}`, { headers: { authorization } })
    response.writeHead(answer.status).end(await answer.text())
  })
  const { ended } = waits(agent)('--url', url, '--require', 'build')
  await until(() => requests >= 4)
  const { status, stdout, stderr } = await ended
  t.strictSame([status, stdout], [0, 'success  build\nverdict: success\n'])
  t.equal(stderr.match(/trying again/g)?.length, 3)
  const nobody = `http://127.0.0.1:${await freePort()}`
  t.match(await waits(agent)('--url', nobody, '--timeout', '2s').ended, {
    status: 3,
    stderr: /no verdict in time: .* cannot be reached/,
  })
})

t.test(
  'On a terminal it is a table that is drawn anew in its place, and fits it',
  { ...atOnce(), skip: process.platform !== 'linux' },
  async (t) => {
    const agent = await ciAgent(t)
    const columns = 50
    await report(agent, 'build', 'pending', { description: '進行中'.repeat(50) })
    await report(agent, 'integration-tests/'.repeat(10), 'success')
    const { place, environment, sha } = agent
    const { child, ended } = place.startOnTerminal(['status', 'wait', 'alice/hello', sha, '--require', 'build'], {
      environment: { ...environment, TERM: 'xterm' },
      columns,
      rows: 6,
    })
    let drawn = ''
    child.stdout.on('data', (some: Buffer) => (drawn += some.toString()))
    await until(() => drawn.includes('…\r\n'))
    for (let n = 0; n < 9; n++) await report(agent, `test/${n}`, n === 8 ? 'failure' : 'success')
    await until(() => drawn.includes('more\r\n'))
    await report(agent, 'build', 'success')
    const { status, stdout } = await ended
    t.equal(status, 0)
    // Each time the cursor goes back over exactly the lines that are there, and nothing of them stays.
    const [first = '', ...more] = stdout.replaceAll('\r', '').split(/\u001b\[(?=\d+A\u001b\[J)/)
    t.ok(more.length > 0)
    let lines = first.match(/\n/g)?.length ?? 0
    for (const text of more) {
      const [, count, table = ''] = /^(\d+)A\u001b\[J([^]*)$/.exec(text) ?? []
      t.equal(Number(count), lines)
      lines = table.replace(/verdict: .*\n/, '').match(/\n/g)?.length ?? 0
      t.ok(lines < 6)
    }
    const plain = stdout.replaceAll(/\u001b\[\d*[A-Za-z]/g, '').split(/\r?\n/)
    t.strictSame(
      plain.filter((line) => stringWidth(line) >= columns),
      [],
    )
    t.match(plain.at(-2), /^verdict: success$/)
    t.match(plain.join('\n'), /failure  test\/8\n.*\n.*\n.*\n… 7 more\n/)
  },
)

t.test(
  'With --by, what somebody else has reported is waited for, like what is missing, and named',
  atOnce(),
  async (t) => {
    const agent = await ciAgent(t)
    const { place } = agent
    await place.run(['access', 'grant', 'alice/hello', 'ci', 'write'])
    const token = await place.tokenOf('ci')
    await report({ ...agent, token }, 'test/1', 'failure')
    await report(agent, 'test/2', 'success')
    const wait = waits(agent)
    t.match(await wait('--require', 'test/*', '--by', 'ci', '--timeout', '5m', '--fail-fast').ended, { status: 1 })
    t.match(await wait('--require', 'test/2', '--by', 'ci', '--timeout', '1s').ended, {
      status: 3,
      stderr: /no verdict in time: test\/2 \(pending\); test\/2 was reported last by alice, not by ci\n$/,
    })
    const { child, ended } = wait('--require', 'test/*', '--by', 'ci', '--timeout', '5m')
    await once(child.stdout, 'data')
    await report({ ...agent, token }, 'test/2', 'success')
    t.match(await ended, { status: 1, stdout: /verdict: failure\n$/ })

    await report({ ...agent, token }, 'test/3', 'pending')
    t.match(await wait('--require', 'test/*', '--stale', '1s', '--timeout', '5m').ended, { status: 1 })
  },
)

t.test('The time is over in time, whatever the service does; and what is missing is said', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  const silent = await before(t, async () => {
    // Nothing ever comes.
  })
  const begun = performance.now()
  t.match(await waits(agent)('--url', silent, '--timeout', '1s').ended, {
    status: 3,
    stderr: /no verdict in time: \S+ cannot be reached: no answer in time\n$/,
  })
  // Past the time it waits for two seconds for an answer that may be on its way.
  t.ok(performance.now() - begun < 10_000)

  await report(agent, 'build', 'success')
  let answers = 0
  const ending = await before(t, async ({ url = '', headers: { authorization = '' } }, response) => {
    if (++answers > 2) {
      response.destroy()
      return
    }
    const answer = await fetch(`${agent.service.url}${url}`, { headers: { authorization } })
    response.writeHead(answer.status).end(await answer.text())
  })
  t.match(await waits(agent)('--url', ending, '--require', 'nope', '--timeout', '4s').ended, {
    status: 3,
    stderr: /no verdict in time: nope \(no report yet\); \S+ cannot be reached: .*\n$/,
  })
})

t.test('An answer to another question is none', atOnce(), async (t) => {
  const agent = await ciAgent(t)
  await report(agent, 'build', 'success')
  // As a proxy that hands on the path alone.
  const url = await before(t, async ({ url = '', headers: { authorization = '' } }, response) => {
    const answer = await fetch(`${agent.service.url}${url.replace(/\?.*/, '')}`, { headers: { authorization } })
    response.writeHead(answer.status).end(await answer.text())
  })
  t.match(await waits(agent)('--url', url, '--require', 'lint', '--timeout', '1s').ended, {
    status: 3,
    stderr: /answers what was not asked: does a proxy take away what stands behind the "\?"/,
  })
})
