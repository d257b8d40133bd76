import { hash } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { git, gitWithInput, makeCommit } from '../fixtures/git.js'
import { pagesOf, visit } from '../fixtures/visit.js'

t.test('A commit is shown with its state and every status', async (t) => {
  const { service, commit, sha, report } = await pagesOf(t)
  await report({ state: 'success', context: 'build', description: '42 tests', target_url: 'https://ci.example.com/1' })
  await report({ state: 'pending', context: 'lint' })
  await report({ state: 'failure', context: 'test' })
  const { status, text, headers } = await visit(service, commit)
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  for (const words of ['a commit', 'A U Thor', sha, '42 tests', '1 failure, 1 pending, 1 success', 'pending for '])
    t.ok(text.includes(words), words)
  t.match(text, 'href="https://ci.example.com/1" rel="noopener noreferrer nofollow"')
  t.ok(text.indexOf('>test<') < text.indexOf('>lint<'), 'what failed comes first')
  t.ok(text.indexOf('>lint<') < text.indexOf('>build<'))
  t.notMatch(text, /<script|style=| on[a-z]+=/)
})

t.test(
  'It says when each was reported, how long it took the last time, and for how long it has been pending',
  async (t) => {
    const clock = { time: Date.parse('2026-01-31T12:00:00Z'), now: () => clock.time }
    const { service, commit, report } = await pagesOf(t, { clock })
    const texts = async () => {
      const { text } = await visit(service, commit)
      const rows = text.match(/<span class="when">.*?<\/span>/gs) ?? []
      return rows.map((row) => row.replace(/<[^>]*>/g, ''))
    }
    const at = async (time: string, state: string) => {
      clock.time = Date.parse(`2026-01-31T${time}Z`)
      await report({ state })
      return await texts()
    }
    t.strictSame(await at('12:00:00', 'success'), ['alice · just now'], 'it never was pending')
    t.strictSame(await at('14:00:00', 'pending'), ['alice · pending for less than a minute'])
    t.strictSame(await at('14:02:00', 'pending'), ['alice · pending for 2 minutes'], 'still')
    t.strictSame(await at('14:03:05', 'failure'), ['alice · just now · took 3 min 5 s'], 'not since the first report')
    clock.time += 3_600_000
    t.strictSame(await texts(), ['alice · 60 minutes ago · took 3 min 5 s'])
    t.match((await visit(service, commit)).text, 'datetime="2026-01-31T14:03Z" title="2026-01-31 14:03 UTC"')
    t.strictSame(await at('15:04:59', 'error'), ['alice · just now'])
  },
)

t.test('It has the rest of the message, the parents, and the whole id in a place of its own', async (t) => {
  const { service, home, directory, sha } = await pagesOf(t)
  const of = async (message: string, ...parents: string[]) => {
    const tree = await git('-C', directory, 'rev-parse', 'main^{tree}')
    const given = parents.flatMap((parent) => ['-p', parent])
    const commit = await gitWithInput(message, '-C', directory, 'commit-tree', tree, ...given)
    return { commit, text: (await visit(service, `${home}/commits/${commit}`)).text }
  }
  const first = await visit(service, `${home}/commits/${sha}`)
  t.notMatch(first.text, /Parent|class="message"/)
  const short = await of('Subject\n\nWhy <b>\u202e\n  indented\n\nFixes: 7\n\n', sha)
  t.match(short.text, '>Why &lt;b&gt;\ufffd\n  indented\n\nFixes: 7</pre>')
  t.match(short.text, `>Parent <a class="sha" href="${sha}">${sha.slice(0, 10)}</a></span`)
  t.match(short.text, `<code class="id">${short.commit}</code>`)
  t.notMatch(short.text, '<details')
  const others = await Promise.all(['1', '2', '3', '4'].map(async (text) => (await of(text, sha)).commit))
  const merge = await of(`Merge\n\n${'a line\n'.repeat(7)}`, sha, ...others)
  t.match(merge.text, /<details>\s*<summary>Message<\/summary>/)
  t.match(merge.text, new RegExp(`Parents(?: <a[^>]*>\\w{10}</a>){4} …`))
  const long = await of(`Long\n\n${'x'.repeat(60).concat('\n').repeat(5000)}`, sha)
  t.match(long.text, /x\n…<\/pre>/)
  const wide = await of(`Wide\n\n${'"'.repeat(100_000)}\n${'\n'.repeat(200)}y`, sha)
  t.match(wide.text, `${'&quot;'.repeat(250)}…\n\n`)
  for (const { text } of [long, wide]) t.ok(Buffer.byteLength(text) <= 20_000)
  t.notMatch((await visit(service, `${home}/commits/${long.commit}?skip=1`)).text, 'xxx', 'on the first page alone')
})

