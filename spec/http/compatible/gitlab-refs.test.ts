import { Gitlab } from '@gitbeaker/rest'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { shown } from '../../fixtures/api-client.js'
import { git, makeCommit, makeRepositoryWithCommit } from '../../fixtures/git.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { makeRefs, ODD_NAMES } from '../../fixtures/refs.js'

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`@gitbeaker/rest reads branches and tags, of ${format}`, async (t) => {
    const { service, directory, sha, token } = await hostCommit(t, { private: true, format })
    const { annotated, light, tag, tree } = await makeRefs(directory)
    const api = new Gitlab({ host: service.url, token })
    const { id } = await api.Projects.show('alice/hello')
    const branches = await api.Branches.all(id, { perPage: 2 })
    t.strictSame(
      branches.map((branch) => [branch.name, branch.commit.id, branch.protected, branch.default]),
      [...ODD_NAMES, 'main', 'protected'].sort().map((name) => [name, sha, name === 'protected', name === 'main']),
    )
    for (const branch of [...ODD_NAMES, 'main']) {
      t.match(await api.Branches.show('alice/hello', branch), {
        name: branch,
        commit: { id: sha, title: 'a commit', parent_ids: [] },
        merged: false,
        can_push: true,
      })
    }
    const search = async (text: string) => (await api.Branches.all(id, { search: text })).map(({ name }) => name)
    t.strictSame(await search('FIX'), ['fix/50%', 'fix/a%2Fb', 'fix/a/b'])
    t.strictSame(await search('^ma'), ['main'])
    t.strictSame(await search('ed$'), ['protected'])
    t.strictSame(await search('none'), [])
    t.match(await api.Tags.all(id), [
      { name: light, target: sha, message: null, commit: { id: sha }, protected: false, created_at: null },
      { name: annotated, target: tag, message: 'Grüße\n\nvon hier', commit: { id: sha }, created_at: /^\d.*Z$/ },
      { name: 'of-a-tree', target: tree, commit: null },
    ])
    t.match(await api.Tags.all(id, { search: 'v1', sort: 'asc' }), [{ name: annotated }, { name: light }])
    await t.rejects(api.Branches.show(id, 'gone'), { cause: { description: '404 Branch Not Found' } })
  })
}

t.test('Pages have the headers of every list; unknown addresses stay unknown', async (t) => {
  const { service, directory } = await hostCommit(t)
  await makeRefs(directory)
  const at = '/api/v4/projects/alice%2Fhello/repository'
  const { headers } = await service.call('GET', `${at}/branches?per_page=2&page=2&search=fix`)
  t.match(headers.get('link'), `${service.url}${at}/branches?search=fix&page=1&per_page=2>; rel="prev"`)
  t.strictSame([headers.get('x-total'), headers.get('x-total-pages'), headers.get('x-next-page')], ['3', '2', ''])
  t.match((await service.call('GET', `${at}/tags?per_page=1&sort=asc`)).headers.get('link'), /tags\?sort=asc&page=2/)
  t.match((await service.call('GET', `${at}/files`)).body, { message: '404 Not Found' })
})

t.test('A branch is merged when the default branch has all of it', async (t) => {
  const { service, directory, sha } = await hostCommit(t)
  const later = await makeCommit(directory, 'later', 'main')
  await git('-C', directory, 'update-ref', 'refs/heads/old', sha)
  await git('-C', directory, 'update-ref', 'refs/heads/same', later)
  await makeCommit(directory, 'beside', 'old-but-not-in-it')
  const at = '/api/v4/projects/alice%2Fhello/repository/branches'
  const merged = async (): Promise<unknown> => {
    const branches = shown(await service.call('GET', at))
    return branches.map((branch) => [branch['name'], branch['merged']])
  }
  const expected = [
    ['main', false],
    ['old', true],
    ['old-but-not-in-it', false],
    ['same', false],
  ]
  t.strictSame(await merged(), expected)
  t.strictSame(await merged(), expected, 'remembered')
  t.match((await service.call('GET', `${at}/old`)).body, { merged: true, default: false })
  const other = await makeRepositoryWithCommit(service.repositories, 'alice/other', { public: true })
  writeFileSync(`${other.directory}/HEAD`, 'ref: refs/heads/unborn\n')
  const unborn = await service.call('GET', `${at.replace('hello', 'other')}/main`)
  t.match(unborn.body, { merged: false, default: false }, 'into what is not there')
})
