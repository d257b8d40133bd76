// Clients that cannot be run here: each sends what it sends, in its order, and reads as strictly as it reads.
import t, { type Test } from 'tap'
import { hostCommit, type HostedCommit } from '../../fixtures/hosted-commit.js'
import { startService } from '../../fixtures/service.js'

interface Exchanged {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

interface Client extends HostedCommit {
  /** Sends a request of the client; an answer that is not of the statuses it takes is its failure. */
  readonly ask: (
    takes: readonly number[],
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: string,
  ) => Promise<Exchanged>
}

async function client(
  t: Test,
  base: string,
  options: Parameters<typeof hostCommit>[1] = { private: true },
): Promise<Client> {
  const hosted = await hostCommit(t, options)
  return {
    ...hosted,
    ask: async (takes, method, path, headers = {}, body) => {
      const response = await fetch(`${hosted.service.url}${base}${path}`, {
        method,
        headers,
        redirect: 'error',
        ...(body !== undefined && { body }),
      })
      if (!takes.includes(response.status)) throw new Error(`${method} ${path}: ${response.status}`)
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
    },
  }
}

type Members = Readonly<Record<string, unknown>>

/** As Go, Java and Ruby read: the types of the members, `null` being none; members they do not know are passed over. */
function decoded(body: unknown, types: Readonly<Record<string, 'int' | 'int32' | 'string' | 'time'>>): Members {
  const members = body as Members
  for (const person of ['creator', 'author', 'owner']) if (members[person]) decoded(members[person], personTypes)
  for (const [name, type] of Object.entries(types)) {
    const value = members[name]
    if (value === undefined || value === null) continue
    const fits =
      type === 'time'
        ? typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value)
        : type === 'string'
          ? typeof value === 'string'
          : Number.isSafeInteger(value) && (type === 'int' || Number(value) < 2 ** 31)
    if (!fits) throw new Error(`${name} is ${JSON.stringify(value)}, no ${type}`)
  }
  return members
}

/** Of GitHub's and Gitea's users, and of GitLab's. */
const personTypes = {
  id: 'int32',
  node_id: 'string',
  login: 'string',
  username: 'string',
  name: 'string',
  full_name: 'string',
  email: 'string',
  avatar_url: 'string',
  url: 'string',
  html_url: 'string',
  web_url: 'string',
  type: 'string',
  state: 'string',
  created: 'time',
} as const
const statusTypes = { id: 'int', url: 'string', state: 'string', status: 'string', context: 'string' } as const
const times = { created_at: 'time', updated_at: 'time', target_url: 'string', description: 'string' } as const
const json = { 'Content-Type': 'application/json' }