t.test('It leads to the next commit of the default branch', async (t) => {
  const { service, home, directory, sha, commit } = await pagesOf(t)
  const next = await makeCommit(directory, 'next')
  const link = `>Next <a class="sha" href="${next}">${next.slice(0, 10)}</a></span`
  t.match((await visit(service, commit)).text, link)
  const latest = (await visit(service, `${home}/commits/${next}`)).text
  t.notMatch(latest, '>Next')
  t.match(latest, `>Parent <a class="sha" href="${sha}">`)
})

t.test('Without a default branch, or a history that can be read, there is none to lead to', async (t) => {
  const { service, home, directory, commit } = await pagesOf(t)
  await git('-C', directory, 'update-ref', '-d', 'refs/heads/main')
  t.notMatch((await visit(service, commit)).text, '>Next')
  const made = []
  for (const message of ['1', '2', '3']) made.push(await makeCommit(directory, message, 'other'))
  const [first = '', second = '', third = ''] = made
  rmSync(join(directory, 'objects', first.slice(0, 2), first.slice(2)))
  const { text } = await visit(service, `${home}/commits/${third}`)
  t.match(text, `>Parent <a class="sha" href="${second}">`)
  t.notMatch(text, '>Next')
})

t.test(
  'What is green is folded where there are more than ten, and the page itself is no link in its header',
  async (t) => {
    const { service, home, commit, sha, report } = await pagesOf(t)
    const contexts = Array.from({ length: 10 }, (_, index) => `c${index}`)
    for (const context of contexts) await report({ state: 'success', context })
    await report({ state: 'failure', context: 'red' })
    const ten = (await visit(service, commit)).text
    t.notMatch(ten, '<details')
    t.match(ten, `<b aria-current="page">${sha.slice(0, 10)}</b></nav>`)
    t.match((await visit(service, home)).text, '<b aria-current="page">alice/hello</b></nav>')
    await report({ state: 'success', context: 'green' })
    const eleven = (await visit(service, commit)).text
    t.match(eleven, /red<.*<details>\s*<summary>11 success<\/summary>.*>c0<.*>green<.*<\/details>/s)
    t.notMatch(eleven, /<details>.*red</s)
    t.match((await visit(service, `${commit}?skip=1`)).text, /<details open>\s*<summary>11 success/)
  },
)

t.test('It leads to the repository browser that the settings name, and every page has their title', async (t) => {
  const commitUrl = 'https://git.example.com/?p={repo}.git;a=commit&h={id}'
  const { service, commit, sha } = await pagesOf(t, { settings: { commitUrl, title: 'ACME' } })
  const { text } = await visit(service, commit)
  t.match(text, `<a href="https://git.example.com/?p=alice/hello.git;a=commit&amp;h=${sha}">`)
  for (const path of ['/', commit, '/sign-in', '/repos/x/y']) {
    const { text } = await visit(service, path)
    t.match(text, ' · ACME</title>', path)
    t.match(text, '<a class="site" href="/">ACME</a>', path)
  }
})

t.test('While nothing is reported it stays the same for a minute, and its fragment for ever', async (t) => {
  const clock = { time: Date.parse('2026-01-31T12:00:00Z'), now: () => clock.time }
  const { service, commit, report } = await pagesOf(t, { clock })
  await report({ state: 'pending' })
  const paths = [commit, `${commit}/fragment`]
  const tags = await Promise.all(paths.map(async (path) => (await visit(service, path)).headers.get('etag') ?? ''))
  const statuses = async () =>
    await Promise.all(
      paths.map(async (path, index) => {
        return (await visit(service, path, { headers: { 'If-None-Match': tags[index] ?? '' } })).status
      }),
    )
  clock.time += 59_999
  t.strictSame(await statuses(), [304, 304])
  clock.time += 3_600_000
  t.strictSame(await statuses(), [200, 304])
})

