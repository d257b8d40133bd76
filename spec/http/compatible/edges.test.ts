import express from 'express'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { projectNumber } from '../../../lib/http/compatible/numbers.js'
import { timeOf } from '../../../lib/http/compatible/formats.js'
import { embed, fetchJson, listen } from '../../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../../fixtures/git.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { missing } from '../../fixtures/program.js'
import { sendBytes } from '../../fixtures/raw-http.js'

t.test('In the library no compatible API is on unless it is asked for, and then nothing more', async (t) => {
  const paths = ['/api/v3', '/github/api/v3/meta', '/gitea/api/v1/version', '/api/v4/version', '/api/v2', '/api/v30']
  const answered = async (options: Parameters<typeof embed>[1]): Promise<number[]> => {
    const { service } = await embed(t, options)
    const url = await listen(t, (request, response) => {
      service.handler(request, response, () => response.writeHead(299).end('{}'))
    })
    return await Promise.all(paths.map(async (path) => (await fetchJson(url + path)).status))
  }
  t.strictSame(await answered({}), [299, 299, 299, 299, 299, 299])
  t.strictSame(await answered({ compatibleApis: ['github'] }), [200, 200, 299, 299, 299, 299])
  t.strictSame(await answered({ compatibleApis: ['gitea', 'gitlab'] }), [299, 299, 200, 401, 299, 299])
  t.strictSame(await answered({ giteaHosts: ['x'] }), [299, 299, 299, 299, 299, 299])
})

t.test('A name of giteaHosts without a port holds for every port, one with a port for that one', async (t) => {
  const hosts = ['Localhost', '[::1]', 'git.example.com:3000']
  const { service } = await embed(t, { giteaHosts: hosts, trustedProxies: ['127.0.0.1'] })
  const url = await listen(t, service.handler)
  const statusOf = async (host: string) =>
    (await fetchJson(`${url}/api/v1/version`, { headers: { 'X-Forwarded-Host': host } })).status
  const theirs = ['localhost:8080', 'localhost', 'LOCALHOST:1', '[::1]', '[::1]:8080', 'git.example.com:3000']
  for (const host of theirs) t.equal(await statusOf(host), 200, host)
  const ours = ['git.example.com', 'git.example.com:3001', 'localhost.example.com', 'x.localhost:8080', '[::11]:8080']
  for (const host of ours) t.equal(await statusOf(host), 404, host)
  const { port } = new URL(url)
  t.equal((await fetchJson(`http://localhost:${port}/api/v1/version`)).status, 200, 'as a client calls it')
})

t.test('Links have the path that express has the service under', async (t) => {
  const { service, repositories, tokenOf } = await embed(t, { compatibleApis: ['github'] })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const token = await tokenOf('alice')
  for (const [mount, path] of [
    ['/forge', '/forge'],
    ['/a b', ''],
  ] as const) {
    const url = await listen(t, express().use(encodeURI(mount), service.handler))
    const address = `${url}${encodeURI(mount)}/api/v3/repos/alice/hello/statuses/${sha}`
    const { body } = await fetchJson(address, { method: 'POST', token, body: { state: 'success' } })
    t.equal(body['url'], `${url}${path === '' ? '/a%20b' : path}/api/v3/repos/alice/hello/statuses/${sha}`)
  }
  const odd = await listen(t, (request, response) => {
    Object.assign(request, { originalUrl: '/x"><script>/api/v3' })
    service.handler(request, response)
  })
  t.equal((await fetchJson(`${odd}/api/v3`)).body['current_user_url'], `${odd}/api/v3/user`)
  const other = await listen(t, (request, response) => {
    Object.assign(request, { originalUrl: '/another' })
    service.handler(request, response)
  })
  t.equal((await fetchJson(`${other}/api/v3`)).body['current_user_url'], `${other}/api/v3/user`)
})

t.test("Behind a host's own TLS, links begin with https", { skip: await missing('openssl') }, async (t) => {
  const { service, folder } = await embed(t, { compatibleApis: ['github'] })
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const made = ['-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-keyout', key, '-out', cert]
  execFileSync('openssl', ['req', '-x509', ...made], { stdio: 'ignore' })
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, service.handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const asked = request({ port, host: '127.0.0.1', path: '/api/v3', rejectUnauthorized: false }).end()
  const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  t.match(text, `"https://127.0.0.1:${port}/api/v3/user"`)
})

