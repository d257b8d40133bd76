// octocrab, and every client that is generated from a description, has a type for each member: an empty `avatar_url` is
// no URL and failed every call, so did a `gravatar_id` that was not there. Which members there are is held by the
// compiler, where the answers are made; here is what their names promise.
import fc from 'fast-check'
import { rmSync, statSync } from 'node:fs'
import t, { type Test } from 'tap'
import { anyCharacter } from '../../fixtures/any-character.js'
import { DIALECTS } from '../../fixtures/api-client.js'
import { embed, fetchJson, listen } from '../../fixtures/embedded.js'
import { makeCommit, makeRepository, makeRepositoryWithCommit } from '../../fixtures/git.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { makeRefs } from '../../fixtures/refs.js'

const EMAIL = /^[^\s@()<>,;:"[\]\\.]+(?:\.[^\s@()<>,;:"[\]\\.]+)*@[a-z\d-]+(?:\.[a-z\d-]+)*$/i

/** What a member is not that its name promises; `undefined`: it is. */
function brokenPromise(name: string, text: string): string | undefined {
  // What was reported; Gitea has no null.
  if (name === 'target_url') return text === '' || URL.canParse(text) ? undefined : 'no address'
  if (/(?:^|_)url(?:$|_)/.test(name)) {
    const expanded = text.replace(/\{[^{}]+\}/g, 'x')
    return /^(?:https?|ssh|git):\/\/[^/]/.test(expanded) && URL.canParse(expanded) ? undefined : 'no absolute URL'
  }
  if (/_at$|_date$|^(?:date|created|last_login|mirror_updated)$/.test(name)) {
    const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/.test(text)
    return isTime && !Number.isNaN(Date.parse(text)) ? undefined : 'no time'
  }
  return /(?:^|_)email$/.test(name) && !EMAIL.test(text) ? 'no e-mail address' : undefined
}

/** The members of an answer that are not what they promise, by their way in it. */
function brokenPromises(body: unknown, way = ''): string[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([name, value]: [string, unknown]) => {
    const broken = typeof value === 'string' ? brokenPromise(name, value) : undefined
    return broken === undefined
      ? brokenPromises(value, `${way}/${name}`)
      : [`${way}/${name}: ${broken}: ${String(value)}`]
  })
}

/** All that the three APIs answer of a repository with GET. @param ref of a commit that has statuses */
function readPaths(ref: string): string[] {
  const mounts = ['/api/v3', '/github/api/v3', '/gitea/api/v1']
  const project = ['/api/v4', '/gitlab/api/v4'].map((mount) => `${mount}/projects/alice%2Fhello`)
  return [
    ...mounts.flatMap((mount) => {
      const at = `${mount}/repos/alice/hello`
      const of = ['statuses', 'status', 'statuses?per_page=1&limit=1'].map((last) => `${at}/commits/${ref}/${last}`)
      const refs = ['branches', 'branches/main', 'tags'].map((path) => `${at}/${path}`)
      return [at, `${at}/statuses/${ref}`, ...of, ...refs, `${mount}/user`, `${mount}/repos/alice/missing`]
    }),
    ...['', '/meta', '/users/bob', '/rate_limit', '/users/-x'].map((path) => `/api/v3${path}`),
    ...['commits', 'git/commits'].map((kind) => `/api/v3/repos/alice/hello/${kind}/${ref}`),
    ...['git/ref/heads/main', 'git/matching-refs/', 'git/refs', 'git/refs/heads'].map(
      (path) => `/api/v3/repos/alice/hello/${path}`,
    ),
    ...['git/refs', `git/commits/${ref}`].map((path) => `/gitea/api/v1/repos/alice/hello/${path}`),
    ...['/version', '/settings/api', '/users/bob'].map((path) => `/gitea/api/v1${path}`),
    ...project.flatMap((at) =>
      [
        '',
        ...[`commits/${ref}`, `commits/${ref}/statuses`, 'branches', 'branches/main', 'tags'].map(
          (p) => `/repository/${p}`,
        ),
      ].map((p) => at + p),
    ),
    ...['/user', '/version', '/metadata'].map((path) => `/api/v4${path}`),
  ]
}

