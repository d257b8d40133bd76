import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ExportLines } from '../../lib/admin/export-lines.js'
import type { CommitStatusOptions } from '../../lib/index.js'
import { ApiClient, shown, type Dialect, type Shown } from '../fixtures/api-client.js'
import { embed, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'
import { caller, newAddress } from '../fixtures/service.js'
import { resultOf } from '../fixtures/work.js'

const NOON = '2026-01-31T12:00:00.000Z'
const name = 'alice/hello'

/** What an API shows of a user, with the address of the service in it. */
const PEOPLE: Readonly<Record<Dialect['name'], (login: string, url: string) => object>> = {
  github: (login, url) => ({
    login,
    id: Number,
    node_id: `user:${login}`,
    avatar_url: new RegExp(`^${url}/avatars/u/\\d+$`),
    gravatar_id: '',
    url: `${url}/api/v3/users/${login}`,
    html_url: `${url}/${login}`,
    followers_url: `${url}/api/v3/users/${login}/followers`,
    following_url: `${url}/api/v3/users/${login}/following{/other_user}`,
    gists_url: `${url}/api/v3/users/${login}/gists{/gist_id}`,
    starred_url: `${url}/api/v3/users/${login}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/api/v3/users/${login}/subscriptions`,
    organizations_url: `${url}/api/v3/users/${login}/orgs`,
    repos_url: `${url}/api/v3/users/${login}/repos`,
    events_url: `${url}/api/v3/users/${login}/events{/privacy}`,
    received_events_url: `${url}/api/v3/users/${login}/received_events`,
    type: 'User',
    site_admin: false,
  }),
  gitea: (login, url) => ({
    id: Number,
    login,
    login_name: '',
    source_id: 0,
    full_name: '',
    email: `${login}@noreply.127.0.0.1`,
    avatar_url: new RegExp(`^${url}/avatars/\\d+$`),
    html_url: `${url}/${login}`,
    language: '',
    is_admin: false,
    last_login: '0001-01-01T00:00:00Z',
    created: '1970-01-01T00:00:00Z',
    restricted: false,
    active: true,
    prohibit_login: false,
    location: '',
    website: '',
    description: '',
    visibility: 'public',
    followers_count: 0,
    following_count: 0,
    starred_repos_count: 0,
    username: login,
  }),
  gitlab: (username, url) => ({
    id: Number,
    username,
    name: username,
    state: 'active',
    avatar_url: null,
    web_url: `${url}/${username}`,
  }),
}

/** A service in this process whose time stands still: a report that is repeated changes nothing but who reported. */
async function hosted(t: Test, dialect: Dialect, options: Partial<CommitStatusOptions> = {}) {
  const clock = { now: () => Date.parse(NOON) }
  const store = await newAddress(mkdtempSync(join(t.testdir(), 'place-')))
  const embedded = await embed(t, { store, clock, compatibleApis: [dialect.name], ...options })
  const { sha } = await makeRepositoryWithCommit(embedded.repositories, name, { public: true })
  const url = await listen(t, embedded.service.handler)
  const call = caller(url)
  const api = new ApiClient({ call }, dialect)
  const strict = `/api/v1/repos/${name}`
  return { ...embedded, store, sha, url, call, api, strict }
}

/** Every compatible API shows who reported last, in reports and lists; the strict one never does. */
export function compatibleCreatorSuite(t: Test, dialect: Dialect): void {
  const { creator, login, context } = dialect
  const loginOf = (status: Shown | undefined): unknown => {
    const person = status?.[creator]
    return person === null ? null : (person as Shown)[login]
  }

  t.test(`${dialect.name}: who reported last is the ${creator}, also for whoever has the list`, async (t) => {
    const lines: object[] = []
    const logger = { debug: (facts: object) => void lines.push(facts), info() {}, warn() {}, error() {} }
    const { service, sha, url, call, api, strict, tokenOf } = await hosted(t, dialect, { logger })
    await service.administration.grantAccess(name, 'bob', 'write')
    const [alice, bob] = [await tokenOf('alice'), await tokenOf('bob')]
    const report = async (token: string) => await api.report(name, sha, token, { state: 'success', [context]: 'build' })
    const strictList = async (etag = '') =>
      await call('GET', `${strict}/commits/${sha}/statuses`, { headers: { 'If-None-Match': etag } })
    const list = async (etag = '') =>
      await call('GET', dialect.mount + dialect.listPath(name, sha), { headers: { 'If-None-Match': etag } })

    const reported = await report(alice)
    t.match(reported.body[creator], PEOPLE[dialect.name]('alice', url))
    t.strictSame(Object.keys(reported.body[creator] as object), Object.keys(PEOPLE[dialect.name]('alice', url)))
    const { body: user } = await api.call('GET', '/user', { token: alice })
    t.match(user, reported.body[creator], 'who asks who they are')
    const first = await list()
    t.strictSame(shown(first)[0]?.[creator], reported.body[creator])
    const [etag, strictTag] = [first.headers.get('etag') ?? '', (await strictList()).headers.get('etag') ?? '']
    t.equal((await list(etag)).status, 304)

    t.equal(loginOf((await report(bob)).body), 'bob')
    const second = await list(etag)
    t.equal(second.status, 200, 'no 304 hides that it is another one')
    t.equal(loginOf(shown(second)[0]), 'bob')
    t.equal((await strictList(strictTag)).status, 304, 'the strict list is the same')
    await report(alice)
    t.equal((await list(etag)).status, 304, 'and back')
    if (dialect.name !== 'gitlab') {
      const combined = await api.call('GET', `/repos/${name}/commits/${sha}/status`)
      t.strictSame((combined.body['statuses'] as Shown[]).map(loginOf), ['alice'])
    }
    const ours = lines.filter((facts) => 'reporter' in facts)
    t.match(ours, [{ reporter: { user: 'alice', token: /^\w+$/ } }, { reporter: { user: 'bob' } }, {}])
  })

  t.test(`${dialect.name}: of the library it is host, and null where nobody knows; also after a restart`, async (t) => {
    const { service, sha, api, store, repositories } = await hosted(t, dialect)
    const lines = new ExportLines()
    const status = {
      id: 'of-before',
      sha,
      context: 'old',
      state: 'success',
      description: null,
      target_url: null,
    } as const
    const record = { ...status, created_at: NOON, updated_at: NOON }
    const old = [lines.first(null), lines.of({ type: 'status', repository: repositoryNamed(name), status: record })]
    await resultOf(service.administration.importStore(each([...old, lines.last()])))
    await service.report(name, sha, { state: 'success', context: 'library' })
    await service.report(name, sha, { state: 'success', context: 'user' }, 'alice')
    const creators = async (from: ApiClient) =>
      Object.fromEntries(
        shown(await from.list(name, sha)).map((one): [string, unknown] => [String(one[context]), loginOf(one)]),
      )
    const expected = { old: null, library: 'host', user: 'alice' }
    t.strictSame(await creators(api), expected)
    await service.report(name, sha, { state: 'success', context: 'old' })
    t.strictSame(await creators(api), { ...expected, old: 'host' })
    await service.close()
    const again = await embed(t, { store, repositories, compatibleApis: [dialect.name] })
    const call = caller(await listen(t, again.service.handler))
    t.strictSame(await creators(new ApiClient({ call }, dialect)), { ...expected, old: 'host' })
  })

  t.test(`${dialect.name}: a list that is too large for the memory shows it, and is told from another`, async (t) => {
    const { service, sha, api, call } = await hosted(t, dialect)
    const report = async (index: number, user?: string) => {
      const about = { context: `check ${index}`, description: '\u0001'.repeat(1000) }
      await service.report(name, sha, { state: 'success', ...about }, user)
    }
    await Promise.all(Array.from({ length: 110 }, async (_, index) => await report(index, 'alice')))
    const path = `${dialect.mount}${dialect.listPath(name, sha)}?${dialect.sizeParameter}=2`
    const first = await call('GET', path)
    t.strictSame(shown(first).map(loginOf), ['alice', 'alice'])
    await report(0)
    const headers = { 'If-None-Match': first.headers.get('etag') ?? '' }
    const second = await call('GET', path, { headers })
    t.strictSame([second.status, shown(second).map(loginOf)], [200, ['host', 'alice']])
    t.equal((await api.list(name, sha)).status, 200)
  })

  t.test(`${dialect.name}: a user of the host may have any name`, async (t) => {
    const accessPolicy = { access: async () => await Promise.resolve('write' as const) }
    const names = ['É "x"', 'a/../b', '\ud800', '__proto__', 'x\0y']
    const { service, sha, api, call, strict } = await hosted(t, dialect, { accessPolicy })
    for (const [index, user] of names.entries())
      await service.report(name, sha, { state: 'success', context: `check ${index}` }, user)
    const statuses = shown(await api.list(name, sha)).sort((one, other) =>
      String(one[context]) < String(other[context]) ? -1 : 1,
    )
    t.strictSame(
      statuses.map(loginOf).map((one) => String(one).toWellFormed()),
      names.map((one) => one.toWellFormed()),
    )
    t.notMatch(JSON.stringify(statuses), /\/a\/\.\.\/b"/)
    t.equal((await call('GET', `${strict}/commits/${sha}/statuses`)).status, 200)
  })

  t.test(`${dialect.name}: no strict answer shows who reported`, async (t) => {
    const { sha, api, call, strict, tokenOf } = await hosted(t, dialect)
    const token = await tokenOf('alice')
    await api.report(name, sha, token, { state: 'success', [context]: 'a' })
    const body = { state: 'success', context: 'b' }
    const answers = [
      await call('POST', `${strict}/statuses/${sha}`, { token, body }),
      await call('GET', `${strict}/commits/${sha}/statuses`, { token }),
      await call('GET', `${strict}/commits/${sha}/verdict?by=alice`, { token }),
      await call('GET', `${strict}/states?sha=${sha}`, { token }),
    ]
    for (const { status, text } of answers) {
      t.ok(status < 300)
      t.notMatch(text, /alice|reporter|creator|author/)
    }
    t.strictSame(shown(await api.list(name, sha, token)).map(loginOf), ['alice', 'alice'])
  })
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}
