import t from 'tap'
import { readSettings } from '../../lib/stand-alone/settings.js'
import { git, gitWithInput, makeRepositoryWithCommit } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'
import { signIn, visit } from '../fixtures/visit.js'

t.setTimeout(120_000)

/** Each character takes six bytes in a page. */
const quotes = (count: number): string => '"'.repeat(count)

t.test('Every page has 20 kB at most, whatever the texts in it, and nothing is passed over', async (t) => {
  const { limits } = readSettings({ environment: {}, home: '/', directory: '/' })
  const service = await startService(t, {
    settings: {
      title: quotes(60),
      commitUrl: `https://${'x'.repeat(480)}/{repo}/{id}`,
      limits: { ...limits, tokens: 200 },
    },
  })
  const owner = 'o'.repeat(100)
  const names = Array.from({ length: 25 }, (_, at) => `${owner}/${String(at).padStart(2, '0')}${'r'.repeat(98)}`)
  const [name = ''] = names
  const token = await service.tokenOf(owner)
  const longRef = Array.from({ length: 5 }, () => quotes(170)).join('/')
  for (const each of names) {
    const { directory, sha } = await makeRepositoryWithCommit(service.repositories, each, { public: true })
    const head = `committer ${quotes(100)} <x@x> 1800000000 +0000\ndata 2402\n${quotes(200)}\n\n${quotes(2200)}\n`
    const commits = Array.from({ length: 60 }, (_, at) => {
      return `commit refs/heads/main\n${head}${at === 0 ? `from ${sha}\n` : ''}`
    })
    await gitWithInput(commits.join('\n'), '-C', directory, 'fast-import', '--quiet')
    const refs = Array.from({ length: 50 }, (_, at) => `create refs/heads/a${at}${'&"'.repeat(45)} ${sha}\n`)
    refs.push(`create refs/heads/${longRef} main\n`)
    await gitWithInput(refs.join(''), '-C', directory, 'update-ref', '--stdin')
  }
  const sha = await git('-C', `${service.repositories}/${name}.git`, 'rev-parse', 'main')
  for (let at = 0; at < 5; at++) {
    const { status } = await service.report(name, sha, token, {
      state: 'error',
      context: `${at}${quotes(254)}`,
      description: quotes(1024),
      target_url: `https://x.example/${'&'.repeat(2030)}`,
    })
    t.equal(status, 201)
  }
  await service.report(name, sha, token, { state: 'success', context: 'z'.repeat(255) })
  for (let at = 0; at < 130; at++) {
    const repositories = at === 0 ? names : [name]
    const contexts = at < 3 ? Array.from({ length: 60 }, (_, each) => `${each}${quotes(200)}`) : ['build']
    const about = { user: owner, name: quotes(100), scopes: ['repo'], expiresAt: null, repositories, contexts }
    await service.admin.createToken(about)
  }
  const [{ id } = { id: '' }] = await service.admin.listTokens(owner)
  const cookie = await signIn(service, owner)

  /** Of a page and those behind its link to the next one: how many rows there are. */
  const rowsOf = async (path: string, wanted = 200): Promise<number> => {
    const { status, text } = await visit(service, path, { cookie })
    t.equal(status, wanted, path.slice(0, 300))
    t.ok(Buffer.byteLength(text) <= 20_000, `${path.slice(0, 300)}: ${Buffer.byteLength(text)} bytes`)
    const [, next] = /href="([^"]*)" rel="next"/.exec(text) ?? []
    const more = next === undefined ? 0 : await rowsOf(next.replaceAll('&amp;', '&'))
    return text.split('<li>').length - 1 + more
  }
  const home = `/repos/${name}`
  t.equal(await rowsOf('/'), 25)
  t.equal(await rowsOf('/?q=RR'), 25)
  t.equal(await rowsOf(`/?q=${encodeURIComponent(quotes(201))}`), 0)
  t.equal(await rowsOf(home), 61)
  t.equal(await rowsOf(`${home}?ref=${encodeURIComponent(longRef)}`), 61)
  t.equal(await rowsOf(`${home}/commits/${sha}`), 6)
  t.equal(await rowsOf('/settings/tokens'), 131)
  t.equal(await rowsOf(`/settings/tokens/${id}/revoke`), 0)
  t.equal(await rowsOf(`${home}?ref=${encodeURIComponent(quotes(5000))}`, 404), 0)
})