t.test('It is the same until something changes: 304', async (t) => {
  const { service, commit, report } = await pagesOf(t)
  const first = await visit(service, commit)
  const etag = first.headers.get('etag') ?? ''
  const known = async () => await visit(service, commit, { headers: { 'If-None-Match': etag } })
  const answer = await known()
  t.strictSame([answer.status, answer.text, answer.headers.get('content-type')], [304, '', null])
  t.equal(answer.headers.get('content-security-policy'), first.headers.get('content-security-policy'))
  await report({ state: 'success' })
  t.equal((await known()).status, 200)
})

t.test('It reloads itself while something is pending, unless that is stopped', async (t) => {
  const { service, commit, report } = await pagesOf(t)
  const refresh = async (path: string) => (await visit(service, path)).headers.get('refresh')
  t.equal(await refresh(commit), null)
  await report({ state: 'pending', context: 'a' })
  await report({ state: 'failure', context: 'b' })
  t.equal(await refresh(commit), '10')
  t.equal(await refresh(`${commit}?reload=off`), null)
  t.match((await visit(service, `${commit}?reload=off`)).text, 'Reload by itself')
  await report({ state: 'success', context: 'a' })
  t.equal(await refresh(commit), null)
})

t.test('Where nothing was reported, there is the line that would', async (t) => {
  const { service, commit, sha } = await pagesOf(t)
  const { text } = await visit(service, commit)
  t.match(text, `${service.url}/api/v1/repos/alice/hello/statuses/${sha}`)
  t.match(text, 'no status')
})

t.test('A page has 20 kB at most, whatever was reported; the rest is behind a link', async (t) => {
  const { service, commit, report } = await pagesOf(t)
  const target_url = `https://x.example/${'&'.repeat(2000)}`
  const contexts = Array.from({ length: 12 }, (_, index) => `${String(index).padStart(3, '0')}${'<'.repeat(252)}`)
  for (const context of contexts) await report({ state: 'error', context, description: '"'.repeat(1024), target_url })
  let [seen, path] = [0, commit]
  for (;;) {
    const { status, text } = await visit(service, path)
    t.equal(status, 200)
    t.ok(Buffer.byteLength(text) <= 20_000, `${Buffer.byteLength(text)}`)
    seen += text.match(/<li>/g)?.length ?? 0
    t.equal(text.includes(`<a href="${commit}" rel="prev">`), path !== commit, 'a way back')
    const [, next] = /href="([^"]*)" rel="next"/.exec(text) ?? []
    if (next === undefined) break
    path = next
  }
  t.equal(seen, 12)
  t.equal((await visit(service, `${commit}?skip=x`)).status, 404)
})

t.test('A list that is too large for a page has its counts, and what failed or is pending', async (t) => {
  const { service, commit, sha, report } = await pagesOf(t)
  const description = '\u{1F600}'.repeat(1024)
  const contexts = Array.from({ length: 300 }, (_, index) => `c${index}`)
  const each = async (state: string, some: readonly string[]) =>
    await Promise.all(some.map(async (context) => await report({ state, context, description })))
  await each('success', contexts)
  const all = await visit(service, commit)
  t.match(all.text, '<span>300 success</span>')
  t.match(all.text, '300 others are too many to be shown here')
  t.equal(all.headers.get('refresh'), null)
  const api = `/api/v1/repos/alice/hello/commits/${sha}/statuses`
  t.match(all.text, `href="${service.url}${api}"`)
  const beside = async () => (await visit(service, `${commit}/fragment`)).text
  t.match(await beside(), `<a href="${service.url}${commit}">300 more</a>`)
  t.notMatch(await beside(), '<ul>')
  await each('pending', contexts.slice(0, 150))
  await each('failure', ['c200'])
  for (const _ of ['read', 'remembered']) {
    const { text, headers } = await visit(service, commit)
    t.equal(headers.get('refresh'), '10')
    t.ok(Buffer.byteLength(text) <= 20_000)
    t.match(text, '1 failure, 150 pending, 149 success')
    t.match(text, '199 others are too many')
    t.match(text.split('<li>')[1], /failure.*c200.*alice<\/bdi> · /s)
    t.match(text.split('<li>')[2], /pending.*c0</s)
    t.match(text, 'rel="next"')
  }
  t.notMatch((await visit(service, `${commit}?skip=500`)).text, '<ul')
  // As many at a time as may be open: one that is refused keeps none of them.
  for (let time = 0; time < 65; time++) t.equal((await visit(service, `${commit}?skip=x`)).status, 404)
  t.equal((await visit(service, api)).status, 200)
  t.match(await beside(), /<li>[^<]*<span[^]*failure[^]*c200[^]*\d+ more<\/a>/)
})

