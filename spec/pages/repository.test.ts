import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { git, gitWithInput, makeCommit, makeRepository } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'
import { pagesOf, visit } from '../fixtures/visit.js'
import { until } from '../fixtures/within.js'

t.test('A repository shows the latest commits of its default branch, with their states', async (t) => {
  const { service, home, directory, sha, token, report } = await pagesOf(t)
  const silent = await makeCommit(directory, '\n')
  const second = await makeCommit(directory, 'second <b>')
  await report({ state: 'success' })
  await service.report('alice/hello', second, token, { state: 'failure' })
  const { status, text } = await visit(service, home)
  t.equal(status, 200)
  const rows = text.split('<li>').slice(1)
  t.match(rows[0], /failure.*second &lt;b&gt;/s)
  const [, link = ''] = /href="([^"]*)"/.exec(rows[0] ?? '') ?? []
  t.equal(new URL(link, service.url + home).pathname, `${home}/commits/${second}`)
  t.match(rows[1], `>${silent.slice(0, 10)}</a>`, 'one that says nothing has its id')
  t.match(rows[2], /success.*a commit/s)
  t.match(rows[2], sha.slice(0, 10))
})

t.test('A row of a commit that failed says what failed, of how many', async (t) => {
  const { service, home, directory, token } = await pagesOf(t)
  const sha = await makeCommit(directory, 'breaks much')
  const report = async (state: string, ...contexts: string[]) => {
    for (const context of contexts) await service.report('alice/hello', sha, token, { state, context })
  }
  const texts = async () =>
    await Promise.all(
      ['/', home].map(async (path) => {
        const [found = ''] = /<span class="failed">.*?<\/span>/s.exec((await visit(service, path)).text) ?? []
        return found.replace(/<[^>]*>/g, '')
      }),
    )
  const both = (text: string) => [text, text]
  await report('success', 'build', 'lint')
  await report('pending', 'docs')
  t.strictSame(await texts(), both(''))
  await report('error', 'test/integration')
  await report('failure', 'deploy/staging')
  t.strictSame(await texts(), both('2 of 5 failed: deploy/staging, test/integration'))
  await report('failure', '<b>', `a${'x'.repeat(254)}`)
  const names = `&lt;b&gt;, a${'x'.repeat(39)}…, deploy/staging`
  t.strictSame(await texts(), both(`4 of 7 failed: ${names}, …`), 'the first three')
  await report('failure', ...Array.from({ length: 20 }, (_, at) => `z${at}`))
  t.strictSame(await texts(), both(`20 or more of 27 failed: ${names}, …`))
})

t.test('Of any branch or tag; one that is not there is said to be', async (t) => {
  const { service, home, directory, sha } = await pagesOf(t)
  await git('-C', directory, 'tag', 'v1', sha)
  const other = await makeCommit(directory, 'on a branch', 'fix/x')
  const of = async (ref: string) => await visit(service, `${home}?ref=${encodeURIComponent(ref)}`)
  t.match((await of('v1')).text, sha)
  t.match((await of('fix/x')).text, other)
  t.match((await of('fix/x')).text, '<option value="fix/x">')
  t.notMatch((await of('fix/x')).text, sha)
  for (const ref of ['missing', '--all', 'v1..main', '@{-1}', '-1', '../x', 'v1\n', 'x'.repeat(5000)]) {
    const { status, text } = await of(ref)
    t.strictSame([status, text.includes('<h1>Branch or tag not found</h1>')], [404, true], ref)
  }
  const tree = await git('-C', directory, 'rev-parse', `${sha}^{tree}`)
  await git('-C', directory, 'tag', 'tree', tree)
  t.equal((await of('tree')).status, 404, 'a tag of a tree is no commit')
})

