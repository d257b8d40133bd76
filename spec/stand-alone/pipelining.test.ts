import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { within } from '../fixtures/within.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

const success = '{"state":"success"}'

t.test('10,000 requests on one connection, sent before an answer is read, are answered in their order', async (t) => {
  const { service, listPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  const ids = Array.from({ length: 10_000 }, (_, index) => `request-${index}`)
  const sent = socket.send(
    ids.map((id) => requestHead('GET', id.endsWith('7') ? listPath : '/healthz', { 'X-Request-Id': id })).join(''),
  )
  const answers: unknown[] = []
  for (const _ of ids) answers.push((await socket.answer()).headers.get('x-request-id'))
  await sent
  t.strictSame(answers, ids)
})

t.test(
  'For a client that takes no answers nothing more is begun or read; once it takes them, it goes on',
  async (t) => {
    const { service, report, listPath } = await hostCommit(t)
    for (let context = 0; context < 40; context++)
      await report({ state: 'success', context: `${context}`, description: 'x'.repeat(1000) })
    const socket = await RawSocket.open(t, service.url)
    const requests = 20_000
    const begun = () => service.log.filter(({ msg, method }) => msg === 'request' && method === 'GET').length
    const sent = socket.send(requestHead('GET', listPath).repeat(requests)).catch(() => undefined)
    // Until it stays so: the system holds a number of answers.
    let before = -1
    await within(20_000, async () => {
      const still = before === begun()
      before = begun()
      await setTimeout(300)
      return still && before > 0
    })
    t.ok(before < requests / 10, `${before} of ${requests} have been begun`)
    for (let answer = 0; answer < before + 100; answer++) {
      const { status } = await socket.answer()
      if (status !== 200) t.fail(`answered with ${status}`)
    }
    socket.reset()
    await sent
  },
)

t.test('Who sends many requests at once waits for them; others are answered meanwhile', async (t) => {
  const { service, listPath } = await hostCommit(t)
  const [greedy, other] = [await RawSocket.open(t, service.url), await RawSocket.open(t, service.url)]
  // From memory, from then on.
  await other.send(requestHead('GET', listPath))
  await other.answer()
  const requests = 400
  const sent = Promise.all([
    greedy.send(requestHead('GET', listPath).repeat(requests)),
    other.send(requestHead('GET', listPath)),
  ])
  let answered = 0
  const all = (async () => {
    for (; answered < requests; answered++) await greedy.answer()
  })()
  await other.answer()
  t.ok(answered < requests / 8, `${answered} of ${requests} came before`)
  await Promise.all([sent, all])
})

t.test('Reports on one connection are saved one after the other: the last one wins', async (t) => {
  const { service, token, reportPath, list } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  const bodies = Array.from({ length: 100 }, (_, index) =>
    JSON.stringify({ state: 'success', description: `${index}` }),
  )
  await socket.send(
    bodies
      .map(
        (body) =>
          requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Content-Length': String(body.length) }) +
          body,
      )
      .join(''),
  )
  for (const _ of bodies) t.equal((await socket.answer()).status, 201)
  t.match((await list()).body, { statuses: [{ description: '99' }] })
})

t.test('What is no request is refused behind the answers to the requests before it', async (t) => {
  const { service, token, reportPath, stored } = await hostCommit(t)
  const Authorization = `Bearer ${token}`
  const report = requestHead('POST', reportPath, { Authorization, 'Content-Length': String(success.length) }) + success
  const broken = requestHead('POST', reportPath, { Authorization, 'Transfer-Encoding': 'chunked' }) + 'zz\r\n'
  for (const [what, bad] of Object.entries({ 'no request': 'nonsense\r\n\r\n', 'a broken body': broken })) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(report + report + bad)
    t.equal((await socket.answer()).status, 201)
    t.equal((await socket.answer()).status, 201)
    refused(t, await socket.answer(), 400, 'malformed HTTP request', what)
    t.equal(await socket.ended(), '')
  }
  t.match(await stored(), { length: 1 })
})

t.test('A body that breaks after its request has been answered is not answered again', async (t) => {
  const { service, reportPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  await socket.send(requestHead('POST', reportPath, { 'Transfer-Encoding': 'chunked' }))
  refused(t, await socket.answer(), 401, 'authentication required')
  await socket.send('zz\r\n')
  t.equal(await socket.ended(), '')
})

t.test('A client that goes away leaves what it sent unanswered, and nobody else', async (t) => {
  const { service, listPath } = await hostCommit(t)
  for (const leave of ['reset', 'end'] as const) {
    const socket = await RawSocket.open(t, service.url)
    await socket.send(requestHead('GET', listPath).repeat(50))
    socket[leave]()
  }
  t.equal((await service.call('GET', listPath)).status, 200)
  t.strictSame(
    service.log.filter(({ level }) => Number(level) >= 50),
    [],
  )
})
