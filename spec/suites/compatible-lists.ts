import type { Test } from 'tap'
import { ApiClient, shown, type Dialect } from '../fixtures/api-client.js'
import { git, makeCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'

/** What every compatible API promises of its lists: refs, order, pages, conditions. */
export function compatibleListSuite(t: Test, dialect: Dialect): void {
  const { name, context, state, sizeParameter } = dialect

  t.test(`${name}: a list is of a branch, a tag or HEAD as well`, async (t) => {
    const { service, repository, directory, sha, token } = await hostCommit(t)
    const api = new ApiClient(service, dialect)
    const other = await makeCommit(directory, 'another', 'feature/a')
    await git('-C', directory, 'tag', '-a', '-m', 'a tag', 'v1.0', other)
    await api.report(repository, sha, token, { state: 'success', [context]: 'of main' })
    await api.report(repository, other, token, { state: 'success', [context]: 'of feature' })
    for (const ref of ['main', 'heads/main', 'refs/heads/main', 'refs%2Fheads%2Fmain', 'HEAD', sha.toUpperCase()])
      t.match(shown(await api.list(repository, ref)), [{ [context]: 'of main' }], ref)
    for (const ref of ['feature/a', 'feature%2Fa', 'v1.0', 'tags/v1.0'])
      t.match(shown(await api.list(repository, ref)), [{ [context]: 'of feature' }], ref)
  })

  t.test(`${name}: hostile refs are not found, and nothing happens`, async (t) => {
    const { service, repository, sha } = await hostCommit(t)
    const api = new ApiClient(service, dialect)
    const refs = [
      '--upload-pack=touch${IFS}x',
      '-q',
      '@{-1}',
      'main@{0}',
      'main..main',
      'main~1',
      ':/a',
      sha.slice(0, 8),
      'x'.repeat(5000),
      'ma\u0007in',
      '..',
      '../../other',
      'main\0',
      'nothing',
      'e'.repeat(40),
      'e'.repeat(64),
    ]
    for (const ref of refs) {
      const { status } = await api.list(repository, encodeURIComponent(ref))
      t.equal(status, 404, ref.slice(0, 30))
    }
  })

  t.test(`${name}: the newest report is first, and its number is another one than that before`, async (t) => {
    let now = Date.parse('2026-01-31T12:00:00.250Z')
    const { service, repository, sha, token, report } = await hostCommit(t, { clock: { now: () => (now += 1000) } })
    const api = new ApiClient(service, dialect)
    for (const one of ['b', 'c', 'a']) await report({ state: 'pending', context: one })
    t.strictSame(
      shown(await api.list(repository, sha)).map((status) => status[context]),
      ['a', 'c', 'b'],
    )
    const [, , before] = shown(await api.list(repository, sha))
    const reported = await api.report(repository, sha, token, { state: 'success', [context]: 'b' })
    const [after] = shown(await api.list(repository, sha))
    t.match(after, { [context]: 'b', [state]: 'success', id: reported.body['id'] })
    t.equal(before?.['id'] === after?.['id'], name === 'gitlab', 'GitLab keeps it')
    t.match(after?.['created_at'], name === 'gitlab' ? /:\d\d\.250Z$/ : /:\d\dZ$/)
  })

  t.test(`${name}: pages hold every status once, and lead to each other by absolute links`, async (t) => {
    let now = Date.parse('2026-01-31T12:00:00Z')
    const { service, repository, sha, token, report } = await hostCommit(t, { clock: { now: () => (now += 1000) } })
    const api = new ApiClient(service, dialect)
    for (let index = 0; index < 7; index++) await report({ state: 'success', context: `check-${index}` })
    const seen: unknown[] = []
    let next: string | undefined =
      `${service.url}${dialect.mount}${dialect.listPath(repository, 'main')}?${sizeParameter}=3`
    const links: (string | null)[] = []
    while (next !== undefined) {
      const response: Response = await fetch(next, { headers: { Authorization: `Bearer ${token}` } })
      seen.push(...((await response.json()) as Record<string, unknown>[]).map((status) => status[context]))
      links.push(response.headers.get('link'))
      next = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      if (next !== undefined) t.ok(next.startsWith(`${service.url}${dialect.mount}/`))
    }
    t.strictSame(
      seen,
      Array.from({ length: 7 }, (_, index) => `check-${6 - index}`),
    )
    t.match(links[1], /rel="prev".*rel="next".*rel="last".*rel="first"/)
    for (const query of ['?page=4', '?page=999999999', `?page=2&${sizeParameter}=50`].map((each) =>
      each.includes('=50') ? each : `${each}&${sizeParameter}=3`,
    ))
      t.strictSame(shown(await api.list(repository, sha, token, query)), [], query)
    for (const query of [
      '?page=0',
      '?page=-1',
      '?page=x',
      `?${sizeParameter}=0`,
      `?${sizeParameter}=1e9`,
      '?page=',
      '',
    ])
      t.equal(shown(await api.list(repository, sha, token, query)).length, 7, query)
    t.equal((await api.list(repository, sha, token)).headers.get('link'), null)
  })

  t.test(`${name}: whoever has the list gets 304, until something is reported`, async (t) => {
    const { service, repository, sha, token, report } = await hostCommit(t, { private: true })
    const api = new ApiClient(service, dialect)
    await report({ state: 'pending' })
    const etag = (await api.list(repository, sha, token)).headers.get('etag') ?? ''
    t.match(etag, /^"[\w-]{22}"$/)
    const conditional = async (query = '', caller: string | undefined = token) =>
      await api.call('GET', dialect.listPath(repository, sha) + query, {
        token: caller,
        headers: { 'If-None-Match': etag },
      })
    t.strictSame([(await conditional()).status, (await conditional()).text], [304, ''])
    t.equal((await conditional(`?${sizeParameter}=1`)).status, 200, 'another page is another list')
    t.equal((await conditional('', await service.tokenOf('stranger'))).status, 404)
    await report({ state: 'success' })
    t.match(await conditional(), { status: 200, body: [{ [state]: 'success' }] })
  })

  t.test(`${name}: a list that is too large for the memory is read in pages too`, async (t) => {
    let now = Date.parse('2026-01-31T12:00:00Z')
    const { service, repository, sha, report } = await hostCommit(t, { clock: { now: () => (now += 1000) } })
    const api = new ApiClient(service, dialect)
    const description = '\u0001'.repeat(1000)
    const most = 110
    for (let index = 0; index < most; index++)
      await report({ state: 'pending', context: `check-${index}`, description })
    const size = dialect.mostOnPage
    const first = shown(await api.list(repository, sha, undefined, `?${sizeParameter}=1000`))
    t.equal(first.length, size)
    t.match(first[0], { [context]: `check-${most - 1}`, description })
    const last = shown(await api.list(repository, sha, undefined, `?${sizeParameter}=50&page=3`))
    t.strictSame(last.map((status) => status[context]).at(-1), 'check-0')
    t.equal(last.length, 10)
  })

  t.test(`${name}: links begin with publicUrl, or with what a trusted proxy says`, async (t) => {
    const linked = async (options: Parameters<typeof hostCommit>[1], headers: Record<string, string>) => {
      const { service, repository, sha, token, report } = await hostCommit(t, options)
      for (const context of ['a', 'b']) await report({ state: 'success', context })
      const api = new ApiClient(service, dialect)
      const path = `${dialect.listPath(repository, sha)}?${sizeParameter}=1`
      const link = (await api.call('GET', path, { token, headers })).headers.get('link') ?? ''
      await service.close()
      return link.slice(1, link.indexOf(dialect.mount)).replace(service.url, 'OURS')
    }
    const forwarded = { 'X-Forwarded-Proto': 'ftp, https', 'X-Forwarded-Host': 'evil.example, Status.example.com:8443' }
    await t.test('publicUrl', async () => {
      const publicUrl = 'https://ci.example.com/x/'
      t.equal(await linked({ settings: { publicUrl } }, forwarded), 'https://ci.example.com/x')
    })
    await t.test('trusted', async () => {
      const trusted = await linked({ settings: { trustedProxies: ['127.0.0.1'] } }, forwarded)
      t.equal(trusted, 'https://status.example.com:8443')
    })
    await t.test('others', async () => {
      t.equal(await linked({}, forwarded), 'OURS')
    })
    await t.test('what is no host', async () => {
      const odd = { 'X-Forwarded-Host': 'a"><b', 'X-Forwarded-Proto': 'javascript' }
      t.equal(await linked({ settings: { trustedProxies: ['127.0.0.1'] } }, odd), 'http://localhost')
    })
  })
}