t.test('Branches have a page of their own, with the state of each, and are no news to strangers', async (t) => {
  const { service, home, directory, sha, token, report } = await pagesOf(t)
  const other = await makeCommit(directory, 'on a branch', 'fix/<x>')
  await report({ state: 'success' })
  await service.report('alice/hello', other, token, { state: 'failure', context: 'build' })
  t.match((await visit(service, home)).text, `href="${home}/branches"`)
  const { status, text } = await visit(service, `${home}/branches`)
  t.equal(status, 200)
  const [first, second, ...none] = text.split('<li>').slice(1)
  t.strictSame(none, [])
  t.match(first, /failure.*ref=fix%2F%3Cx%3E".*fix\/&lt;x&gt;.*1 of 1 failed: <bdi>build</s)
  t.match(first, `${home}/commits/${other}`)
  t.match(second, /success.*ref=main"/s)
  t.match(second, `${home}/commits/${sha}`)
  t.notMatch(text, 'These are the first')
  for (const path of ['/repos/alice/missing/branches', '/repos/bob/hello/branches'])
    t.equal((await visit(service, path)).status, 404, path)

  const lines = Array.from({ length: 60 }, (_, at) => `create refs/heads/b${String(at).padStart(2, '0')} ${sha}\n`)
  await gitWithInput(lines.join(''), '-C', directory, 'update-ref', '--stdin')
  await until(async () => (await visit(service, `${home}/branches`)).text.includes('These are the first 50, by name'))
})

t.test('A repository without a branch says so', async (t) => {
  const { service } = await pagesOf(t)
  await makeRepository(service.repositories, 'alice/empty', { public: true })
  t.match((await visit(service, '/repos/alice/empty/branches')).text, 'There is no branch yet.')
})

/** Adds commits with these subjects, the last of them the latest. */
async function commitEach(directory: string, subjects: readonly string[], author = 'x'): Promise<void> {
  const lines = subjects.map((subject, at) => [
    'commit refs/heads/main',
    `committer ${author} <x@x> ${1_800_000_000 + at} +0000`,
    `data ${Buffer.byteLength(subject)}`,
    subject,
    ...(at === 0 ? ['from refs/heads/main^0'] : []),
    '',
  ])
  await gitWithInput(lines.flat().join('\n'), '-C', directory, 'fast-import', '--quiet')
}

for (const format of ['sha1', 'sha256'] as const) {
  t.test(`A page has forty commits, the older ones are behind a link: ${format}`, async (t) => {
    const { service, home, directory, token } = await pagesOf(t, { format })
    const subjects = Array.from({ length: 60 }, (_, at) => `c${at + 1} ${'a subject of a good length '.repeat(3)}`)
    const latest = subjects.map((subject) => subject.slice(0, 72))
    await commitEach(directory, latest, 'Bartholomew Winterbottom')
    for (const sha of (await git('-C', directory, 'rev-list', 'main')).split('\n'))
      await service.report('alice/hello', sha, token, { state: 'success' })
    const first = (await visit(service, home)).text
    const count = (text: string): number => text.split('<li>').length - 1
    t.equal(count(first), 40)
    t.ok(Buffer.byteLength(first) <= 20_000, `${Buffer.byteLength(first)} bytes`)
    const [, next = ''] = /href="([^"]*)" rel="next"/.exec(first) ?? []
    t.equal(next, `${home}?ref=main&amp;skip=40`)
    const second = (await visit(service, next.replaceAll('&amp;', '&'))).text
    t.equal(count(second), 21)
    t.notMatch(second, 'rel="next"')
    t.match(second, `<a href="${home}?ref=main" rel="prev">Newer commits</a>`)
    t.notMatch(first, 'rel="prev"')
    const none = (await visit(service, `${home}?ref=main&skip=500`)).text
    t.match(none, 'There are no more commits.')
    t.match(none, `<a href="${home}?ref=main&amp;skip=460" rel="prev">`)
  })
}

t.test('A long history can be followed to its end', async (t) => {
  const { service, home, directory, sha } = await pagesOf(t)
  await commitEach(
    directory,
    Array.from({ length: 100_020 }, () => 'x'),
  )
  const { status, text } = await visit(service, `${home}?ref=main&skip=100000`)
  t.strictSame([status, text.split('<li>').length - 1, text.includes(sha)], [200, 21, true])
  t.equal((await visit(service, `${home}?skip=12345678`)).status, 404)
})

