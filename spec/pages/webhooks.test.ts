import t, { type Test } from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { receiver } from '../fixtures/receiver.js'
import { pagesOf, signIn, visit } from '../fixtures/visit.js'
import { until } from '../fixtures/within.js'

const secret = 'dictated-by-the-receiver'

/** A repository with pages, and a way to make hooks on it. */
async function world(t: Test) {
  const clock = { now: () => Date.parse('2026-01-31T12:00:00Z') }
  const mail = { server: 'smtp://127.0.0.1:1', sender: 'ci@example.com' }
  const hosted = await pagesOf(t, { clock, settings: { mail } })
  const { service, home } = hosted
  const hook = async (url: string, more: object = {}): Promise<string> =>
    (await service.admin.createHook({ on: 'alice/hello', url, format: 'github', secret, ...more })).id
  const page = async (cookie?: string, query = '') =>
    await visit(service, `${home}/webhooks${query}`, cookie === undefined ? {} : { cookie })
  const alice = await signIn(service, 'alice')
  /** What a row says, without its tags. */
  const rowOf = async (text: string) => {
    const rows = (await page(alice)).text.split('<li>').slice(1)
    const found = rows.filter((row) => row.includes(text)).map((row) => row.replace(/<\/li>[^]*/, ''))
    t.equal(found.length, 1, text)
    return found
      .join('')
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
  }
  return { ...hosted, hook, page, alice, rowOf }
}

t.test('Who may write sees where the webhooks of a repository lead, and how they do', async (t) => {
  const { service, hook, page, alice, rowOf, report, home } = await world(t)
  t.match((await page(alice)).text, 'There is none.')
  t.match((await visit(service, home, { cookie: alice })).text, `<a href="${home}/webhooks">Webhooks</a>`)
  const [good, bad, gone] = [
    await receiver(t),
    await receiver(t, (response) => response.writeHead(500).end()),
    await receiver(t, (response) => response.writeHead(410).end()),
  ]
  const ids = {
    good: await hook(`${good.url}/secret/path?token=1`, { contexts: ['ci/*', 'build'], branches: ['main'] }),
    bad: await hook(bad.url),
    gone: await hook(gone.url),
    paused: await hook('https://paused.example/x'),
    mail: await hook('mailto:alice@team.example,bob@team.example,eve@example.com'),
  }
  await service.admin.pauseHook(ids.paused)
  t.match(await rowOf(ids.good), 'nothing sent yet')
  await report({ state: 'success', context: 'build' })
  await until(async () => {
    const hooks = await service.admin.listHooks(null)
    return hooks.filter(({ last }) => last).length === 3 && hooks.filter(({ waiting }) => waiting > 0).length === 2
  })
  const host = `127.0.0.1:${good.port}`
  t.match(
    await rowOf(ids.good),
    new RegExp(
      `^✓ active ${host} ${ids.good} status · contexts ci/\\*, build · branches main just now: delivered · \\d+ ms$`,
    ),
  )
  t.match(
    await rowOf(ids.bad),
    /status Failing for less than a minute Next try .* 1 waiting for less than a minute just now: the answer was 500/,
  )
  t.match(await rowOf(ids.bad), /^✗ failing 127.* \d+ ms$/)
  t.match(
    await rowOf(ids.gone),
    /^! stopped .* Stopped: its receiver wants no more \(410\) just now: the answer was 410/,
  )
  t.match(await rowOf(ids.paused), /^● paused paused\.example \S+ status 1 waiting for .* nothing sent yet$/)
  t.match(await rowOf(ids.mail), /^✓ active mail to team\.example, example\.com \S+ broken, fixed nothing sent yet$/)
  const { text, headers } = await page(alice)
  t.notMatch(text, /secret|token=|alice@|dictated/)
  t.equal(headers.get('cache-control'), 'no-store')
})

t.test('Why nothing was answered is for admins alone', async (t) => {
  const { service, hook, page, alice, rowOf, report } = await world(t)
  await hook('http://localhost:1/secret')
  await report({ state: 'success', context: 'build' })
  await until(async () => (await service.admin.listHooks(null))[0]?.last !== undefined)
  t.match(await service.admin.listHooks(null), [{ last: { reason: /ECONNREFUSED.*:1/ } }])
  t.match(await rowOf('localhost:1'), /just now: not delivered · \d+ ms$/)
  t.notMatch((await page(alice)).text, 'ECONNREFUSED')
})

