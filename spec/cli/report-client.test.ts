// A process of its own: a time limit of a request that was given up runs out later, and nobody waits for it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { deliver, type Delivery } from '../../scripts/cli/clients/report-client.js'
import { listen } from '../fixtures/embedded.js'

const TOKEN = `cst_${'0123456789ab'.repeat(4)}`
const SAVED = { id: 'x', state: 'success', context: 'ci' }

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const saved: Answer = (response) => response.writeHead(201).end(JSON.stringify(SAVED))
const refusal =
  (status: number, headers: Record<string, string> = {}, body = JSON.stringify({ error: 'not now' })): Answer =>
  (response) =>
    response.writeHead(status, headers).end(body)

/** A server that gives one answer after the other, and a report to it. */
async function meet(t: Test, answers: readonly Answer[], options: Partial<Delivery> = {}) {
  const requests: IncomingMessage[] = []
  const told: string[] = []
  const origin = await listen(t, (request, response) => {
    const answer = answers[requests.length] ?? answers.at(-1)
    requests.push(request)
    answer?.(response, request)
  })
  const begun = performance.now()
  const outcome: unknown = await deliver({
    address: new URL('/api/v1/repos/alice/hello/statuses/0', origin),
    repository: 'alice/hello',
    token: TOKEN,
    report: { state: 'success' },
    milliseconds: 20_000,
    onFailedAttempt: (words) => told.push(words.replace(origin, 'it')),
    ...options,
  }).catch((error: unknown) => error)
  const { name, message } = outcome instanceof Error ? outcome : { name: 'saved', message: '' }
  return {
    origin,
    requests,
    told,
    outcome,
    name,
    message: message.replace(origin, 'it'),
    seconds: (performance.now() - begun) / 1000,
  }
}

t.test('A report is repeated while the service cannot take it, and nobody has to look after it', async (t) => {
  const cases: [when: string, first: Answer, told: string][] = [
    ['overloaded', refusal(503), 'it answers 503 (not now)'],
    ['too many failures', refusal(429), 'it answers 429 (not now)'],
    ['an error page of a proxy', refusal(503, {}, '<html>'), 'it answers 503'],
    ['a reset connection', (response) => response.socket?.resetAndDestroy(), 'it cannot be reached: read ECONNRESET'],
    ['a connection that is closed', (response) => response.socket?.end(), 'it cannot be reached: other side closed'],
    [
      'an answer that is cut off',
      (response) => response.writeHead(201, { 'Content-Length': '100' }).write('{', () => response.destroy()),
      'it cannot be reached: other side closed',
    ],
    ['no answer', () => undefined, 'it cannot be reached: no answer within 1.5 s'],
    [
      'an answer that does not end',
      (response) => response.writeHead(201).write('{'),
      'it cannot be reached: no answer within 1.5 s',
    ],
  ]
  await Promise.all(
    cases.map(async ([when, first, words]) => {
      // The others are not to be taken for hanging on a busy machine.
      const { outcome, requests, told } = await meet(
        t,
        [first, saved],
        words.includes('no answer') ? { attemptMilliseconds: 1500 } : {},
      )
      t.strictSame(outcome, SAVED, when)
      t.equal(requests.length, 2, when)
      t.strictSame(told, [`${words}; trying again`], when)
    }),
  )
})

t.test('A Retry-After is waited for, in seconds or as a date', async (t) => {
  const date = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2000)
  const secondAt: number[] = []
  const noted: Answer = (response, request) => {
    secondAt.push(Date.now())
    saved(response, request)
  }
  const [seconds, dated, nonsense, past] = await Promise.all([
    meet(t, [refusal(503, { 'Retry-After': '2' }), saved]),
    meet(t, [refusal(429, { 'Retry-After': date.toUTCString() }), noted]),
    meet(t, [refusal(503, { 'Retry-After': 'soon' }), saved]),
    meet(t, [refusal(503, { 'Retry-After': 'Wed, 21 Oct 2015 07:28:00 GMT' }), saved]),
  ])
  for (const { outcome } of [seconds, dated, nonsense, past]) t.strictSame(outcome, SAVED)
  t.ok(seconds.seconds >= 2.5, `${seconds.seconds} s, and a pause that is not the same for all`)
  t.ok((secondAt[0] ?? 0) >= date.getTime())
})