t.test('Without git the statuses are shown all the same', async (t) => {
  const { service, commit, directory, sha, report } = await pagesOf(t)
  await report({ state: 'success' })
  await makeCommit(directory)
  // libgit2 has it open; git finds no repository.
  renameSync(`${directory}/HEAD`, `${directory}/HEAD.away`)
  const { status, text } = await visit(service, commit)
  t.strictSame([status, text.includes(`<h1>Commit ${sha.slice(0, 10)}</h1>`)], [200, true])
  t.match(service.log.at(-2), { msg: 'a commit is shown without what it says' })
})

t.test('What is wrong is a page in the words of the API', async (t) => {
  const { service, home, commit, sha } = await pagesOf(t)
  const of = async (path: string, method?: 'DELETE') => {
    const { status, text, headers } = await visit(service, path, method ? { method } : {})
    t.equal(headers.get('cache-control'), 'no-store')
    return [status, /<h1>(.*?)<\/h1>/.exec(text)?.[1] ?? text]
  }
  t.strictSame(await of(`${home}/commits/${'0'.repeat(40)}`), [404, 'Commit not found'])
  t.strictSame(await of(`${home}/commits/abc`), [404, 'Commit not found'])
  t.strictSame(await of('/repos/alice/missing'), [404, 'Repository not found'])
  t.strictSame(await of(`/repos/alice/missing/commits/${sha}`), [404, 'Repository not found'])
  t.strictSame(await of('/repos/alice'), [404, 'Not found'])
  t.strictSame(await of(`${commit}%ff`), [400, 'Malformed percent-encoding in the path'])
  t.strictSame(await of(commit, 'DELETE'), [405, 'Method not allowed'])
  const { headers } = await visit(service, home, { method: 'DELETE' })
  t.equal(headers.get('allow'), 'GET, HEAD')
  t.match(headers.get('content-security-policy'), "default-src 'none'")
})

t.test('A short id, a branch and a tag lead on to the full id', async (t) => {
  const { service, home, directory, sha, commit } = await pagesOf(t)
  await git('-C', directory, 'tag', 'v1', sha)
  await git('-C', directory, 'tag', 'tree', 'main^{tree}')
  const tree = await git('-C', directory, 'rev-parse', 'main^{tree}')
  const next = await makeCommit(directory, 'second', 'fix/x')
  const to = async (name: string) => {
    const { status, headers } = await visit(service, `${home}/commits/${name}`)
    return [status, headers.get('location'), headers.get('cache-control')]
  }
  const found = (path: string) => [303, path, 'no-store']
  for (const name of [sha.slice(0, 7), sha.slice(0, 39), sha.slice(0, 8).toUpperCase(), 'main', 'v1', 'HEAD'])
    t.strictSame(await to(name), found(commit), name)
  for (const name of ['fix/x', 'fix%2Fx', 'heads/fix/x', 'refs/heads/fix/x', next.slice(0, 7)])
    t.strictSame(await to(name), found(`${home}/commits/${next}`), name)
  t.strictSame(await to('main/?reload=off'), [308, `${home}/commits/main?reload=off`, 'no-store'])
  t.strictSame(await to('main?reload=off'), found(`${commit}?reload=off`))
  t.strictSame(await to('main/fragment?x'), found(`${commit}/fragment?x`))
  await git('-C', directory, 'branch', sha.slice(0, 7), next)
  // By another length: what a ref means is remembered for two seconds.
  await git('-C', directory, 'branch', sha.slice(0, 9), next)
  t.strictSame(await to(sha.slice(0, 9)), found(`${home}/commits/${next}`), 'a branch comes first, as in git')
  const none = [
    'gone',
    'tree',
    tree.slice(0, 7),
    sha.slice(0, 6),
    '0000000',
    `${sha.slice(0, 10)}~1`,
    'main..v1',
    '--all',
  ]
  for (const name of none) {
    const { status, text } = await visit(service, `${home}/commits/${name}`)
    t.strictSame([status, text.includes('<h1>Commit not found</h1>')], [404, true], name)
    t.match(text, `<a href="${home}">The commits of alice/hello</a>`)
  }
})

