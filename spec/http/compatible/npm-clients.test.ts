// Unmodified clients from npm, as people point them at a server of their own.
import { Gitlab } from '@gitbeaker/rest'
import { Octokit } from '@octokit/rest'
import { giteaApi } from 'gitea-js'
import t from 'tap'
import { hostCommit } from '../../fixtures/hosted-commit.js'

for (const mount of ['/api/v3', '/github/api/v3']) {
  t.test(`@octokit/rest below ${mount}`, async (t) => {
    const { service, sha, token } = await hostCommit(t, { private: true })
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const octokit = new Octokit({ baseUrl: `${service.url}${mount}`, auth: token, log })
    const at = { owner: 'alice', repo: 'hello' }
    for (const state of ['pending', 'success'] as const) {
      const { data, status } = await octokit.repos.createCommitStatus({ ...at, sha, state, context: 'build' })
      t.match({ data, status }, { status: 201, data: { state, context: 'build', description: null } })
      t.match(data.creator, { login: 'alice', type: 'User', site_admin: false })
    }
    for (let index = 0; index < 4; index++)
      await octokit.repos.createCommitStatus({ ...at, sha, state: 'failure', context: `check-${index}` })
    const all = await octokit.paginate(octokit.repos.listCommitStatusesForRef, { ...at, ref: 'main', per_page: 2 })
    t.strictSame(
      all.map(({ creator }) => creator?.login),
      Array.from({ length: 5 }, () => 'alice'),
    )
    const { data } = await octokit.repos.getCombinedStatusForRef({ ...at, ref: 'heads/main' })
    t.match(data, { state: 'failure', total_count: 5, sha, repository: { full_name: 'alice/hello' } })
    t.match((await octokit.repos.getCommit({ ...at, ref: sha })).data, { sha, commit: { message: 'a commit' } })
    t.match((await octokit.repos.get(at)).data, { private: true, permissions: { push: true }, default_branch: 'main' })
    t.match((await octokit.users.getAuthenticated()).data, { login: 'alice' })
    t.match((await octokit.users.getByUsername({ username: 'bob' })).data, { login: 'bob' })
    t.match((await octokit.checks.listForRef({ ...at, ref: sha })).data, { total_count: 0, check_runs: [] })
    t.match((await octokit.checks.listSuitesForRef({ ...at, ref: sha })).data, { total_count: 0, check_suites: [] })
    t.match((await octokit.git.getCommit({ ...at, commit_sha: sha })).data, { sha, parents: [], tree: {} })
    t.match((await octokit.meta.get()).data, { installed_version: '3.19.0' })
    await t.rejects(octokit.rateLimit.get(), { status: 404, message: /not enabled/ })
    const [unknown, wrong] = ['e'.repeat(40), new Octokit({ baseUrl: `${service.url}${mount}`, auth: 'wrong', log })]
    await t.rejects(octokit.repos.createCommitStatus({ ...at, sha: unknown, state: 'success' }), {
      status: 422,
      message: /No commit found for SHA/,
    })
    await t.rejects(octokit.repos.getCommit({ ...at, ref: unknown }), { status: 422, message: /No commit/ })
    await t.rejects(octokit.repos.getCombinedStatusForRef({ ...at, ref: unknown }), {
      status: 404,
      message: /Not Found/,
    })
    await t.rejects(wrong.users.getAuthenticated(), { status: 401, message: /Bad credentials/ })
    await t.rejects(octokit.users.getByUsername({ username: '-x' }), { status: 404, message: /Not Found/ })
  })
}

t.test('gitea-js', async (t) => {
  const { service, sha, token } = await hostCommit(t, { private: true })
  const api = giteaApi(`${service.url}/gitea`, { token, customFetch: fetch })
  t.match((await api.version.getVersion()).data, { version: '1.26.0' })
  t.match((await api.settings.getGeneralApiSettings()).data, { max_response_items: 50 })
  for (const state of ['pending', 'warning', 'failure'] as const) {
    const body = { state, context: `check ${state}`, description: '', target_url: '' }
    const { data } = await api.repos.repoCreateStatus('alice', 'hello', sha, body)
    t.match(data, { status: state === 'warning' ? 'success' : state, context: `check ${state}`, target_url: '' })
  }
  const { data } = await api.repos.repoListStatuses('alice', 'hello', sha, { sort: 'oldest' })
  t.strictSame(
    data.map(({ context }) => context),
    ['check pending', 'check warning', 'check failure'],
  )
  const failures = await api.repos.repoListStatuses('alice', 'hello', sha, { state: 'failure', limit: 1 })
  t.match([failures.data.length, failures.headers.get('x-total-count')], [1, '1'])
  for (const sort of ['recentupdate', 'leastupdate', 'leastindex', 'highestindex'] as const)
    t.equal((await api.repos.repoListStatusesByRef('alice', 'hello', 'main', { sort })).data.length, 3, sort)
  const combined = await api.repos.repoGetCombinedStatusByRef('alice', 'hello', 'main')
  t.match(combined.data, {
    state: 'failure',
    sha,
    total_count: 3,
    statuses: [{ status: 'failure', creator: { login: 'alice' } }, {}, {}],
  })
  t.match((await api.repos.repoGet('alice', 'hello')).data, { full_name: 'alice/hello', permissions: { push: true } })
  t.match((await api.user.userGetCurrent()).data, { login: 'alice' })
  const refused = await api.repos.repoGet('alice', 'missing').catch((error: unknown) => error)
  t.match(refused, { status: 404, error: { message: 'repository not found' } })
})

for (const mount of ['', '/gitlab']) {
  t.test(`@gitbeaker/rest below ${mount === '' ? '/' : mount}`, async (t) => {
    const { service, sha, token } = await hostCommit(t, { private: true })
    const api = new Gitlab({ host: `${service.url}${mount}`, token })
    const { id } = await api.Projects.show('alice/hello')
    t.type(id, 'number')
    for (const state of ['running', 'success', 'failed', 'canceled', 'skipped'] as const) {
      const status = await api.Commits.editStatus(id, sha, state as never, { name: state, description: 'x' })
      t.match(status, { name: state, sha, ref: 'main' })
    }
    // Its types do not know paging here, its requests do.
    const pages: { all?: boolean; perPage: number } = { perPage: 2 }
    const statuses = await api.Commits.allStatuses('alice/hello', 'main', pages)
    t.same(
      statuses.map(({ name, status, author }) => [name, status, author.username]),
      [
        ['skipped', 'success', 'alice'],
        ['canceled', 'failed', 'alice'],
        ['failed', 'failed', 'alice'],
        ['success', 'success', 'alice'],
        ['running', 'pending', 'alice'],
      ],
    )
    const [one, ...more] = await api.Commits.allStatuses(id, sha, { name: 'failed' })
    t.match([one?.status, more.length], ['failed', 0])
    t.match(await api.Commits.show(id, 'main'), { id: sha, title: 'a commit', parent_ids: [] })
    t.match(await api.Users.showCurrentUser(), { username: 'alice' })
    t.match(await api.Metadata.show(), { version: '17.0.0' })
    await t.rejects(api.Projects.show(7), { cause: { description: '404 Project Not Found' } })
    await t.rejects(api.Commits.editStatus(id, 'e'.repeat(40), 'success'), {
      cause: { description: '404 Commit Not Found' },
    })
  })
}
