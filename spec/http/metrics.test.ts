import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { Prometheus } from '../../lib/http/prometheus.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { pageTable } from '../fixtures/page.js'
import { sendBytes } from '../fixtures/raw-http.js'
import { needsLevel, startService, type TestService } from '../fixtures/service.js'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The text format of Prometheus, as a scraper takes it apart. */
function samplesOf(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      return {
        name,
        labels: Object.fromEntries(
          [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text]),
        ),
        value: Number(value),
      }
    })
}

async function scrape(url: string): Promise<{
  value: (name: string, labels?: Record<string, string>) => number | undefined
  samples: Sample[]
  text: string
}> {
  const response = await fetch(`${url}/metrics`)
  if (response.status !== 200) throw new Error(`${response.status} for /metrics`)
  const text = await response.text()
  const samples = samplesOf(text)
  const value = (name: string, labels: Record<string, string> = {}): number | undefined =>
    samples.find(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, wanted]) => sample.labels[key] === wanted),
    )?.value
  return { value, samples, text }
}

/** A service that has done of everything a little. */
async function used(t: Test, metrics: string): Promise<{ service: TestService; sha: string; token: string }> {
  const service = await startService(t, { settings: { metrics } })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello', { public: true })
  const token = await service.tokenOf('alice')
  await service.report('alice/hello', sha, token, { state: 'success' })
  await service.report('alice/hello', sha, token, { state: 'failure', context: 'lint' })
  const { headers } = await service.list('alice/hello', sha)
  await service.list('alice/hello', sha)
  await service.call('GET', `/api/v1/repos/alice/hello/commits/${sha}/statuses`, {
    headers: { 'If-None-Match': headers.get('etag') ?? '' },
  })
  await service.list('alice/hello', sha, 'wrong')
  await service.list('alice/other', sha, token)
  await service.call('GET', '/healthz')
  await service.call('GET', '/nothing')
  return { service, sha, token }
}

t.test('Without the setting there are no metrics', async (t) => {
  const service = await startService(t)
  t.strictSame(
    [(await service.call('GET', '/metrics')).status, (await service.call('GET', '/metrics')).body],
    [404, { error: 'not found' }],
  )
})

t.test('GET /metrics tells what was done, in the format of Prometheus', async (t) => {
  const { service, sha, token } = await used(t, 'main')
  const { value, samples, text } = await scrape(service.url)
  const requests = (route: string, status: string): number | undefined =>
    value('commit_status_http_requests_total', { route, status })
  t.strictSame(
    [
      requests('report', '201'),
      requests('list', '200'),
      requests('list', '304'),
      requests('list', '401'),
      requests('list', '404'),
      requests('healthz', '200'),
      requests('other', '404'),
    ],
    [2, 2, 1, 1, 1, 1, 1],
  )
  t.equal(value('commit_status_http_request_duration_seconds_count', { route: 'list' }), 5)
  t.strictSame(
    ['success', 'failure', 'pending', 'error'].map((state) => value('commit_status_reports_total', { state })),
    [1, 1, 0, 0],
  )
  t.equal(value('commit_status_failed_logins_total'), 1)
  t.equal(value('commit_status_store_queued_changes'), 0)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  t.equal(value('commit_status_build_info', { version }), 1)
  t.ok(
    (value('commit_status_store_batch_changes_sum') ?? 0) >= (needsLevel ? 2 : 3),
    'two reports, and in LevelDB a token',
  )
  t.ok((value('commit_status_store_batch_duration_seconds_sum') ?? 0) > 0)
  t.equal(value('commit_status_store_fences_total'), 0)
  const lists = ['hit', 'miss'].map((result) => value('commit_status_cache_lookups_total', { cache: 'lists', result }))
  t.strictSame(lists, needsLevel ? [undefined, undefined] : [2, 1], 'lists of a database are never from memory')
  t.ok((value('commit_status_cache_lookups_total', { cache: 'commits', result: 'hit' }) ?? 0) > 0)
  t.equal(value('commit_status_open_repositories'), 1)
  t.ok((value('commit_status_store_size_bytes') ?? 0) > 0)
  t.ok(value('nodejs_eventloop_lag_seconds') !== undefined)
  t.strictSame(
    [
      ...new Set(samples.flatMap(({ name, labels }) => (name.startsWith('commit_status_') ? Object.keys(labels) : []))),
    ].sort(),
    ['cache', 'commit', 'le', 'result', 'route', 'state', 'status', 'version'],
  )
  for (const secret of [sha, token, 'alice', 'hello']) t.notOk(text.includes(secret), 'no repository, user or token')
  const counted = (await scrape(service.url)).value('commit_status_http_requests_total', {
    route: 'metrics',
    status: '200',
  })
  t.equal(counted, 1, 'and a scrape counts too')
})