t.test('Where more than one commit begins with a short id, they are told', async (t) => {
  const { service, home, directory } = await pagesOf(t)
  const tree = await git('-C', directory, 'rev-parse', 'main^{tree}')
  const known = new Map<string, string>()
  // Two of some ten thousand begin with the same seven digits.
  const [one, other] = await (async () => {
    for (let at = 0; ; at++) {
      const commit = `tree ${tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\n${at}\n`
      const digits = hash('sha1', `commit ${commit.length}\0${commit}`).slice(0, 7)
      const before = known.get(digits)
      known.set(digits, commit)
      if (before === undefined) continue
      const write = async (text: string) =>
        await gitWithInput(text, '-C', directory, 'hash-object', '-w', '-t', 'commit', '--stdin')
      return [await write(before), await write(commit)]
    }
  })()
  t.equal(one.slice(0, 7), other.slice(0, 7))
  const { status, text, headers } = await visit(service, `${home}/commits/${one.slice(0, 7)}`)
  t.strictSame([status, headers.get('cache-control')], [404, 'no-store'])
  t.match(text, `More than one commit begins with ${one.slice(0, 7)}`)
  for (const sha of [one, other]) t.match(text, `href="${home}/commits/${sha}"`)
  t.match(text, `<a href="${home}">`)
})

t.test('A browser is told by a page of what is not there, a program by JSON', async (t) => {
  const { service } = await pagesOf(t)
  const of = async (path: string, accept: string) => {
    const { status, text, headers } = await visit(service, path, { headers: { Accept: accept } })
    return [status, headers.get('content-type')?.split(';')[0], text.includes('<h1>Not found</h1>')]
  }
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const [page, json] = [
    [404, 'text/html', true],
    [404, 'application/json', false],
  ]
  for (const path of ['/nonsense', '/favicon.ico', '/repos/x/', '/apiary'])
    t.strictSame(await of(path, browser), page, path)
  for (const path of ['/api', '/api/', '/api/v1/nonsense', '/api/v4/projects', '/x/api/v1/y', '/healthz/x'])
    t.strictSame(await of(path, browser), json, path)
  for (const accept of ['*/*', 'application/json', 'image/avif,image/webp']) {
    t.strictSame(await of('/nonsense', accept), json, accept)
  }
})

