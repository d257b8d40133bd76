// Clients ask for the branch before they report on its commit: 404 ended it.
import { Octokit } from '@octokit/rest'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { shown } from '../../fixtures/api-client.js'
import { makeRefs, ODD_NAMES } from '../../fixtures/refs.js'
import { git } from '../../fixtures/git.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'

const log = { debug() {}, info() {}, warn() {}, error() {} }

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`@octokit/rest reads branches, tags and refs, of ${format}`, async (t) => {
    const { service, directory, sha, token } = await hostCommit(t, { private: true, format })
    const { annotated, light, tag, tree } = await makeRefs(directory)
    const octokit = new Octokit({ baseUrl: `${service.url}/api/v3`, auth: token, log })
    const at = { owner: 'alice', repo: 'hello' }
    const branches = await octokit.paginate(octokit.repos.listBranches, { ...at, per_page: 2 })
    t.strictSame(
      branches.map(({ name, commit, protected: isProtected }) => [name, commit.sha, isProtected]),
      [...ODD_NAMES, 'main', 'protected'].sort().map((name) => [name, sha, name === 'protected']),
    )
    for (const branch of [...ODD_NAMES, 'main', 'protected']) {
      const { data } = await octokit.repos.getBranch({ ...at, branch })
      const contexts = branch === 'protected' ? ['build'] : []
      t.match(data, {
        name: branch,
        commit: { sha, commit: { message: 'a commit' }, parents: [] },
        protected: branch === 'protected',
        protection: { enabled: branch === 'protected', required_status_checks: { contexts } },
      })
      const ref = await octokit.git.getRef({ ...at, ref: `heads/${branch}` })
      t.match(ref.data, { ref: `refs/heads/${branch}`, object: { sha, type: 'commit' } })
    }
    const tags = await octokit.paginate(octokit.repos.listTags, { ...at, per_page: 2 })
    t.strictSame(
      tags.map(({ name, commit }) => [name, commit.sha]),
      [
        [light, sha],
        [annotated, sha],
        ['of-a-tree', tree],
      ],
    )
    t.match((await octokit.git.getRef({ ...at, ref: `tags/${annotated}` })).data, { object: { type: 'tag', sha: tag } })
    t.match((await octokit.git.getRef({ ...at, ref: `tags/${light}` })).data, { object: { type: 'commit', sha } })
    const matching = await octokit.git.listMatchingRefs({ ...at, ref: 'tags/v1' })
    t.strictSame(
      matching.data.map(({ ref, object }) => [ref, object.type, object.sha]),
      [
        [`refs/tags/${annotated}`, 'tag', tag],
        [`refs/tags/${light}`, 'commit', sha],
      ],
    )
    t.strictSame((await octokit.git.listMatchingRefs({ ...at, ref: 'heads/none' })).data, [])
    t.equal((await octokit.git.listMatchingRefs({ ...at, ref: 'heads/' })).data.length, ODD_NAMES.length + 2)
    const missing = { status: 404, message: /Branch not found/ }
    await t.rejects(octokit.repos.getBranch({ ...at, branch: 'gone' }), missing)
    await t.rejects(octokit.repos.getBranch({ ...at, branch: annotated }), missing, 'a tag is no branch')
    await t.rejects(octokit.repos.getBranch({ ...at, branch: 'main~1' }), missing)
    await t.rejects(octokit.git.getRef({ ...at, ref: 'heads/mai' }), { status: 404, message: /Not Found/ })
    await t.rejects(octokit.git.getRef({ ...at, ref: 'heads/main^{tree}' }), { status: 404, message: /Not Found/ })
  })
}

