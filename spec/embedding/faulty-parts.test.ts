import t from 'tap'
import type { CommitStatusOptions, CommitStatusService } from '../../lib/index.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { JournalStore } from '../fixtures/journal-store.js'

/** What a part of a host may do in place of an answer. */
const faults: Record<string, () => unknown> = {
  throws: () => {
    throw new Error('a fault of the host')
  },
  rejects: async () => await Promise.reject(new Error('a fault of the host')),
  hangs: async () => await new Promise(() => undefined),
  'answers a string': () => 'nonsense',
  'answers null': () => null,
  'answers a symbol': async () => await Promise.resolve(Symbol('nonsense')),
  'answers an empty object': async () => await Promise.resolve({}),
}

/**
 * What the host's part is made of, and which answers are right when it fails: for an anonymous list, a list and a
 * report of the owner.
 */
const parts: Record<
  string,
  { make: (fault: never) => Partial<CommitStatusOptions>; anonymous: number[]; list: number[]; report: number[] }
> = {
  repositories: { make: (fault) => ({ repositories: { find: fault } }), anonymous: [401], list: [503], report: [503] },
  authenticator: {
    make: (fault) => ({ authenticator: { authenticate: fault } }),
    anonymous: [200],
    list: [500, 503],
    report: [500, 503],
  },
  // The public repository stays readable for everybody.
  accessPolicy: {
    make: (fault) => ({ accessPolicy: { access: fault } }),
    anonymous: [200],
    list: [200],
    report: [403],
  },
  authFailures: {
    make: (fault) => ({ authFailures: { retryAfter: fault, recordFailure: fault } }),
    anonymous: [200],
    list: [500, 503],
    report: [500, 503],
  },
  logger: {
    make: (fault) => ({ logger: { debug: fault, info: fault, warn: fault, error: fault } }),
    anonymous: [200],
    list: [200],
    report: [201],
  },
  clock: { make: (fault) => ({ clock: { now: fault } }), anonymous: [200], list: [200], report: [201] },
}

for (const [part, { make, anonymous, list, report }] of Object.entries(parts)) {
  for (const [manner, fault] of Object.entries(faults)) {
    t.test(`${part} that ${manner}: refused or served, never thrown into the host`, async (t) => {
      const { service, repositories, tokenOf } = await embed(t, make(fault as never), { partMilliseconds: 50 })
      const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
      const token = part === 'authenticator' ? 'of-the-host' : await tokenOf('alice')
      const url = await listen(t, (request, response) => {
        service.handler(request, response, () => t.fail('it is ours to answer'))
      })
      const address = `${url}/api/v1/repos/alice/hello`
      t.ok(anonymous.includes((await fetchJson(`${address}/commits/${sha}/statuses`)).status), 'anonymous list')
      t.ok(
        list.includes((await fetchJson(`${address}/commits/${sha}/statuses`, { token })).status),
        'list with a token',
      )
      const reported = await fetchJson(`${address}/statuses/${sha}`, {
        method: 'POST',
        token,
        body: { state: 'success' },
      })
      t.ok(report.includes(reported.status), `report, ${reported.status}`)
      t.equal(Object.keys(reported.body).includes('error'), reported.status !== 201)
      t.notMatch(JSON.stringify(reported.body), /a fault of the host/, 'nothing of the cause is sent')
    })
  }
}

t.test('A store that fails in any way is 500 or 503, and nothing is acknowledged', async (t) => {
  for (const [manner, fault] of Object.entries(faults)) {
    for (const method of ['save', 'list'] as const) {
      await t.test(`statuses.${method} ${manner}`, async (t) => {
        const store = new JournalStore(`${t.testdir({})}/journal`)
        const healthy = { ...store.statuses }
        const { service, repositories, tokenOf } = await embed(t, { store }, { partMilliseconds: 50 })
        const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
        const token = await tokenOf('alice')
        const url = await listen(t, (request, response) => service.handler(request, response))
        const call = async () =>
          method === 'save'
            ? await fetchJson(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
                method: 'POST',
                token,
                body: { state: 'success' },
              })
            : await fetchJson(`${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`)
        Object.assign(store.statuses, { [method]: fault })
        const answer = await call()
        t.ok([500, 503].includes(answer.status), `${answer.status}`)
        if (method === 'list') await t.rejects(service.verdict('alice/hello', sha), { name: 'ServiceError' })
        Object.assign(store.statuses, healthy)
        t.equal((await call()).status, method === 'save' ? 201 : 200, 'and goes on when the store does')
      })
    }
  }
})

t.test('A store that does not say how it is makes /healthz 503', async (t) => {
  for (const fault of [() => 7, faults['throws']]) {
    const store = new JournalStore(`${t.testdir({})}/journal`)
    const { service } = await embed(t, { store: Object.assign(store, { unavailableReason: fault }) })
    const url = await listen(t, (request, response) => service.handler(request, response))
    t.equal((await fetchJson(`${url}/healthz`)).status, 503)
    await service.close()
  }
})

t.test('lib installs no process-wide handlers', async (t) => {
  const before = process.eventNames().map((name) => [name, process.listenerCount(name)])
  const { service }: { service: CommitStatusService } = await embed(t)
  t.strictSame(
    process.eventNames().map((name) => [name, process.listenerCount(name)]),
    before,
  )
  await service.close()
})
