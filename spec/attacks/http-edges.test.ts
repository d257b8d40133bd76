// Requests that are HTTP and that few clients send. An adversary sent CONNECT behind a report on one connection: it got
// no answer, and the report lost its own. A client that closed its sending side after its request lost its answer, a
// body with a transfer coding that nobody decodes was read as if it had none, and a report that was cut was waited for
// where it wanted to upgrade to something.
import t from 'tap'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

const success = '{"state":"success"}'

t.test('CONNECT is 405, and what came before it on the connection is answered', async (t) => {
  const { service, token, reportPath, stored } = await hostCommit(t)
  const connect = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'
  const alone = await RawSocket.open(t, service.url)
  await alone.send(connect)
  const answer = await alone.answer()
  refused(t, answer, 405, 'method not allowed')
  t.equal(answer.headers.get('allow'), 'GET, HEAD, POST')
  t.equal(await alone.ended(), '')

  const behind = await RawSocket.open(t, service.url)
  const head = requestHead('POST', reportPath, {
    Authorization: `Bearer ${token}`,
    'Content-Length': String(success.length),
  })
  await behind.send(head + success + connect + 'and bytes for whoever it wanted to reach')
  t.equal((await behind.answer()).status, 201)
  refused(t, await behind.answer(), 405, 'method not allowed')
  t.equal(await behind.ended(), '')
  t.equal((await stored()).length, 1)
})

t.test('A client that closes its sending side after its requests gets its answers', async (t) => {
  const { service, token, reportPath, listPath } = await hostCommit(t)
  for (const requests of [1, 3]) {
    const socket = await RawSocket.open(t, service.url, { allowHalfOpen: true })
    const head = requestHead('POST', reportPath, {
      Authorization: `Bearer ${token}`,
      'Content-Length': String(success.length),
    })
    await socket.send((head + success).repeat(requests) + requestHead('GET', listPath))
    socket.end()
    for (let answered = 0; answered < requests; answered++) t.equal((await socket.answer()).status, 201)
    t.equal((await socket.answer()).status, 200)
    t.equal(await socket.ended(), '')
  }
})

t.test('A report that is cut is 400 at once, whatever it wants to upgrade to', { timeout: 10_000 }, async (t) => {
  const { service, token, reportPath, stored } = await hostCommit(t)
  const upgrades = [{}, { Connection: 'Upgrade', Upgrade: 'websocket' }, { Connection: 'Upgrade', Upgrade: 'h2c' }]
  const bodies = [{ 'Content-Length': '100' }, { 'Transfer-Encoding': 'chunked' }]
  for (const headers of upgrades.flatMap((upgrade) => bodies.map((body) => ({ ...upgrade, ...body })))) {
    for (const before of ['', requestHead('GET', '/healthz')]) {
      const socket = await RawSocket.open(t, service.url, { allowHalfOpen: true })
      const head = requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, ...headers })
      await socket.send(before + head + '10\r\n{"state"')
      socket.end()
      if (before !== '') t.equal((await socket.answer()).status, 200)
      refused(t, await socket.answer(), 400, 'malformed HTTP request', JSON.stringify(headers))
      t.equal(await socket.ended(), '')
    }
  }
  t.strictSame(await stored(), [])
})

t.test('A transfer coding besides chunked is 501, and nothing is saved', async (t) => {
  const { service, token, reportPath, stored } = await hostCommit(t)
  const codings = ['gzip, chunked', 'identity, chunked', 'deflate,chunked', 'GZIP, Chunked']
  for (const coding of codings) {
    const body = `${success.length.toString(16)}\r\n${success}\r\n0\r\n\r\n`
    const socket = await RawSocket.open(t, service.url)
    await socket.send(
      requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Transfer-Encoding': coding }) + body,
    )
    refused(t, await socket.answer(), 501, 'transfer coding not supported: only chunked is', coding)
  }
  t.strictSame(await stored(), [])
  const plain = await RawSocket.open(t, service.url)
  const chunked = requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Transfer-Encoding': 'Chunked' })
  await plain.send(`${chunked}${success.length.toString(16)}\r\n${success}\r\n0\r\n\r\n`)
  t.equal((await plain.answer()).status, 201)
})

t.test('After close() the handler answers /healthz in the form of its page', async (t) => {
  const { service } = await embed(t)
  const url = await listen(t, (request, response) => service.handler(request, response))
  t.match(await fetchJson(`${url}/healthz`), { status: 200, body: { status: 'ok' } })
  await service.close()
  t.match(await fetchJson(`${url}/healthz`), { status: 503, body: { status: 'shutting down' } })
})