t.test('Of webhooks that are on more than the repository, the host and the state are shown', async (t) => {
  const { service, hook, page, alice, rowOf, repository } = await world(t)
  const id = await hook('https://all.example/secret', { on: '*', contexts: ['hidden/context'] })
  await hook('https://owner.example/secret', { on: 'alice/*' })
  await service.admin.pauseHook(id)
  await hook('https://else.example/secret', { on: 'alice/other' })
  await hook('https://bob.example/secret', { on: 'bob/*' })
  await hook('https://own.example/secret')
  const { text } = await page(alice)
  const [own = -1, all = -1, owner = -1] = ['own.', 'all.', 'owner.'].map((host) => text.indexOf(`${host}example`))
  t.ok(own > 0 && own < all && own < owner, 'its own come first')
  t.notMatch(text, /else\.example|bob\.example/)
  t.equal(await rowOf('all.example'), '● paused all.example On more than this repository')
  t.equal(await rowOf('owner.example'), '✓ active owner.example On more than this repository')
  t.notMatch(text, new RegExp(`${id}|hidden/context|secret`))
  await service.admin.grantAccess(repository, 'bob', 'write')
  t.match((await page(await signIn(service, 'bob'))).text, 'own.example', 'whoever may write')
})

t.test('To who may not write there is no such page, and no sign of one', async (t) => {
  const { service, hook, page, repository, home } = await world(t)
  await makeRepositoryWithCommit(service.repositories, 'alice/hidden')
  await service.admin.grantAccess(repository, 'carol', 'read')
  await service.admin.grantAccess('alice/hidden', 'carol', 'read')
  const [bob, carol] = [await signIn(service, 'bob'), await signIn(service, 'carol')]
  const seen = async (path: string, cookie: string | undefined) => {
    const { status, text, headers } = await visit(service, path, cookie === undefined ? {} : { cookie })
    const kept = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
    return { status, kept, text: text.replaceAll(/hidden|absent/g, 'NAME') }
  }
  const look = async () => {
    const answers = []
    for (const cookie of [undefined, bob, carol]) {
      const { status, text } = await seen(`${home}/webhooks`, cookie)
      t.strictSame([status, text.includes('<h1>Not found</h1>')], [404, true])
      t.notMatch((await seen(home, cookie)).text, 'webhooks', 'no link leads there')
      answers.push(await seen(home, cookie), await seen(`${home}/webhooks`, cookie))
      for (const rest of ['', '?skip=x']) {
        const [hidden, absent] = ['hidden', 'absent'].map((name) => `/repos/alice/${name}/webhooks${rest}`)
        t.equal((await seen(hidden ?? '', cookie)).status, 404)
        if (cookie !== carol) t.strictSame(await seen(hidden ?? '', cookie), await seen(absent ?? '', cookie))
      }
    }
    return answers
  }
  const before = await look()
  await hook('https://own.example/secret')
  await hook('https://all.example/secret', { on: '*' })
  t.strictSame(await look(), before, 'whether or not there are webhooks')
  t.equal((await page()).status, 404)
})

t.test('However many there are, a page has 20 kB at most, and the rest is behind a link', async (t) => {
  const { service, hook, page, alice } = await world(t)
  const contexts = Array.from({ length: 100 }, (_, at) => `${at}${'"'.repeat(200)}`)
  for (let at = 0; at < 40; at++) await hook(`https://h${at}.example/${'x'.repeat(1000)}`, { contexts })
  for (let at = 40; at < 60; at++) await hook(`https://h${at}.example/`, { on: '*' })
  let [shown, query] = [0, '']
  for (let pages = 0; pages < 60; pages++) {
    const { text } = await page(alice, query)
    t.ok(Buffer.byteLength(text) <= 20_000)
    shown += text.split('<li>').length - 1
    const [, next] = /href="[^"]*(\?[^"]*)" rel="next"/.exec(text) ?? []
    if (next === undefined) break
    query = next
  }
  t.equal(shown, 60)
  t.match((await page(alice, query)).text, 'The first ones')
  t.equal((await visit(service, `/repos/alice/hello/webhooks?skip=x`, { cookie: alice })).status, 404)
})

t.test('Where webhooks are off, there is no such page', async (t) => {
  const { service, home } = await pagesOf(t, { settings: { hooks: { secretFile: '', allow: [] } } })
  const cookie = await signIn(service, 'alice')
  t.equal((await visit(service, `${home}/webhooks`, { cookie })).status, 404)
  t.notMatch((await visit(service, home, { cookie })).text, 'webhooks')
})
