// What holds for branches, tags and other refs of every API.
import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { git, gitWithInput, makeRepositoryWithCommit } from '../../fixtures/git.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { makeRefs } from '../../fixtures/refs.js'

function pathsOf(name: string): string[] {
  const refs = ['git/ref/heads/main', 'git/matching-refs/heads', 'git/refs', 'git/refs/heads', 'git/refs/heads/main']
  const github = ['branches', 'branches/main', 'branches/gone', 'tags', ...refs]
  const gitea = ['branches', 'branches/main', 'branches/gone', 'tags', 'git/refs', 'git/refs/heads', 'git/commits/main']
  const gitlab = ['branches', 'branches/main', 'branches/gone', 'branches?search=a', 'tags']
  return [
    ...github.map((path) => `/api/v3/repos/${name}/${path}`),
    ...gitea.map((path) => `/gitea/api/v1/repos/${name}/${path}`),
    ...gitlab.map((path) => `/api/v4/projects/${encodeURIComponent(name)}/repository/${path}`),
  ]
}

t.test('Of a private repository nothing is said, to the byte', async (t) => {
  const { service } = await hostCommit(t)
  const { directory } = await makeRepositoryWithCommit(service.repositories, 'alice/private')
  await makeRefs(directory)
  for (const caller of [undefined, await service.tokenOf('mallory')]) {
    const ask = async (path: string) => {
      const { status, text } = await service.call('GET', path, { token: caller })
      return { status, text }
    }
    const missing = pathsOf('alice/missing')
    for (const [index, path] of pathsOf('alice/private').entries()) {
      const answer = await ask(path)
      t.strictSame(answer, await ask(String(missing[index])), path)
      t.equal(answer.status, caller === undefined ? 401 : 404, path)
    }
  }
})

t.test('Where git hangs in a repository, its refs are 503 within seconds, and others are read', async (t) => {
  const { service, directory } = await hostCommit(t)
  const other = await makeRepositoryWithCommit(service.repositories, 'alice/other', { public: true })
  await makeRefs(other.directory)
  execFileSync('mkfifo', [join(directory, 'pipe')])
  appendFileSync(join(directory, 'config'), `[include]\n\tpath = ${join(directory, 'pipe')}\n`)
  let hanging = true
  const hung = Promise.all(
    pathsOf('alice/hello').map(async (path) => (await service.call('GET', path)).status),
  ).finally(() => {
    hanging = false
  })
  for (const path of pathsOf('alice/other').filter((path) => path.endsWith('/branches')))
    t.equal((await service.call('GET', path)).status, 200, path)
  t.ok(hanging, 'meanwhile')
  t.strictSame([...new Set(await hung)], [503])
})

// Whoever may push could once keep everybody from the branches and tags of a repository.
t.test('A commit with very much text does not hide the branches and tags of others', async (t) => {
  const { service, directory } = await hostCommit(t)
  const large = await gitWithInput('x'.repeat(300_000), '-C', directory, 'commit-tree', 'main^{tree}')
  for (const ref of ['heads', 'tags']) await git('-C', directory, 'update-ref', `refs/${ref}/large`, large)
  for (const path of pathsOf('alice/hello').filter((path) => /\/(?:branches|tags)$/.test(path))) {
    const { status, text } = await service.call('GET', path)
    t.equal(status, 200, path)
    t.match(text, `"name":"large"`)
    if (path.endsWith('branches')) t.match(text, `"name":"main"`)
  }
})

t.test('A ref to what is not there hides no others; one that cannot be read is not left out', async (t) => {
  const { service, directory, sha } = await hostCommit(t)
  const gone = '7'.repeat(sha.length)
  const text = `object ${gone}\ntype commit\ntag gone\ntagger A <a@x> 1 +0000\n\nof nothing\n`
  const hash = ['-C', directory, 'hash-object', '--literally', '-wt', 'tag', '--stdin']
  await git('-C', directory, 'update-ref', 'refs/tags/gone-1', await gitWithInput(text, ...hash))
  await git('-C', directory, 'update-ref', 'refs/tags/v1', sha)
  // As git refuses to make them: what they named is gone.
  for (const name of ['heads/gone-2', 'tags/gone-3']) writeFileSync(join(directory, 'refs', name), `${gone}\n`)
  const list = async (path: string) => await service.call('GET', path)
  const lists = pathsOf('alice/hello').filter((path) => /\/(?:tags|branches|refs|heads)$/.test(path))
  for (const path of lists) {
    const { status, text } = await list(path)
    t.equal(status, 200, path)
    t.match(text, /"(?:name|ref)":"(?:refs\/(?:heads|tags)\/)?(?:main|v1)"/, path)
    // A branch of GitHub's list says no more than its id.
    if (path !== '/api/v3/repos/alice/hello/branches') t.notMatch(text, 'gone-', path)
  }
  t.match((await list('/api/v4/projects/alice%2Fhello/repository/branches')).text, '"merged":')

  const single = {
    '/api/v3/repos/alice/hello': [
      'branches/gone-2',
      'git/ref/tags/gone-1',
      'git/ref/heads/gone-2',
      'git/refs/tags/gone-3',
    ],
    '/gitea/api/v1/repos/alice/hello': ['branches/gone-2', 'commits/gone-3/status'],
    '/api/v4/projects/alice%2Fhello/repository': ['branches/gone-2', 'commits/gone-3'],
  }
  for (const [at, paths] of Object.entries(single))
    for (const path of paths) t.match(await list(`${at}/${path}`), { status: 404 }, `${at} ${path}`)

  const page = async (path: string) => {
    const answer = await fetch(`${service.url}/repos/alice/hello${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  for (const path of ['?ref=gone-2', '/commits/gone-3']) t.match(await page(path), { status: 404 }, path)
  t.match((await page('/badge.svg?ref=gone-2')).text, 'branch not found')
  const main = readFileSync(join(directory, 'HEAD'))
  writeFileSync(join(directory, 'HEAD'), 'ref: refs/heads/gone-2\n')
  t.match((await page('')).text, 'value="main"', 'where HEAD leads there, another branch is shown')
  writeFileSync(join(directory, 'HEAD'), main)

  const file = join(directory, 'objects', sha.slice(0, 2), sha.slice(2))
  chmodSync(file, 0o644)
  writeFileSync(file, 'damaged')
  for (const path of ['tags', 'git/matching-refs/heads'])
    t.equal((await list(`/api/v3/repos/alice/hello/${path}`)).status, 503, path)
})