t.test('Addresses, times and e-mail addresses are what their names promise, in every answer', async (t) => {
  const { service, directory, token } = await hostCommit(t)
  const sha = await makeCommit(directory, 'a child')
  await makeRefs(directory)
  for (const { name, mount, reportPath, context } of DIALECTS) {
    const about = { description: 'all well', target_url: 'https://ci.example.com/1' }
    for (const body of [
      { state: 'success', [context]: `of ${name}` },
      { state: 'pending', ...about },
    ]) {
      const answer = await service.call('POST', mount + reportPath('alice/hello', sha), { token, body })
      t.strictSame([answer.status, brokenPromises(answer.body)], [201, []], name)
    }
  }
  for (const path of readPaths(sha)) {
    const { body } = await service.call('GET', path, { token })
    t.strictSame(brokenPromises(body), [], path)
    t.ok(Object.keys(body).length > 0, path)
  }
})

t.test('Whatever a user is called, and by whatever name the service', async (t) => {
  const accessPolicy = { access: async () => await Promise.resolve('write' as const) }
  const { service, repositories } = await embed(t, {
    accessPolicy,
    compatibleApis: ['github', 'gitea', 'gitlab'],
    trustedProxies: ['127.0.0.1'],
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  const url = await listen(t, service.handler)
  const letter = fc.oneof(anyCharacter, fc.constantFrom('.', '(', ')', '"', '@', ' ', 'a', 'Z', '-', '_'))
  const user = fc.string({ unit: letter, minLength: 1, maxLength: 12 }).filter((text) => text !== '.' && text !== '..')
  const host = fc.constantFrom('status.example.com', 'status.example.com:8443', '[::1]:3000', 'localhost', 'a_b', '-')
  const holds = async (user: string, host: string): Promise<void> => {
    await service.report('alice/hello', sha, { state: 'success' }, user)
    for (const path of readPaths(sha).filter((path) => /status|hello$/.test(path))) {
      const { body } = await fetchJson(url + path, { headers: { 'X-Forwarded-Host': host } })
      const broken = brokenPromises(body)
      if (broken.length > 0) throw new Error(broken.join('\n'))
    }
  }
  await fc.assert(fc.asyncProperty(user, host, holds), { numRuns: 25 })
  const { body } = await fetchJson(`${url}/gitea/api/v1/repos/alice/hello`, {
    headers: { 'X-Forwarded-Host': 'status.example.com:8443' },
  })
  t.match(body, { owner: { email: 'alice@noreply.status.example.com' } })
})

t.test('The time of a repository is that of its folder; its object format is said', async (t) => {
  const { service, directory, token } = await hostCommit(t, { format: 'sha256' })
  const born = `${new Date(statSync(directory).birthtimeMs).toISOString().slice(0, 19)}Z`
  const answers = {
    '/api/v3/repos': { created_at: born, updated_at: born, pushed_at: born },
    '/gitea/api/v1/repos': { created_at: born, updated_at: born, object_format_name: 'sha256' },
    '/api/v4/projects': { created_at: born, last_activity_at: born },
  }
  for (const [path, expected] of Object.entries(answers)) {
    const name = path.includes('v4') ? 'alice%2Fhello' : 'alice/hello'
    t.match((await service.call('GET', `${path}/${name}`, { token })).body, expected)
  }
  const { body } = await service.call('GET', '/gitea/api/v1/repos/alice/hello/commits/main/status')
  t.match(body, { repository: answers['/gitea/api/v1/repos'] })
  await makeRepository(service.repositories, 'alice/empty', { public: true })
  const empty = await service.call('GET', '/gitea/api/v1/repos/alice/empty')
  t.match(empty.body, { default_branch: 'main', object_format_name: 'sha1' })
})

t.test('A repository whose folder goes while it is asked for is 503', async (t: Test) => {
  const { directory } = await makeRepositoryWithCommit(t.testdir(), 'alice/hello')
  rmSync(directory, { recursive: true })
  const find = async () => await Promise.resolve({ directory, public: true })
  const { service } = await embed(t, { compatibleApis: ['github'], repositories: { find } })
  t.equal((await fetchJson(`${await listen(t, service.handler)}/api/v3/repos/alice/hello`)).status, 503)
})
