import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { startService, type TestService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

/** Where each lies, what it is called, and how an address of the API names it. */
const LAYOUTS = [
  { place: 'alice/hello.git', name: 'alice/hello', address: 'alice/hello' },
  { place: 'project.git', name: 'git/project', address: 'git/project' },
  { place: 'team/sub/deep.git', name: 'team/sub/deep', address: 'team/sub%2Fdeep' },
  { place: 'plain', name: 'git/plain', address: 'git/plain' },
  { place: 'team/sub/plain', name: 'team/sub/plain', address: 'team/sub%2fplain' },
  { place: 'libstdc++.git', name: 'git/libstdc++', address: 'git/libstdc%2B%2B' },
  { place: 'a@b/c~,=.git', name: 'a@b/c~,=', address: 'a@b/c~,=' },
  { place: 'team/x/commits/y.git', name: 'team/x/commits/y', address: 'team/x%2Fcommits%2Fy' },
] as const

async function made(service: TestService, place: string, options: { public?: boolean } = {}): Promise<string> {
  const { directory, sha } = await makeRepositoryWithCommit(service.repositories, place.replace(/\.git$/, ''), options)
  if (!place.endsWith('.git')) renameSync(directory, join(service.repositories, place))
  return sha
}

t.test('Wherever a repository lies, statuses are reported on it and listed', async (t) => {
  const service = await startService(t)
  const token = await service.tokenOf('ci')
  for (const { place, name, address } of LAYOUTS) {
    const sha = await made(service, place)
    const report = { state: 'success', context: 'build' }
    t.equal((await service.report(address, sha, token, report)).status, 404, `${name}: nobody may read it`)
    await service.admin.grantAccess(name, 'ci', 'write')
    t.equal((await service.report(address, sha, token, report)).status, 201, name)
    const { status, body } = await service.list(address, sha, token)
    t.match([status, body], [200, { state: 'success', statuses: [{ context: 'build', sha }] }], name)
    t.equal((await service.list(address, sha)).status, 401, name)
  }
  t.strictSame(
    (await service.admin.listRepositories()).repositories.map(({ repository }) => repository),
    LAYOUTS.map(({ name }) => name).sort(),
  )
  await t.test('Each has its own statuses', async (t) => {
    const { body } = await service.call('GET', '/api/v4/projects/team%2Fsub%2Fdeep', { token })
    t.match(body, {
      path: 'deep',
      path_with_namespace: 'team/sub/deep',
      namespace: { full_path: 'team/sub', kind: 'group' },
      http_url_to_repo: `${service.url}/team/sub/deep.git`,
    })
    const byNumber = await service.call('GET', `/api/v4/projects/${String(body['id'])}`, { token })
    t.strictSame(byNumber.body, body)
  })
})

t.test('The APIs of others know them by the addresses that their clients make', async (t) => {
  const service = await startService(t)
  for (const { place, name } of LAYOUTS) {
    const sha = await made(service, place, { public: true })
    const [owner = '', ...rest] = name.split('/')
    const address = `${owner}/${encodeURIComponent(rest.join('/'))}`
    for (const base of ['/api/v3', '/gitea/api/v1']) {
      const { status, body } = await service.call('GET', `${base}/repos/${address}`)
      t.match([status, body], [200, { full_name: name, name: rest.join('/') }], `${base} ${name}`)
      t.equal(body['clone_url'], `${service.url}/${place}`)
      const listed = await service.call('GET', `${base}/repos/${address}/commits/${sha}/status`)
      t.match([listed.status, listed.body], [200, { sha }], `${base} ${name}`)
    }
    const project = `/api/v4/projects/${encodeURIComponent(name)}`
    t.match(await service.call('GET', project), { status: 200, body: { path_with_namespace: name } })
    t.equal((await service.call('GET', `${project}/repository/commits/${sha}/statuses`)).status, 200, name)
  }
})

t.test('Pages have addresses that people can read and type', async (t) => {
  const service = await startService(t)
  const shas = new Map<string, string>()
  for (const { place, name } of LAYOUTS) shas.set(name, await made(service, place, { public: true }))
  const { text } = await visit(service, '/')
  for (const { name } of LAYOUTS) {
    const sha = shas.get(name) ?? ''
    // A folder that is called as a page is told from it.
    const page = `/repos/${name === 'team/x/commits/y' ? 'team/x%2Fcommits%2Fy' : name}`
    t.match(text, `href="${page}">${name}<`)
    t.match(await visit(service, page), { status: 200, text: `<h1>${name}</h1>` }, page)
    const [last = ''] = page.split('/').slice(-1)
    t.match(await visit(service, page), { text: `href="${last}/commits/${sha}"` })
    for (const rest of ['branches', `commits/${sha}`, `commits/${sha}/fragment`, 'badge.svg'])
      t.equal((await visit(service, `${page}/${rest}`)).status, 200, `${page}/${rest}`)
    t.equal((await visit(service, `${page}/commits/main`)).headers.get('location'), `${page}/commits/${sha}`)
    t.match(await visit(service, `${page}/commits/nothing`), { status: 404, text: `href="${page}">` })
    const [, owner = '', rest = ''] = /^([^/]+)\/(.*)$/.exec(name) ?? []
    const escaped = await visit(service, `/repos/${owner}/${encodeURIComponent(rest)}?ref=main`)
    if (rest.includes('/') && escaped.status !== 200)
      t.strictSame([escaped.status, escaped.headers.get('location')], [303, `${page}?ref=main`])
    else t.match(escaped.text, `<h1>${name}</h1>`)
  }
})

t.test('A repository browser knows them as the git server does', async (t) => {
  const commitUrl = 'https://git.example.com/?p={repo}.git;h={id}'
  const service = await startService(t, { settings: { commitUrl } })
  for (const [place, name, path] of [
    ['libstdc++.git', 'git/libstdc++', 'libstdc%2B%2B'],
    ['plain', 'git/plain', 'plain'],
    ['team/sub/deep.git', 'team/sub/deep', 'team/sub/deep'],
  ] as const) {
    const sha = await made(service, place, { public: true })
    const { text } = await visit(service, `/repos/${name}/commits/${sha}`)
    t.match(text, `href="https://git.example.com/?p=${path}.git;h=${sha}"`)
  }
})

t.test('A token may be limited to one of them', async (t) => {
  const service = await startService(t)
  const deep = await made(service, 'team/sub/deep.git')
  const other = await made(service, 'team/sub/other.git')
  await service.admin.grantAccess('team', 'ci', 'write')
  const { token } = await service.admin.createToken({
    ...{ user: 'ci', name: '', scopes: ['repo'], expiresAt: null },
    repositories: ['team/sub/deep'],
  })
  t.equal((await service.list('team/sub%2Fdeep', deep, token)).status, 200)
  t.equal((await service.list('team/sub%2Fother', other, token)).status, 404)
})

t.test('What is stored of one is exported, imported, renamed and deleted by its name', movesStatuses)

async function movesStatuses(t: Test): Promise<void> {
  const service = await startService(t)
  const sha = await made(service, 'team/sub/deep.git')
  const token = await service.tokenOf('team')
  await service.report('team/sub%2Fdeep', sha, token, { state: 'failure', context: 'a/b' })
  renameSync(join(service.repositories, 'team/sub/deep.git'), join(service.repositories, 'team/sub.git'))
  t.match(await service.admin.renameRepository('team/sub/deep', 'team/sub'), { statuses: 1 })
  t.match((await service.list('team/sub', sha, token)).body, { state: 'failure' })
  t.match(await service.admin.deleteRepository('team/sub'), { statuses: 1 })
}