t.test("A project of a host's own repositories is found by the number that was shown", async (t) => {
  const made = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  const find = async ({ full }: { full: string }) =>
    full === 'alice/hello' ? { directory: made.directory, public: true } : undefined
  const { service } = await embed(t, { compatibleApis: ['gitlab'], repositories: { find } })
  const url = await listen(t, service.handler)
  const number = projectNumber('alice/hello')
  t.equal((await fetchJson(`${url}/api/v4/projects/${number}`)).status, 401)
  t.equal((await fetchJson(`${url}/api/v4/projects/alice%2Fhello`)).body['id'], number)
  t.match((await fetchJson(`${url}/api/v4/projects/${number}`)).body, { path_with_namespace: 'alice/hello' })
})

t.test('A commit without statuses is pending, never null', async (t) => {
  const { service, sha } = await hostCommit(t)
  for (const mount of ['/api/v3', '/gitea/api/v1']) {
    const { body } = await service.call('GET', `${mount}/repos/alice/hello/commits/${sha}/status`)
    t.match(body, { state: 'pending', statuses: [], total_count: 0 })
  }
})

t.test('GitLab: visibility and access as they are; the oldest first when asked', async (t) => {
  const { service, sha, report, token } = await hostCommit(t, { clock: { now: () => 1_800_000_000_000 } })
  const project = '/api/v4/projects/alice%2Fhello'
  for (const context of ['a', 'b']) await report({ state: 'success', context })
  const { body } = await service.call('GET', project)
  t.match(body, { visibility: 'public', permissions: { project_access: { access_level: 20 } } })
  const list = `${project}/repository/commits/${sha}/statuses?per_page=1&sort=asc`
  const sorted = await service.call('GET', list)
  t.match([sorted.body, sorted.headers.get('link')], [[{ name: 'a' }], /sort=asc/], 'equally old ones by name')
  const named = await service.call('GET', `${project}/repository/commits/${sha}/statuses?name=b&page=2`, { token })
  t.match([named.body, named.headers.get('link')], [[], /name=b/])
})

t.test('What has no default branch that can be read has main; what cannot be read is 503', async (t) => {
  const { service, directory, sha, token } = await hostCommit(t)
  // No repository, and not taken for one.
  mkdirSync(join(service.repositories, 'alice/-x.git'))
  t.equal((await service.call('GET', '/api/v4/projects/7', { token })).status, 404)
  writeFileSync(join(directory, 'HEAD'), `${sha}\n`)
  t.equal((await service.call('GET', '/api/v3/repos/alice/hello')).body['default_branch'], 'main')
  appendFileSync(join(directory, 'config'), '[broken\n')
  for (const path of ['commits/feature/statuses', `commits/${sha}`]) {
    const answer = await service.call('GET', `/api/v3/repos/alice/hello/${path}`, { token })
    t.equal(answer.status, 503, path)
    t.match(answer.headers.get('retry-after'), /^\d+$/)
  }
  t.equal((await service.call('GET', '/api/v3/user')).status, 401)
})

t.test('Where git hangs in a repository, its refs are 503 within seconds', async (t) => {
  const { service, directory } = await hostCommit(t)
  execFileSync('mkfifo', [join(directory, 'pipe')])
  appendFileSync(join(directory, 'config'), `[include]\n\tpath = ${join(directory, 'pipe')}\n`)
  const since = performance.now()
  const asked = Array.from({ length: 210 }, async (_, index) => {
    const { status, body } = await service.call('GET', `/api/v3/repos/alice/hello/commits/b${index}/statuses`)
    return `${status} ${String(body['message'])}`
  })
  const answers = new Set(await Promise.all(asked))
  t.strictSame([...answers].sort(), [
    '503 the repository cannot be read at the moment',
    '503 too many requests in progress',
  ])
  t.ok(performance.now() - since < 20_000, 'together, not one after the other')
})

t.test('A body that is no object, a request without a host, times out of range', async (t) => {
  const { service, sha, token } = await hostCommit(t)
  const at = `repos/alice/hello/statuses/${sha}`
  const calls: [path: string, body: string | Buffer][] = [
    [`/api/v3/${at}`, '[1]'],
    [`/api/v3/${at}`, 'null'],
    [`/gitea/api/v1/${at}`, 'state=success'],
    [`/api/v4/projects/alice%2Fhello/statuses/${sha}`, Buffer.from([0xff, 0xfe])],
    [`/api/v4/projects/alice%2Fhello/statuses/${sha}`, '[{"state":"success"}]'],
  ]
  for (const [path, body] of calls) t.equal((await service.call('POST', path, { token, body })).status, 400, path)
  t.match(await sendBytes(service.url, 'GET /api/v3 HTTP/1.0\r\n\r\n'), /"http:\/\/localhost\/api\/v3\/user"/)
  t.strictSame([timeOf(-1), timeOf(1e15), timeOf(NaN)], Array(3).fill('1970-01-01T00:00:00Z'))
  t.equal(timeOf(253_402_300_799), '9999-12-31T23:59:59Z')
})