t.test('Names keep to the conventions: a prefix, base units, _total for what only grows', async (t) => {
  const { service } = await used(t, 'main')
  const { text } = await scrape(service.url)
  const types = [...text.matchAll(/^# TYPE (commit_status_\S+) (\S+)$/gm)].map(([, name = '', type = '']) => ({
    name,
    type,
  }))
  t.ok(types.length >= 10)
  for (const { name, type } of types) {
    t.equal(name.endsWith('_total'), type === 'counter', name)
    t.notMatch(name, /milli|_ms|kilo|mega|minutes/)
    t.match(text, new RegExp(`^# HELP ${name} [A-Z].*\\.$`, 'm'))
  }
})

t.test('/metrics beside the API: only GET and HEAD', async (t) => {
  const { service } = await used(t, 'main')
  const answer = await service.call('POST', '/metrics')
  t.strictSame(
    [answer.status, answer.headers.get('allow'), answer.body],
    [405, 'GET, HEAD', { error: 'method not allowed' }],
  )
  const absolute = await sendBytes(
    service.url,
    `GET http://status.example.com/metrics?x HTTP/1.1\r\nHost: status.example.com\r\nConnection: close\r\n\r\n`,
  )
  t.match(absolute, /^HTTP\/1\.1 200 /, 'in absolute form, too')
  const head = await fetch(`${service.url}/metrics`, { method: 'HEAD' })
  t.strictSame(
    [head.status, head.headers.get('content-type'), await head.text()],
    [200, 'text/plain; version=0.0.4; charset=utf-8', ''],
  )
})

t.test('On an address and port of its own, and there only', async (t) => {
  const { service } = await used(t, '127.0.0.1:0')
  const { address, port } = service.log.find(({ msg }) => msg === 'metrics are served') ?? {}
  const url = `http://${String(address)}:${String(port)}`
  t.equal((await scrape(url)).value('commit_status_http_requests_total', { route: 'report', status: '201' }), 2)
  t.equal((await service.call('GET', '/metrics')).status, 404)
  const other = await fetch(`${url}/healthz`)
  t.strictSame([other.status, await other.json()], [404, { error: 'not found' }])
  await service.close()
  await t.rejects(fetch(`${url}/metrics`))
})

t.test('An address that is taken is said before anything is served', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  await t.rejects(startService(t, { settings: { metrics: `127.0.0.1:${port}` } }), {
    message:
      `cannot listen on 127.0.0.1, port ${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}; ` +
      `the setting metrics (COMMIT_STATUS_METRICS) says where`,
  })
  await t.rejects(startService(t, { settings: { metrics: '127.0.0.1:0', port } }), {
    message: /the settings host and port .* say where/,
  })
})

t.test('Every panel of the dashboard asks for metrics that there are', async (t) => {
  const { service } = await used(t, 'main')
  const names = new Set((await scrape(service.url)).samples.map(({ name }) => name))
  const { panels } = JSON.parse(readFileSync('config/grafana-dashboard.json', 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[]
  }
  t.ok(panels.length >= 10)
  for (const { title, targets } of panels) {
    for (const { expr } of targets)
      for (const [name] of expr.matchAll(/(?:commit_status|nodejs|process)_\w+/g))
        t.ok(names.has(name), `${title}: ${name}`)
  }
  const asked = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join()
  for (const name of names)
    if (/^commit_status_(?!build_info).*(?<!_bucket|_sum|_count)$/.test(name))
      t.ok(asked.includes(name), `${name} is shown`)
})

t.test('The pages have every metric, with its labels', async (t) => {
  const { service } = await used(t, 'main')
  const { text, samples } = await scrape(service.url)
  const there = [...text.matchAll(/^# TYPE (commit_status_\S+) /gm)].map(([, name = '']) => {
    const own = samples.filter((sample) => sample.name.startsWith(name)).flatMap(({ labels }) => Object.keys(labels))
    return [
      name,
      [...new Set(own)]
        .filter((label) => label !== 'le')
        .sort()
        .join(', '),
    ]
  })
  const rows = pageTable('config/README.md', 'metric', 'labels', 'tells')
    .map(([name = '', labels = '']) => [name, labels].map((cell) => cell.replaceAll('`', '')))
    .filter(([name = '']) => name.startsWith('commit_status_'))
  t.strictSame(rows.sort(), there.sort())
})

t.test('A fence of the store is counted, and a repository that it refused', async (t) => {
  const meter = new Prometheus({ version: '1.2.3' })
  meter.storeFenced()
  meter.repositoryRefused()
  const samples = samplesOf((await meter.read()).text)
  for (const name of ['commit_status_store_fences_total', 'commit_status_store_refused_repositories_total'])
    t.equal(samples.find((sample) => sample.name === name)?.value, 1)
})
