import type { IncomingMessage, ServerResponse } from 'node:http'
import connect from 'connect'
import express from 'express'
import polka from 'polka'
import t from 'tap'
import type { CommitStatusService } from '../../lib/index.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

const own = (_request: IncomingMessage, response: ServerResponse) => {
  response.setHeader('Content-Type', 'application/json')
  response.end('{"host":true}')
}

/** How a host mounts the handler, at the root or under a path. */
const hosts: Record<string, (service: CommitStatusService, prefix: string) => Listener> = {
  'node:http': (service, prefix) => (request, response) => {
    if (prefix !== '' && !request.url?.startsWith(prefix)) {
      own(request, response)
      return
    }
    request.url = request.url?.slice(prefix.length) ?? ''
    service.handler(request, response, () => {
      own(request, response)
    })
  },
  polka: (service, prefix) => {
    const app = polka()
      .use(prefix === '' ? '/' : prefix, service.handler)
      .use(own)
    return (request, response) => {
      Reflect.apply(app.handler, app, [request, response])
    }
  },
  express: (service, prefix) =>
    express()
      .use(prefix === '' ? '/' : prefix, service.handler)
      .use(own),
  connect: (service, prefix) =>
    connect()
      .use(prefix === '' ? '/' : prefix, service.handler)
      .use(own),
}

for (const [name, mount] of Object.entries(hosts)) {
  for (const prefix of ['', '/git/checks']) {
    t.test(
      `The handler works under ${name}, mounted ${prefix === '' ? 'at the root' : `under ${prefix}`}`,
      async (t) => {
        const { service, repositories, tokenOf } = await embed(t)
        const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
        const token = await tokenOf('alice')
        const base = `${await listen(t, mount(service, prefix))}${prefix}`

        const reported = await fetchJson(`${base}/api/v1/repos/alice/hello/statuses/${sha}?x=1`, {
          method: 'POST',
          token,
          body: { state: 'success' },
        })
        t.equal(reported.status, 201)
        t.match(reported.body, { sha, state: 'success' })
        const listed = await fetchJson(`${base}/api/v1/repos/alice/hello/commits/${sha}/statuses?page=2`)
        t.equal(listed.status, 200)
        t.strictSame(listed.body, { state: 'success', statuses: [reported.body] })

        const unknown = await fetchJson(`${base}/api/v1/nothing`)
        t.equal(unknown.status, 404, 'under /api/v1/ everything is answered')
        t.strictSame(unknown.body, { error: 'not found' })
        t.equal((await fetchJson(`${base}/api/v1/repos/alice/hello/statuses/${sha}`)).status, 405)

        for (const path of [
          '/',
          '/api',
          '/api/v2/repos',
          '/api/v10',
          '/healthz',
          '/alice/hello.git/info/refs?service=git-upload-pack',
        ]) {
          t.strictSame((await fetchJson(`${base}${path}`)).body, { host: true }, `${path} falls through to the host`)
        }
      },
    )
  }
}

t.test('A body that the host has read before is a fault with a clear log line, not a hanging request', async (t) => {
  const lines: { facts: object; message: string }[] = []
  const note = (facts: object, message: string) => lines.push({ facts, message })
  const { service, repositories, tokenOf } = await embed(t, {
    logger: { ...silentLogger, error: note },
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const url = await listen(
    t,
    express()
      .use(express.json({ type: () => true }))
      .use(service.handler),
  )
  const answer = await fetchJson(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
    method: 'POST',
    token: await tokenOf('alice'),
    body: { state: 'success' },
  })
  t.equal(answer.status, 500)
  t.match(answer.body, { error: /mount the service before anything/ }, 'also for a host without a logger')
  t.match(lines, [{ facts: { err: { message: /before anything that reads request bodies/ } } }])
})