t.test('What the service refuses is not repeated', async (t) => {
  for (const status of [400, 401, 403, 404, 413, 422, 500]) {
    const { name, message, requests, told } = await meet(t, [refusal(status), saved])
    t.strictSame([name, message, requests.length, told], ['ReportRefused', `it answers ${status} (not now)`, 1, []])
  }
  const strangers: [answer: Answer, status: number][] = [
    [refusal(502, {}, '<html>'), 502],
    [refusal(200, {}, 'hello'), 200],
    [refusal(201, {}, 'null'), 201],
    [refusal(204, {}, ''), 204],
  ]
  for (const [answer, status] of strangers) {
    const { name, message, requests } = await meet(t, [answer, saved])
    t.strictSame(
      [name, message, requests.length],
      ['ReportRefused', `it answers ${status}, not as a commit-status service does: is the address right?`, 1],
    )
  }
})

t.test('When the time is over, the latest reason is told', async (t) => {
  const [busy, hanging, closed] = await Promise.all([
    meet(t, [refusal(503)], { milliseconds: 3000 }),
    meet(t, [() => undefined], { milliseconds: 300 }),
    meet(t, [saved], { milliseconds: 1000, address: new URL('http://127.0.0.1:4/') }),
  ])
  t.match(busy, { name: 'ServiceNotReached', message: 'it answers 503 (not now); gave up after 3 s' })
  t.ok(busy.requests.length > 1)
  t.match(hanging, {
    name: 'ServiceNotReached',
    message: /^it cannot be reached: no answer within 0\.\d+ s; gave up after 0.3 s$/,
  })
  t.match(closed, {
    name: 'ServiceNotReached',
    message: /^http:\/\/127\.0\.0\.1:4 cannot be reached: connect ECONNREFUSED .*; gave up after 1 s$/,
  })
})

t.test('A Retry-After that lies after the end is not waited for', async (t) => {
  const { name, message, seconds, requests } = await meet(t, [refusal(429, { 'Retry-After': '600' })])
  t.strictSame(
    [name, message, requests.length],
    ['ServiceNotReached', 'it answers 429 (not now), and asks to come again in 600 s, which is too late', 1],
  )
  t.ok(seconds < 10)
})

t.test('The token goes to no other address, and is in no message', async (t) => {
  const elsewhere = await meet(t, [saved])
  for (const status of [301, 302, 303, 307, 308]) {
    const { name, message } = await meet(t, [refusal(status, { Location: `${elsewhere.origin}/api` }, '')])
    t.strictSame(
      [name, message],
      [
        'ReportRefused',
        `it answers ${status}, a redirect to ${elsewhere.origin}/api: if that is the service, give its address`,
      ],
    )
  }
  t.equal(elsewhere.requests.length, 1, 'nobody has followed')

  const echo: Answer = (response, request) =>
    response.writeHead(400).end(JSON.stringify({ error: `what is ${request.headers.authorization}?` }))
  const { message, requests } = await meet(t, [echo])
  t.equal(requests[0]?.headers.authorization, `Bearer ${TOKEN}`)
  t.equal(message, 'it answers 400 (what is Bearer ***?)')
  const redirected = await meet(t, [
    (response) => response.writeHead(302, { Location: `https://login.example/?for=${TOKEN}` }).end(),
  ])
  t.equal(
    redirected.message,
    'it answers 302, a redirect to https://login.example/?for=***: if that is the service, give its address',
  )
})

t.test('A service that is none cannot steer the terminal, nor fill the memory', async (t) => {
  const { message } = await meet(t, [refusal(404, {}, JSON.stringify({ error: `\u001b[2J${'x'.repeat(100_000)}` }))])
  t.match(message, /^it answers 404 \(\\u\{1b\}\[2Jx{496}\)$/)
  const endless: Answer = (response) => {
    const more = (): boolean => response.write(Buffer.alloc(65_536))
    response.writeHead(201).on('drain', more)
    more()
  }
  t.match(await meet(t, [endless, saved]), {
    name: 'ReportRefused',
    message: 'it sends an answer without end: it is no commit-status service',
  })
})
