import { giteaApi } from 'gitea-js'
import t from 'tap'
import { commitFile, git, makeRepository } from '../../fixtures/git.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { makeRefs, ODD_NAMES } from '../../fixtures/refs.js'

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`gitea-js reads branches, tags, refs and commits, of ${format}`, async (t) => {
    const { service, directory, sha, token } = await hostCommit(t, { private: true, format })
    const { annotated, light, tag, tree } = await makeRefs(directory)
    const api = giteaApi(`${service.url}/gitea`, { token, customFetch: fetch }).repos
    const at = ['alice', 'hello'] as const
    const branches = await api.repoListBranches(...at, { limit: 50 })
    t.equal(branches.headers.get('x-total-count'), String(ODD_NAMES.length + 2))
    t.strictSame(
      branches.data.map(({ name, commit, protected: isProtected }) => [name, commit?.id, isProtected]),
      [...ODD_NAMES, 'main', 'protected'].sort().map((name) => [name, sha, name === 'protected']),
    )
    for (const branch of [...ODD_NAMES, 'main']) {
      const { data } = await api.repoGetBranch(...at, encodeURIComponent(branch))
      t.match(data, {
        name: branch,
        commit: { id: sha, message: 'a commit\n', author: { name: 'A U Thor' }, verification: { verified: false } },
        protected: false,
        enable_status_check: false,
        status_check_contexts: [],
        user_can_push: true,
      })
    }
    const guarded = (await api.repoGetBranch(...at, 'protected')).data
    t.match(guarded, { protected: true, enable_status_check: true, status_check_contexts: ['build', 'test/*'] })
    const tags = await api.repoListTags(...at, { limit: 50 })
    t.equal(tags.headers.get('x-total-count'), '3')
    t.match(tags.data, [
      { name: light, id: sha, commit: { sha }, message: 'a commit' },
      { name: annotated, id: tag, commit: { sha }, message: 'Grüße\n\nvon hier' },
      { name: 'of-a-tree', id: tree, commit: { sha: tree, created: '0001-01-01T00:00:00Z' }, message: '' },
    ])
    const all = await api.repoListAllGitRefs(...at)
    t.equal(all.data.length, ODD_NAMES.length + 2 + 3)
    const some = await api.repoListGitRefs(...at, 'tags/v1')
    t.match(some.data, [
      { ref: `refs/tags/${annotated}`, object: { type: 'tag', sha: tag } },
      { ref: `refs/tags/${light}`, object: { type: 'commit', sha } },
    ])
    // As Gitea has it, a ref that is named in full is no list.
    t.match((await api.repoListGitRefs(...at, 'heads/main')).data, { ref: 'refs/heads/main', object: { sha } })
    t.match((await api.repoListGitRefs(...at, 'heads/mai')).data, [{ ref: 'refs/heads/main' }])
    for (const name of [sha, 'main', 'heads/fix/a/b']) {
      const { data } = await api.repoGetSingleCommit(...at, name)
      t.match(data, { sha, commit: { message: 'a commit\n', tree: { sha: tree } }, parents: [], stats: { total: 0 } })
    }
    const person = await giteaApi(`${service.url}/gitea`, { token, customFetch: fetch }).users.userGet('bob')
    t.match(person.data, { login: 'bob', username: 'bob', visibility: 'public' })
  })
}

t.test('What is not there is 404 in the words of Gitea; pages lead to each other', async (t) => {
  const { service, directory, sha } = await hostCommit(t)
  const at = '/gitea/api/v1/repos/alice/hello'
  await makeRefs(directory)
  const missing = ['branches/gone', 'branches/main~1', 'git/refs/heads/gone', '../../../users/-x']
  for (const path of missing) {
    const { status, body } = await service.call('GET', `${at}/${path}`)
    t.match({ status, body }, { status: 404, body: { message: "The target couldn't be found." } }, path)
  }
  t.equal((await service.call('GET', `${at}/git/commits/${'e'.repeat(40)}`)).status, 404)
  await makeRepository(service.repositories, 'alice/empty', { public: true })
  t.equal((await service.call('GET', '/gitea/api/v1/repos/alice/empty/git/refs')).status, 404)
  t.strictSame((await service.call('GET', '/gitea/api/v1/repos/alice/empty/branches')).body, [])
  for (const [path, last] of [
    ['branches', 5],
    ['tags', 2],
    ['git/refs', 6],
    ['git/refs/heads', 5],
  ] as const) {
    const { headers } = await service.call('GET', `${at}/${path}?limit=2`)
    t.match(headers.get('link'), new RegExp(`<${service.url}${at}/${path}\\?page=${last}&limit=2>; rel="last"`))
  }
  const child = await commitFile(directory, 'one\ntwo\n', sha)
  await git('-C', directory, 'update-ref', 'refs/heads/child', child)
  t.match((await service.call('GET', `${at}/git/commits/child`)).body, {
    sha: child,
    parents: [{ sha, created: '0001-01-01T00:00:00Z' }],
    stats: { total: 2, additions: 2, deletions: 0 },
  })
  t.match((await service.call('GET', `${at}/branches/child`)).body, { user_can_push: false, user_can_merge: false })
})