t.test('Where subjects are longer there are fewer, and none is passed over', async (t) => {
  const { service, home, directory } = await pagesOf(t)
  await commitEach(
    directory,
    Array.from({ length: 60 }, (_, at) => `${at} ${'&'.repeat(190)}`),
  )
  const ids: string[] = []
  let path = home
  for (;;) {
    const { text } = await visit(service, path)
    t.ok(Buffer.byteLength(text) <= 20_000, `${Buffer.byteLength(text)} bytes`)
    ids.push(...[...text.matchAll(/href="hello\/commits\/(\w+)"/g)].map(([, sha = '']) => sha))
    const [, next] = /href="([^"]*)" rel="next"/.exec(text) ?? []
    if (next === undefined) break
    path = next.replaceAll('&amp;', '&')
  }
  t.strictSame(ids, (await git('-C', directory, 'rev-list', 'main')).split('\n'))
})

t.test('A subject of nothing but accents keeps no page from being shown', async (t) => {
  const { service, home, directory, sha, report } = await pagesOf(t)
  await report({ state: 'success' })
  const accents = [140_000, 20_000].map((count) => `a${'\u0301'.repeat(count)}`)
  await commitEach(directory, accents, `b${'\u0301'.repeat(20_000)}`)
  const latest = await git('-C', directory, 'rev-parse', 'main')
  for (const path of ['/', home, `${home}/commits/${latest}`, `${home}/commits/${latest}/fragment`]) {
    const { status, text } = await visit(service, path)
    t.equal(status, 200, path)
    t.ok(Buffer.byteLength(text) <= 20_000, `${path}: ${Buffer.byteLength(text)} bytes`)
  }
  t.match((await visit(service, home)).text, `commits/${sha}`)
  t.match((await visit(service, `${home}/badge.svg?settled`)).text, 'passing')
})

t.test('One without a commit says so, with the line that pushes one', async (t) => {
  const { service } = await pagesOf(t)
  await makeRepository(service.repositories, 'alice/empty', { public: true })
  const { status, text } = await visit(service, '/repos/alice/empty')
  t.equal(status, 200)
  t.match(text, 'There is no commit yet.')
  t.notMatch(text, '<form class="bar"')
  t.match(text, `git push ${service.repositories}/alice/empty.git HEAD:refs/heads/main`)
  const proxied = await visit(service, '/repos/alice/empty', { headers: { 'X-Forwarded-For': '192.0.2.1' } })
  t.match(proxied.text, 'git push /path/of/the/repositories/alice/empty.git')
  const directory = await makeRepository(service.repositories, 'alice/tree', { public: true })
  const tree = await git('-C', directory, 'hash-object', '-t', 'tree', '-w', '/dev/null')
  writeFileSync(`${directory}/HEAD`, `${tree}\n`)
  const other = (await visit(service, '/repos/alice/tree')).text
  t.ok(other.includes('There is no commit yet.') && other.includes('HEAD:refs/heads/main'), 'nor has a HEAD of a tree')
})

t.test('Where the default branch has no commit yet, another one is shown', async (t) => {
  const { service } = await pagesOf(t)
  const directory = await makeRepository(service.repositories, 'alice/other', { public: true })
  const sha = await makeCommit(directory, 'on another branch', 'trunk')
  const { text } = await visit(service, '/repos/alice/other')
  t.match(text, sha)
  t.match(text, 'value="trunk"')
  await service.report('alice/other', sha, await service.tokenOf('alice'), { state: 'success' })
  t.match((await visit(service, '/?q=other')).text, /success.*alice\/other.*on another branch.*trunk/s)
  t.match((await visit(service, '/repos/alice/other/badge.svg')).text, 'passing')
})

t.test('The home page lists what one may read, by name, with the state of the default branch', async (t) => {
  const { service, report } = await pagesOf(t)
  await report({ state: 'pending' })
  await makeRepository(service.repositories, 'bob/tools', { public: true })
  await makeRepository(service.repositories, 'bob/secret')
  const { text } = await visit(service, '/')
  t.match(text, /pending.*alice\/hello.*a commit.*no status.*bob\/tools.*no commit yet/s)
  t.notMatch(text, 'bob/secret')
  const found = (await visit(service, '/?q=TOOL')).text
  t.match(found, 'bob/tools')
  t.notMatch(found, 'alice/hello')
  t.match(
    (await visit(service, '/?q=%3Cb%3E')).text,
    'No repository that you may read has “<bdi>&lt;b&gt;</bdi>” in its name',
  )
})