t.test('Pages, links, entity tags, and only those that are protected', async (t) => {
  const { service, directory, sha, token } = await hostCommit(t)
  await makeRefs(directory)
  const at = '/api/v3/repos/alice/hello'
  const page = await service.call('GET', `${at}/branches?per_page=3&page=2`)
  t.match(page.headers.get('link'), new RegExp(`<${service.url}${at}/branches\\?page=3&per_page=3>; rel="next"`))
  const etag = String(page.headers.get('etag'))
  const headers = { 'If-None-Match': etag }
  t.equal((await service.call('GET', `${at}/branches?per_page=3&page=2`, { headers })).status, 304)
  t.equal((await service.call('HEAD', `${at}/branches`)).status, 200)
  t.strictSame((await service.call('GET', `${at}/branches?page=9`)).body, [])
  const only = async (query: string) => (await service.call('GET', `${at}/branches?${query}`)).body
  t.match(await only('protected=true'), [{ name: 'protected', protected: true }])
  t.equal(Object.keys(await only('protected=false')).length, ODD_NAMES.length + 1)
  t.equal(Object.keys(await only('protected=maybe')).length, ODD_NAMES.length + 2)
  const filtered = await service.call('GET', `${at}/branches?protected=false&per_page=1`)
  t.match(filtered.headers.get('link'), /protected=false&page=2&per_page=1>; rel="next"/)
  t.match((await service.call('GET', `${at}/git/matching-refs/heads/fix?per_page=1`)).headers.get('link'), /rel="next"/)
  t.match((await service.call('GET', `${at}/git/ref/refs/heads/main`)).body, { ref: 'refs/heads/main' })
  const matching = shown(await service.call('GET', `${at}/git/matching-refs/`))
  t.equal(matching.length, ODD_NAMES.length + 5)
  for (const ref of matching) {
    const { pathname } = new URL(String(ref['url']))
    t.strictSame((await service.call('GET', pathname)).body, ref, 'a ref answers at its own address')
  }
  for (const path of ['fix/a%2Fb', 'fix%2Fa%2Fb']) {
    const { body } = await service.call('GET', `${at}/branches/${path}`)
    t.match(body, { name: 'fix/a/b', _links: { self: `${service.url}${at}/branches/fix/a/b` } })
  }
  const later = await git('-C', directory, 'commit-tree', '-p', sha, '-m', 'later', `${sha}^{tree}`)
  await git('-C', directory, 'update-ref', 'refs/heads/later', later)
  t.match((await service.call('GET', `${at}/branches?protected=false&per_page=100`, { token })).text, /"later"/)
})

t.test('Refs below their older address, which clients of hub4j and Prow ask: that one, or all below', async (t) => {
  const { service, directory, sha } = await hostCommit(t)
  const { tag } = await makeRefs(directory)
  const at = '/api/v3/repos/alice/hello/git/refs'
  const answer = async (path: string) => (await service.call('GET', at + path)).body
  const main = { ref: 'refs/heads/main', object: { sha, type: 'commit' } }
  t.match(await answer('/heads/main'), main)
  t.match(await answer('/heads/mai'), [main])
  t.match(await answer('/tags/v1'), [{ object: { type: 'tag', sha: tag } }, { ref: 'refs/tags/v1/light' }])
  t.equal(Object.keys(await answer('/heads')).length, ODD_NAMES.length + 2)
  t.strictSame(await answer('/heads?page=9'), [])
  t.equal((await service.call('GET', `${at}/heads/gone`)).status, 404)
  t.equal(Object.keys(await answer('')).length, ODD_NAMES.length + 5)
  const page = await service.call('GET', `${at}?per_page=5`)
  const [, next = ''] = /<([^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '') ?? []
  t.equal(Object.keys((await service.call('GET', next.slice(service.url.length))).body).length, 5)
  t.equal((await service.call('GET', `${at}gone`)).status, 404)
})

t.test('A branch whose commit is not there is left out, and a repository that cannot be read is 503', async (t) => {
  const { service, directory, sha } = await hostCommit(t)
  const at = '/api/v3/repos/alice/hello'
  writeFileSync(`${directory}/refs/heads/broken`, `${'e'.repeat(40)}\n`)
  t.equal((await service.call('GET', `${at}/branches`)).status, 200)
  t.notMatch((await service.call('GET', `${at}/git/matching-refs/heads`)).text, 'broken')
  writeFileSync(`${directory}/config`, '[broken\n')
  for (const path of ['branches', 'branches/main', 'tags', 'git/ref/heads/main', 'git/refs', `branches/${sha}`])
    t.equal((await service.call('GET', `${at}/${path}`)).status, 503, path)
})