t.test('Crawlers find the repositories, and walk neither their commits nor their refs', async (t) => {
  const { service, home, commit } = await pagesOf(t, { settings: { publicUrl: 'https://x.example/status' } })
  const { status, text, headers } = await visit(service, '/status/robots.txt')
  t.strictSame([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
  t.equal((await visit(service, '/robots.txt')).text, text, 'also where a proxy takes the base off')
  const [agent, ...rules] = text.trimEnd().split('\n')
  t.equal(agent, 'User-agent: *')
  // As RFC 9309 says: from the beginning of a path, with any characters for a star.
  const patterns = rules.map((rule) => {
    const [, path = ''] = /^Disallow: (\/status\/.+)$/.exec(rule) ?? []
    return new RegExp(`^${path.replaceAll(/[.?]/g, '\\$&').replaceAll('*', '.*')}`)
  })
  const isWalked = (path: string): boolean => !patterns.some((pattern) => pattern.test(`/status${path}`))
  for (const path of ['/', home, '/style.css?x', '/icon.svg']) t.ok(isWalked(path), path)
  const others = ['/?q=a', `${home}?ref=a`, commit, `${home}/commits/main`, `${home}/badge.svg`, '/settings/tokens']
  for (const path of [...others, '/sign-in', `/api/v1/repos/alice/hello`]) t.notOk(isWalked(path), path)
})

t.test('A slash at the end leads to the page, and nowhere else', async (t) => {
  const { service, home, commit } = await pagesOf(t)
  const of = async (path: string) => {
    const { status, headers } = await visit(service, path)
    return [status, headers.get('location')]
  }
  t.strictSame(await of(`${home}/?ref=main&skip=1`), [308, `${home}?ref=main&skip=1`])
  t.strictSame(await of(`${commit}//`), [308, commit])
  t.strictSame(await of('/settings/tokens/'), [308, '/settings/tokens'])
  t.strictSame(await of('/sign-in/'), [308, '/sign-in'])
  t.strictSame(await of('/settings'), [303, '/settings/tokens'])
  t.strictSame(await of('/repos/alice/missing/'), [308, '/repos/alice/missing'], 'whether or not it is there')
  for (const path of ['/repos/alice/', '/repos//x/', '/repos/', '/style.css/']) t.equal((await of(path))[0], 404, path)
  for (const path of [`${service.url}//evil.example/`, `${service.url}//evil.example/repos/x/y/`])
    t.strictSame(await of(path), [404, null], path)
  t.equal((await visit(service, `${home}/`, { form: {} })).status, 405)
})

t.test('The fragment for other pages has nothing but texts and links', async (t) => {
  const { service, commit, report } = await pagesOf(t)
  await report({ state: 'failure', context: '<b>', description: '<i>', target_url: 'https://ci.example.com/' })
  await report({ state: 'success', context: 'without a link' })
  const { text } = await visit(service, `${commit}/fragment`)
  t.match(text, '</span> <bdi>without a link</bdi>')
  t.notMatch(text, 'more</a>')
  t.match(text, `<a href="${service.url}${commit}">Statuses</a>`)
  t.match(text, '&lt;b&gt;')
  t.notMatch(text, /<b>|<i>|<html/)
})

t.test('The fragment begins with what failed, and says how many more there are', async (t) => {
  const { service, commit, report } = await pagesOf(t)
  const description = 'x'.repeat(1000)
  const contexts = Array.from({ length: 30 }, (_, index) => `c${String(index).padStart(2, '0')}`)
  await Promise.all(contexts.map(async (context) => await report({ state: 'success', context, description })))
  await report({ state: 'failure', context: 'last' })
  await report({ state: 'pending', context: 'next to last' })
  const { text } = await visit(service, `${commit}/fragment`)
  const shown = Array.from(text.matchAll(/<\/span> <bdi>(c\d\d|last|next to last)/g), ([, context]) => context)
  t.strictSame(shown.slice(0, 4), ['last', 'next to last', 'c00', 'c01'])
  const rest = 32 - shown.length
  t.ok(rest > 0)
  t.match(text, `<a href="${service.url}${commit}?skip=${shown.length}">${rest} more</a>`)
  t.match(
    (await visit(service, `${commit}?skip=${shown.length}`)).text,
    `<strong><bdi>${contexts.at(shown.length - 2) ?? ''}`,
  )
})

t.test('The fragment is the same until something changes, and of each commit another', async (t) => {
  const { service, directory, home, commit, report } = await pagesOf(t)
  const tagOf = async (path: string) => (await visit(service, `${path}/fragment`)).headers.get('etag') ?? ''
  await report({ state: 'pending', context: 'build' })
  const before = await tagOf(commit)
  const again = async () =>
    (await visit(service, `${commit}/fragment`, { headers: { 'If-None-Match': before } })).status
  t.equal(await again(), 304)
  t.not(await tagOf(`${home}/commits/${await makeCommit(directory, 'second')}`), before)
  await report({ state: 'failure', context: 'build' })
  t.equal(await again(), 200)
})
