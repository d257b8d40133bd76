import t from 'tap'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'

const success = { state: 'success' }
const overloaded = { status: 503, body: { error: 'too many requests in progress' } }

/** A host whose log-in keeps everybody waiting, until it is opened. */
class Gate {
  asked = 0
  #open: () => void = () => undefined
  #opened = new Promise<void>((resolve) => (this.#open = resolve))
  #arrived: () => void = () => undefined

  async authenticate(): Promise<{ user: string; scopes: string[] }> {
    this.asked++
    this.#arrived()
    await this.#opened
    return { user: 'alice', scopes: ['repo'] }
  }

  open(): void {
    this.#open()
  }

  close(): void {
    this.#opened = new Promise<void>((resolve) => (this.#open = resolve))
  }

  /** Resolves once so many have been let in or wait. */
  async reached(asked: number): Promise<void> {
    while (this.asked < asked) await new Promise<void>((resolve) => (this.#arrived = resolve))
  }
}

t.test(
  'Past the limit of requests in progress: 503 at once with Retry-After, before the token is looked up; and over as ' +
    'soon as the load is',
  async (t) => {
    const gate = new Gate()
    const warnings: string[] = []
    const errors: unknown[] = []
    const logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (_: object, message: string) => warnings.push(message),
      error: (facts: object) => errors.push(facts),
    }
    const { service, repositories } = await embed(t, { authenticator: gate, limits: { requests: 2 }, logger })
    const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
    const url = await listen(t, (request, response) => service.handler(request, response))
    const report = async () =>
      await fetchJson(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
        method: 'POST',
        token: 'any',
        body: success,
      })
    const list = async () => await fetchJson(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`)

    for (let load = 1; load <= 2; load++) {
      gate.close()
      const inProgress = [report(), report()]
      await gate.reached(2 * load)
      for (const refused of [await report(), await list(), await report()]) {
        t.match(refused, overloaded)
        t.equal(refused.headers.get('retry-after'), '1')
      }
      t.equal(gate.asked, 2 * load, 'nobody asked whose the token is')
      t.equal((await fetchJson(`${url}/healthz`)).status, 200, 'the service is well')
      t.equal((await fetchJson(`${url}/nowhere`)).status, 404)
      t.match(
        await service.report('alice/hello', sha, { state: 'pending', context: 'own' }),
        { state: 'pending' },
        "the host's own reports are no requests",
      )
      gate.open()
      for (const answer of await Promise.all(inProgress)) t.equal(answer.status, 201)
      t.equal((await report()).status, 201)
      gate.asked = 2 * load
    }
    t.strictSame(
      warnings,
      Array.from({ length: 2 }, () => 'too many requests in progress: more are refused'),
      'said once for each load',
    )
    t.strictSame(errors, [])
  },
)

t.test('A request whose body has not arrived is none in progress; it may be one too many when it has', async (t) => {
  const gate = new Gate()
  gate.open()
  const { service, repositories } = await embed(t, { authenticator: gate, limits: { requests: 1 } })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  // Its 100 says that the body is waited for; that of node:http would only say that the headers have arrived.
  const url = await listen(t, (request, response) => service.handler(request, response), { invites: true })
  const path = `/api/v1/repos/alice/hello/statuses/${sha}`
  const Authorization = 'Bearer any'
  const body = JSON.stringify({ ...success, context: 'slow' })
  const slow = await Promise.all(Array.from({ length: 3 }, async () => await RawSocket.open(t, url)))
  for (const socket of slow) {
    await socket.send(
      requestHead('POST', path, { Authorization, 'Content-Length': String(body.length), Expect: '100-continue' }),
    )
    t.equal((await socket.answer()).status, 100)
  }
  for (const socket of slow.slice(1)) await socket.send(body.slice(0, -1))
  const list = async () => await fetchJson(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`)
  t.match(await list(), { status: 200, body: { statuses: [] } }, 'others go on')

  const asked = gate.asked
  gate.close()
  const other = fetchJson(`${url}${path}`, { method: 'POST', token: 'any', body: success })
  await gate.reached(asked + 1)
  await slow[1]?.send(body.slice(-1))
  t.match(await slow[1]?.answer(), overloaded)
  gate.open()
  t.equal((await other).status, 201)
  t.notMatch(JSON.stringify((await list()).body), /slow/, 'what was refused is not saved')
  await slow[2]?.send(body.slice(-1))
  t.match(await slow[2]?.answer(), { status: 201 })
  slow[0]?.reset()
  t.match(await list(), { status: 200 }, 'and one that went away has left its place')
})

t.test('Closing does not wait for a body that is to be read only after it began', async (t) => {
  const gate = new Gate()
  const { service, repositories } = await embed(t, { authenticator: gate })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const url = await listen(t, (request, response) => service.handler(request, response))
  const socket = await RawSocket.open(t, url)
  await socket.send(
    requestHead('POST', `/api/v1/repos/alice/hello/statuses/${sha}`, {
      Authorization: 'Bearer any',
      'Content-Length': '100',
    }),
  )
  await socket.send('{')
  await gate.reached(1)
  const closed = service.close()
  gate.open()
  t.match(await socket.answer(), { status: 503 })
  await closed
})