t.test('hub4j in Jenkins: the repository first, then the report; its first status is the latest', async (t) => {
  const { ask, token, sha, report } = await client(t, '/api/v3')
  const headers = { Authorization: `token ${token}`, Accept: 'application/vnd.github+json' }
  await ask([404], 'GET', '/rate_limit', headers)
  decoded((await ask([200], 'GET', '/user', headers)).body, { id: 'int', login: 'string' })
  const { body } = await ask([200], 'GET', '/repos/alice/hello', headers)
  const { owner, full_name } = decoded(body, { id: 'int', full_name: 'string', default_branch: 'string' })
  t.strictSame([full_name, (owner as Members)['login']], ['alice/hello', 'alice'])
  await report({ state: 'pending', context: 'jenkins' })
  await report({ state: 'success', context: 'other' })
  const sent = '{"context":"jenkins","description":"Build #1","state":"FAILURE","target_url":"http://ci/1"}'.replace(
    'FAILURE',
    'failure',
  )
  const saved = await ask([201], 'POST', `/repos/alice/hello/statuses/${sha}`, { ...headers, ...json }, sent)
  decoded(saved.body, { ...statusTypes, ...times })
  const page = await ask([200], 'GET', `/repos/alice/hello/statuses/${sha}?per_page=1`, headers)
  const latest = decoded((page.body as unknown[])[0], { ...statusTypes, ...times })
  t.match(latest, { context: 'jenkins', state: 'failure', creator: { login: 'alice', type: 'User' } })
  const [, next] = /<([^>]+)>; rel="next"/.exec(page.headers.get('link')?.split(', ')[0] ?? '') ?? []
  t.match(next, /\/api\/v3\/repos\/alice\/hello\//)
  await ask([401], 'GET', '/rate_limit', { Authorization: 'token wrong' })
})

t.test('githubNotify in Jenkins: limits, user, repository and commit before the report', async (t) => {
  const { ask, token, sha, stored } = await client(t, '/api/v3')
  const headers = { Authorization: `token ${token}`, Accept: 'application/vnd.github+json' }
  await ask([404], 'GET', '/rate_limit', headers)
  decoded((await ask([200], 'GET', '/users/alice', headers)).body, { id: 'int', login: 'string' })
  const { body } = await ask([200], 'GET', '/repos/alice/hello', headers)
  t.match(decoded(body, { id: 'int', full_name: 'string' }), { full_name: 'alice/hello', owner: { login: 'alice' } })
  const commit = (await ask([200], 'GET', `/repos/alice/hello/commits/${sha}`, headers)).body
  t.equal(decoded(commit, { sha: 'string' })['sha'], sha)
  const sent = '{"context":"build","description":"","state":"success","target_url":"http://jenkins/job/1/"}'
  const saved = await ask([201], 'POST', `/repos/alice/hello/statuses/${sha}`, { ...headers, ...json }, sent)
  decoded(saved.body, { ...statusTypes, ...times })
  t.match(await stored(), [{ context: 'build', state: 'success', target_url: 'http://jenkins/job/1/' }])
})

t.test('Woodpecker with GitHub and GitLab: a report alone, and by the number of the project', async (t) => {
  const { ask, token, sha, stored } = await client(t, '')
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/vnd.github.v3+json', ...json }
  const body =
    '{"state":"success","target_url":"https://wp/1","description":"Pipeline was successful","context":"ci/gh"}'
  const saved = await ask([201], 'POST', `/api/v3/repos/alice/hello/statuses/${sha}`, headers, body)
  decoded(saved.body, { ...statusTypes, ...times })
  const lab = { Authorization: `Bearer ${token}`, Accept: 'application/json', ...json }
  const { id } = decoded((await ask([200], 'GET', '/api/v4/projects/alice%2Fhello', lab)).body, { id: 'int' })
  const sent = '{"state":"running","target_url":"https://wp/1","description":"Pipeline is running","context":"ci/lab"}'
  await ask([201], 'POST', `/api/v4/projects/${String(id)}/statuses/${sha}`, lab, sent)
  t.match(await stored(), [
    { context: 'ci/gh', state: 'success' },
    { context: 'ci/lab', state: 'pending' },
  ])
})

t.test('Flux with the provider gitea: version, list and report at /api/v1 of a host of its own', async (t) => {
  const giteaHosts = ['gitea-status.example.com:8443']
  const settings = { giteaHosts, trustedProxies: ['127.0.0.1'] }
  const { ask, token, sha, stored, service } = await client(t, '/api/v1', { private: true, settings })
  const host = { 'X-Forwarded-Host': 'Gitea-Status.example.com:8443', 'X-Forwarded-Proto': 'https' }
  const headers = { Authorization: `token ${token}`, Accept: 'application/json', ...host }
  t.match((await ask([200], 'GET', '/version', headers)).body, { version: /^1\.(?:1[1-9]|[2-9]\d)\./ })
  const path = '/repos/alice/hello'
  t.strictSame((await ask([200], 'GET', `${path}/commits/${sha}/statuses?page=1&limit=50`, headers)).body, [])
  const body =
    '{"state":"success","target_url":"","description":"reconciliation succeeded","context":"kustomization/x"}'
  const saved = await ask([201], 'POST', `${path}/statuses/${sha}`, { ...headers, ...json }, body)
  t.match(decoded(saved.body, { ...statusTypes, ...times }), {
    status: 'success',
    url: /^https:\/\/gitea-status\.example\.com:8443\/api\/v1\/repos\//,
  })
  const [first] = (await ask([200], 'GET', `${path}/commits/${sha}/statuses?page=1&limit=50`, headers))
    .body as unknown[]
  t.match(first, { context: 'kustomization/x', status: 'success', description: 'reconciliation succeeded' })
  t.equal((await stored()).length, 1)
  t.equal(
    (await service.list('alice/hello', sha, token)).body['state'],
    'success',
    'other hosts have our own API there',
  )
})

t.test('Flux with the providers github and gitlab: list, then report, at the root of the host', async (t) => {
  const { ask, token, sha } = await client(t, '')
  const github = { Authorization: `Bearer ${token}` }
  const at = '/api/v3/repos/alice/hello'
  t.strictSame((await ask([200], 'GET', `${at}/commits/${sha}/statuses?per_page=50`, github)).body, [])
  const body = '{"state":"failure","description":"x","context":"kustomization/x"}'
  await ask([201], 'POST', `${at}/statuses/${sha}`, { ...github, ...json }, body)
  const gitlab = { 'PRIVATE-TOKEN': token }
  const project = '/api/v4/projects/alice%2Fhello'
  const list = await ask([200], 'GET', `${project}/repository/commits/${sha}/statuses?name=kustomization%2Fx`, gitlab)
  const types = {
    id: 'int',
    pipeline_id: 'int',
    sha: 'string',
    ref: 'string',
    finished_at: 'time',
    coverage: 'int',
  } as const
  t.match(decoded((list.body as unknown[])[0], types), {
    ...{ status: 'failed', name: 'kustomization/x', sha, ref: 'main' },
    author: { username: 'alice', name: 'alice', state: 'active' },
  })
})

t.test('Drone: go-scm sends zero times, and to GitLab nothing but a query', async (t) => {
  const { ask, token, sha, stored } = await client(t, '')
  const bearer = { Authorization: `Bearer ${token}` }
  const zero = '"created_at":"0001-01-01T00:00:00Z","updated_at":"0001-01-01T00:00:00Z"'
  for (const base of ['/api/v3', '/gitea/api/v1']) {
    const path = `${base}/repos/alice/hello/statuses/${sha}`
    const body = `{"state":"pending","target_url":"","description":"","context":"drone",${zero}}`
    decoded((await ask([201], 'POST', path, { ...bearer, ...json }, body)).body, { ...statusTypes, ...times })
    decoded(((await ask([200], 'GET', `${path}?page=1&per_page=30`, bearer)).body as unknown[])[0], statusTypes)
  }
  const query = 'description=x&name=drone-lab&state=success&target_url=https%3A%2F%2Fci.example.com%2F1'
  await ask([201], 'POST', `/api/v4/projects/alice%2Fhello/statuses/${sha}?${query}`, bearer)
  t.match(await stored(), [{ context: 'drone' }, { context: 'drone-lab', target_url: 'https://ci.example.com/1' }])
})

t.test('Buildbot: reports to GitHub and Gitea, and to GitLab by the number of the project', async (t) => {
  const { ask, token, sha, stored, service } = await client(t, '')
  const headers = { Authorization: `token ${token}`, ...json, 'User-Agent': 'Buildbot' }
  const body =
    '{"state":"success","description":"Build done.","target_url":"http://bb/#builders/1","context":"buildbot/x"}'
  await ask([200, 201], 'POST', `/api/v3/repos/alice/hello/statuses/${sha}`, headers, body)
  await ask([200, 201, 204], 'POST', `/gitea/api/v1/repos/alice/hello/statuses/${sha}`, headers, body)
  const gitlab = { 'PRIVATE-TOKEN': token, ...json }
  const { id } = decoded((await ask([200], 'GET', '/api/v4/projects/alice%2Fhello', gitlab)).body, { id: 'int' })
  const lab = '{"state":"running","name":"lab","ref":"main","target_url":"http://bb","description":"x"}'
  await ask([201], 'POST', `/api/v4/projects/${String(id)}/statuses/${sha}`, gitlab, lab)
  t.match(await stored(), [
    { context: 'buildbot/x', state: 'success' },
    { context: 'lab', state: 'pending' },
  ])
  await t.test('and still by that number after a restart', async (t) => {
    await service.close()
    const again = await startService(t, { settings: { repositories: service.repositories, store: service.address } })
    t.equal((await again.call('GET', `/api/v4/projects/${String(id)}`, { token })).status, 200)
  })
})

t.test('TeamCity: Basic with x-oauth-basic, permissions before, pages after', async (t) => {
  const { ask, token, sha } = await client(t, '')
  const Authorization = `Basic ${Buffer.from(`x-oauth-basic:${token}`).toString('base64')}`
  const headers = { Authorization, Accept: 'application/json' }
  const { body } = await ask([200], 'GET', '/api/v3/repos/alice/hello', headers)
  t.match(body, { name: 'hello', permissions: { push: true, pull: true } })
  const sent = '{"state":"success","target_url":"http://tc/1","description":"TeamCity build finished","context":"tc"}'
  await ask([201], 'POST', `/api/v3/repos/alice/hello/statuses/${sha}`, { ...headers, ...json }, sent)
  const combined = await ask(
    [200],
    'GET',
    `/api/v3/repos/alice/hello/commits/${sha}/status?per_page=100&page=1`,
    headers,
  )
  t.match(decoded(combined.body, { total_count: 'int32' }), { total_count: 1, statuses: [{ context: 'tc' }] })
  const commit = await ask([200], 'GET', `/api/v3/repos/alice/hello/git/commits/${sha}`, headers)
  t.match(commit.body, { sha, parents: [] })
  const gitlab = { 'Private-Token': token }
  const project = await ask([200], 'GET', '/api/v4/projects/alice%2Fhello', gitlab)
  t.match(project.body, { permissions: { project_access: { access_level: 40 } } })
  const lab = '{"state":"running","name":"tc","description":"x"}'
  for (let time = 0; time < 2; time++)
    await ask([201], 'POST', `/api/v4/projects/alice%2Fhello/statuses/${sha}`, { ...gitlab, ...json }, lab)
})

t.test('Concourse: JSON with the Content-Type of a form; the combined state of a branch', async (t) => {
  const { ask, token, sha } = await client(t, '/api/v3')
  const headers = { Authorization: `token ${token}`, 'Content-Type': 'application/x-www-form-urlencoded' }
  const versions: unknown[] = []
  for (const state of ['pending', 'success']) {
    const body = `{"context":"concourse","description":null,"state":"${state}","target_url":null}`
    await ask([201], 'POST', `/repos/alice/hello/statuses/${sha}`, headers, body)
    const combined = (await ask([200], 'GET', '/repos/alice/hello/commits/main/status', headers)).body as Members
    t.equal(combined['sha'], sha)
    versions.push((combined['statuses'] as Members[])[0]?.['id'])
  }
  t.not(versions[0], versions[1], 'a new id is a new version')
})

t.test('Woodpecker, Tekton and the Gitea SDK: version, then a report, with USER:TOKEN', async (t) => {
  const { ask, token, sha, stored } = await client(t, '/gitea/api/v1')
  const headers = { Authorization: `Basic ${Buffer.from(`alice:${token}`).toString('base64')}`, ...json }
  decoded((await ask([200], 'GET', '/version')).body, { version: 'string' })
  const body = '{"state":"warning","target_url":"https://ci/1","description":"Pipeline was warned","context":"ci/wp"}'
  const saved = await ask([201], 'POST', `/repos/alice/hello/statuses/${sha}`, headers, body)
  t.match(decoded(saved.body, { ...statusTypes, ...times }), { status: 'success' })
  decoded((await ask([200], 'GET', `/repos/alice/hello/commits/${sha}/status`, headers)).body, { total_count: 'int' })
  t.match(await stored(), [{ context: 'ci/wp', state: 'success' }])
})

t.test("Jenkins' Gitea plugin: state and status together; 200 and 201 alone", async (t) => {
  const { ask, token, sha } = await client(t, '/gitea/api/v1')
  const headers = { Authorization: `token ${token}`, ...json }
  const body =
    '{"context":"jenkins/x","description":"","state":"failure","status":"failure","target_url":"https://j/1"}'
  await ask([201], 'POST', `/repos/alice/hello/statuses/${sha}`, headers, body)
  await ask([201], 'POST', `/repos/alice/hello/statuses/${sha}`, headers, '{"context":"y","status":"skipped"}')
  const list = (await ask([200], 'GET', `/repos/alice/hello/statuses/${sha}`, headers)).body as unknown[]
  const creator = { login: 'alice', username: 'alice', avatar_url: /\/avatars\/\d+$/ }
  t.match(
    list.map((one) => decoded(one, { ...statusTypes, ...times })),
    [
      { status: 'success', creator },
      { status: 'failure', creator },
    ],
  )
  let page = 1
  const pages = async () =>
    (await ask([200], 'GET', `/repos/alice/hello/statuses/${sha}?page=${page}&limit=1`, headers)).body
  while (((await pages()) as unknown[]).length > 0) page++
  t.equal(page, 3, 'py-gitea asks until a page is empty')
})

t.test("Jenkins' GitLab plugin: HEAD of the user and commit, then a form", async (t) => {
  const { ask, token, sha, stored } = await client(t, '/gitlab/api/v4')
  const headers = { 'PRIVATE-TOKEN': token }
  await ask([200], 'HEAD', '/user', headers)
  decoded((await ask([200], 'GET', '/user', headers)).body, { id: 'int32', username: 'string' })
  // It asks for the number of one with a dot in its name alone, and where it cannot read it goes on with the name.
  const project = '/projects/alice%2Fhello'
  const commit = await ask([200], 'GET', `${project}/repository/commits/${sha}`, headers)
  t.match(decoded(commit.body, { created_at: 'time', authored_date: 'time' }), { id: sha, parent_ids: [] })
  const form = { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' }
  const body = 'state=canceled&ref=main&context=jenkins&target_url=http%3A%2F%2Fj%2F1&description=canceled'
  await ask([201], 'POST', `${project}/statuses/${sha}`, form, body)
  t.match(await stored(), [{ context: 'jenkins', state: 'error', description: 'canceled' }])
  const job = { 'JOB-TOKEN': token }
  await ask([200], 'GET', project, job)
  await ask([401], 'GET', '/user', { ...headers, 'JOB-TOKEN': 'another' })
  await ask([401], 'GET', '/user', { 'PRIVATE-TOKEN': '' })
})

t.test('Prow: 201 alone, and Link followed by its path', async (t) => {
  const { ask, token, sha, report } = await client(t, '/github/api/v3')
  const headers = { Authorization: `Bearer ${token}`, ...json }
  const body = '{"state":"pending","target_url":"","description":"Job triggered.","context":"prow"}'
  await ask([201], 'POST', `/repos/alice/hello/statuses/${sha}`, headers, body)
  await report({ state: 'success', context: 'tide' })
  const seen: unknown[] = []
  let path: string | undefined = `/repos/alice/hello/commits/${sha}/status?per_page=1`
  while (path !== undefined) {
    const { body: combined, headers: answered }: Exchanged = await ask([200], 'GET', path, headers)
    seen.push(...((combined as Members)['statuses'] as Members[]).map(({ context }) => context))
    const [, next] = /<([^>]+)>; rel="next"/.exec(answered.get('link') ?? '') ?? []
    path = next?.replace(/^.*\/github\/api\/v3/, '')
  }
  t.strictSame(seen, ['tide', 'prow'])
})