t.test('More repositories are behind a link; one that cannot be read does not hide the others', async (t) => {
  const { service } = await pagesOf(t)
  const names = Array.from({ length: 24 }, (_, at) => `zoe/r${String(at).padStart(2, '0')}`)
  for (const name of names) await makeRepository(service.repositories, name, { public: true })
  rmSync(`${service.repositories}/zoe/r00.git/HEAD`)
  mkdirSync(`${service.repositories}/zoe/r00.git/HEAD`)
  symlinkSync('circle.git', `${service.repositories}/zoe/circle.git`)
  const { text } = await visit(service, '/')
  t.match(text, 'zoe/r18')
  t.notMatch(text, 'zoe/r19')
  const [, next = ''] = /href="(\/\?after=[^"]*)"/.exec(text) ?? []
  t.equal(next, '/?after=zoe%2Fr18')
  const behind = (await visit(service, next)).text
  t.match(behind, /zoe\/r19.*zoe\/r23/s)
  t.match(behind, '<a href="/" rel="prev">')
  t.match((await visit(service, '/?q=ZOE&after=zoe%2Fr19')).text, '<a href="/?q=ZOE" rel="prev">')
  t.match((await visit(service, '/?q=ZOE')).text, 'href="/?q=ZOE&amp;after=zoe%2Fr19"')
  for (const told of ['a repository is shown without its state', 'a part of the folder of repositories cannot be read'])
    t.ok(
      service.log.some(({ msg }) => msg === told),
      told,
    )
})

t.test('With none yet, the lines that make the first one stand there', async (t) => {
  const { startService } = await import('../fixtures/service.js')
  const service = await startService(t)
  const { text } = await visit(service, '/')
  t.match(text, `git init --bare --initial-branch=main ${service.repositories}/alice/hello.git`)
  t.match(text, '/path/of/commit-status/scripts/commit-status token create')
  t.notMatch(text, /<p(?: [^>]*)?>(?:(?!<\/p>).)*<p[ >]/s, 'no paragraph is in another')
  const proxied = await visit(service, '/', { headers: { 'X-Forwarded-For': '192.0.2.1' } })
  t.notMatch(proxied.text, service.repositories, 'others are not told where the repositories are')
  await service.close()
  const behind = await startService(t, { settings: { trustedProxies: ['127.0.0.1'] } })
  t.notMatch(
    (await visit(behind, '/')).text,
    behind.repositories,
    'nor who comes through a proxy that does not say whom',
  )
})

t.test('They work as they stand there, in a checkout elsewhere', { skip: await missing('curl') }, async (t) => {
  const place = new CommandPlace(join(t.testdir(), "a folder's"))
  const service = await place.serve(t)
  const { text } = await visit(service, '/')
  const [, shown = ''] = /<code>(.*?)<\/code>/s.exec(text) ?? []
  const entities: Record<string, string> = { '&quot;': '"', '&#39;': "'", '&lt;': '<', '&gt;': '>', '&amp;': '&' }
  const lines = shown.replaceAll(/&[^;]+;/g, (entity) => entities[entity] ?? entity)
  t.equal(lines.split('\n').length, 4)
  const checkout = join(t.testdirName, 'checkout')
  await git('init', '--quiet', checkout)
  await git('-C', checkout, 'commit', '--quiet', '--allow-empty', '-m', 'The first')
  // By `env`, since tap puts into every environment what its own processes need.
  const shell = async (script: string) =>
    await promisify(execFile)('env', ['-i', `PATH=${process.env['PATH']}`, 'sh', '-euc', script], { cwd: checkout })
  t.match((await shell(lines)).stdout, '"state":"success"')
  const [, command = ''] = /^TOKEN=\$\((.*) token create alice/m.exec(lines) ?? []
  await shell(`${command} repo public alice/hello`)
  t.match((await visit(service, '/')).text, /success.*alice\/hello/s)
})

t.test('A repository that cannot be read is 503, as in the API', async (t) => {
  const { service, home, directory } = await pagesOf(t)
  appendFileSync(`${directory}/config`, '[broken\n')
  for (const path of [home, `${home}?ref=main`, `${home}/badge.svg?ref=main`]) {
    const { status, text, headers } = await visit(service, path)
    t.match([status, text], [503, 'The repository cannot be read at the moment'], path)
    t.match(headers.get('retry-after'), /^\d+$/)
  }
})
