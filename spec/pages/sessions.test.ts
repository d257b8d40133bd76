import t from 'tap'
import { browserIsMissing, openWindow, startBrowser } from '../fixtures/browser.js'
import { listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { sendBytes } from '../fixtures/raw-http.js'
import { startService, testDatabase, type TestService } from '../fixtures/service.js'
import { readSettings } from '../../lib/stand-alone/settings.js'
import { signIn, visit, type Visited } from '../fixtures/visit.js'

const HOUR = 60 * 60 * 1000

async function world(t: Parameters<typeof startService>[0]) {
  const clock = { time: Date.parse('2026-01-31T12:00:00Z'), now: () => clock.time }
  const service = await startService(t, { clock, settings: { trustedProxies: ['127.0.0.1'] } })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/private')
  const code = async (user = 'alice') =>
    new URL((await service.admin.createSignIn(user)).url).searchParams.get('code') ?? ''
  const isSignedIn = async (cookie: string) => (await visit(service, '/repos/alice/private', { cookie })).status === 200
  return { service, clock, sha, code, isSignedIn }
}

const open = async (service: TestService, code: string, headers: Record<string, string> = {}): Promise<Visited> =>
  await visit(service, '/sign-in', { form: { code }, headers })

t.test('A link signs in once, in a cookie that nobody else can read', async (t) => {
  const { service, code, isSignedIn } = await world(t)
  const one = await code()
  for (const _ of [1, 2]) {
    const { status, text, headers } = await visit(service, `/sign-in?code=${one}`)
    t.strictSame([status, text.includes('Sign in as alice?')], [200, true], 'looking at it does not use it up')
    t.equal(headers.get('set-cookie'), null)
  }
  const opened = await open(service, one)
  t.strictSame([opened.status, opened.headers.get('location')], [303, '/'])
  const cookie = opened.headers.get('set-cookie') ?? ''
  t.match(cookie, /^commit-status-session=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict$/)
  t.ok(await isSignedIn(cookie.split(';')[0] ?? ''))
  t.equal((await open(service, one)).status, 410, 'once')
  t.equal((await visit(service, `/sign-in?code=${one}`)).status, 410)
  t.notOk(await isSignedIn('commit-status-session='))
  t.notOk(JSON.stringify(service.log).includes(one), 'no log line has it')
})

t.test('Behind https the cookie is sent over https alone, and no neighbour can set it', async (t) => {
  const { service, code } = await world(t)
  const { headers } = await open(service, await code(), { 'X-Forwarded-Proto': 'https' })
  t.match(
    headers.get('set-cookie'),
    /^__Host-commit-status-session=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  )
  const [cookie = ''] = headers.get('set-cookie')?.split(';') ?? []
  const https = { 'X-Forwarded-Proto': 'https' }
  const at = async (cookie: string) => (await visit(service, '/repos/alice/private', { cookie, headers: https })).status
  t.equal(await at(cookie), 200)
  t.equal(await at(cookie.replace('__Host-', '')), 404)
})

t.test('Links are over after ten minutes, sessions after eight hours', async (t) => {
  const { service, clock, code, isSignedIn } = await world(t)
  const late = await code()
  clock.time += 10 * 60 * 1000
  t.equal((await open(service, late)).status, 410)
  const cookie = await signIn(service, 'alice')
  clock.time += 8 * HOUR - 1
  t.ok(await isSignedIn(cookie))
  clock.time += 1
  t.notOk(await isSignedIn(cookie))
})

t.test('Sign-out and the command end a session, and so does a stop where no database keeps it', async (t) => {
  const { service, clock, code, isSignedIn } = await world(t)
  const [one, two] = [await signIn(service, 'alice'), await signIn(service, 'alice')]
  const bob = await signIn(service, 'bob')
  const out = await visit(service, '/sign-out', { form: {}, cookie: one })
  t.match(out.headers.get('set-cookie'), /^commit-status-session=; .*Max-Age=0$/)
  t.strictSame([await isSignedIn(one), await isSignedIn(two)], [false, true])
  t.equal((await visit(service, '/sign-out', { form: {} })).status, 303)
  const link = await code()
  t.equal(await service.admin.endSignIns('alice'), 2)
  t.notOk(await isSignedIn(two))
  t.equal((await open(service, link)).status, 410)
  t.equal((await visit(service, '/settings/tokens', { cookie: bob })).status, 200, 'others stay')
  await service.close()
  await t.test('after a restart', async (t) => {
    const settings = { repositories: service.repositories, store: service.address }
    const again = await startService(t, { clock, settings })
    t.equal((await visit(again, '/settings/tokens', { cookie: bob })).status, testDatabase === undefined ? 401 : 200)
  })
})

t.test('A session is new at every sign-in, and the one before it ends', async (t) => {
  const { service, code, isSignedIn } = await world(t)
  const before = await signIn(service, 'mallory')
  const { headers } = await visit(service, '/sign-in', { form: { code: await code() }, cookie: before })
  const [after = ''] = headers.get('set-cookie')?.split(';') ?? []
  t.not(after, before)
  t.ok(await isSignedIn(after))
  t.equal((await visit(service, '/settings/tokens', { cookie: before })).status, 401)
  t.notOk(await isSignedIn(`${after}; ${before}`), 'of two that differ, none is believed')
  t.ok(await isSignedIn(`other=1; ${after}`))
})

t.test('A form of another site signs nobody in or out', async (t) => {
  const { service, code } = await world(t)
  const cookie = await signIn(service, 'alice')
  const own = new URL(service.url).host
  const forged: Record<string, string>[] = [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'none' },
    { 'Sec-Fetch-Site': 'cross-site', Origin: `http://${own}` },
    { Origin: 'https://evil.example.com' },
    { Origin: 'null' },
    { Origin: `http://${own}.evil.example.com` },
    { Origin: `http://${own.replace(/:.*/, '')}` },
    { Origin: `http://${own}`, 'X-Forwarded-Proto': 'https' },
    { Origin: 'http://[', 'X-Forwarded-Host': '[' },
    { Origin: 'http://1.2.3.4', 'X-Forwarded-Host': '1.2.3.999' },
    { Origin: `http://${own}`, 'X-Forwarded-Host': '[' },
    {},
  ]
  for (const headers of forged) {
    for (const path of ['/sign-in', '/sign-out', '/settings/tokens', '/settings/tokens/0/revoke']) {
      const body = { code: await code('mallory'), name: 'x', expires: 'never' }
      const response = await fetch(new URL(path, service.url), {
        method: 'POST',
        headers: { ...headers, Cookie: cookie },
        body: new URLSearchParams(body),
        redirect: 'manual',
      })
      t.strictSame(
        [response.status, response.headers.get('set-cookie')],
        [403, null],
        `${path} ${JSON.stringify(headers)}`,
      )
    }
  }
  t.equal((await visit(service, '/settings/tokens', { cookie })).status, 200)
  t.strictSame(await service.admin.listTokens(null), [])
  const response = await fetch(new URL('/sign-out', service.url), {
    method: 'POST',
    headers: { Origin: service.url, Cookie: cookie },
    redirect: 'manual',
  })
  t.equal(response.status, 303, 'a browser of before says it by Origin')
})

t.test('Guessing links is a failed log-in', async (t) => {
  const service = await startService(t, { settings: { authFailures: { limit: 3, windowSeconds: 600 } } })
  const link = new URL((await service.admin.createSignIn('alice')).url).searchParams.get('code') ?? ''
  const statuses = []
  statuses.push((await visit(service, '/sign-in', { form: { other: 'field' } })).status)
  for (const _ of [2, 3, 4]) statuses.push((await visit(service, '/sign-in', { form: { code: 'wrong' } })).status)
  t.strictSame(statuses, [410, 410, 410, 429])
  t.equal((await visit(service, '/sign-in', { form: { code: link } })).status, 429)
})

t.test('A page of somebody else locks out nobody', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t, { settings: { authFailures: { limit: 3, windowSeconds: 600 } } })
  const page = await listen(t, (_, response) => {
    const images = Array.from({ length: 20 }, (_, index) => `<img src="${service.url}/sign-in?code=x${index}">`)
    response.setHeader('Content-Type', 'text/html').end(images.join(''))
  })
  const visitor = await (await openWindow(await startBrowser(t))).newPage()
  const asked: string[] = []
  visitor.on('request', (request) => asked.push(request.url()))
  // By another name than the service's: it is another site.
  await visitor.goto(page.replace('127.0.0.1', 'localhost'), { waitUntil: 'networkidle' })
  t.equal(asked.filter((url) => url.includes('/sign-in?code=')).length, 20)
  for (let time = 0; time < 5; time++) {
    const forged = await fetch(`${service.url}/sign-in`, {
      method: 'POST',
      headers: { 'Sec-Fetch-Site': 'cross-site' },
      body: new URLSearchParams({ code: 'x' }),
    })
    t.equal(forged.status, 403)
  }
  const { text } = await visit(service, '/sign-in', { form: { code: 'wrong' } })
  t.match(text, 'The link is no longer good')
})

t.test('The API knows nothing of sessions, and the pages nothing of tokens', async (t) => {
  const { service, sha } = await world(t)
  const cookie = await signIn(service, 'alice')
  const list = `/api/v1/repos/alice/private/commits/${sha}/statuses`
  t.equal((await visit(service, list, { cookie })).status, 401)
  const Authorization = `Bearer ${await service.tokenOf('alice')}`
  for (const path of ['/settings/tokens', '/repos/alice/private']) {
    const answer = await visit(service, path, { headers: { Authorization } })
    t.ok([401, 404].includes(answer.status), path)
  }
  const made = await visit(service, '/settings/tokens', {
    headers: { Authorization },
    form: { name: 'x', expires: 'never' },
  })
  t.equal(made.status, 401)
})

t.test('Whoever asks how to sign in is told', async (t) => {
  const { service } = await world(t)
  const { text } = await visit(service, '/sign-in')
  t.match(text, 'scripts/commit-status sign-in alice')
  t.notMatch(text, /You are signed in|This prints one for you/)
  const cookie = await signIn(service, 'bob')
  t.match((await visit(service, '/sign-in', { cookie })).text, 'You are signed in as <strong>bob</strong>')
  await t.rejects(service.admin.createSignIn('../x'), /no user name/)
})

t.test('Who has only ssh is told the line that the setting signIn.command has', async (t) => {
  const { signIn } = readSettings({ environment: {}, home: '/', directory: '/' })
  const command = 'ssh -p 2222 git@git.example.com sign-in <you>'
  const service = await startService(t, { settings: { signIn: { ...signIn, command } } })
  for (const path of ['/sign-in', '/settings/tokens', '/sign-in?code=x']) {
    const { text } = await visit(service, path)
    t.match(text, '<code>ssh -p 2222 git@git.example.com sign-in &lt;you&gt;</code>', path)
    t.match(text, 'scripts/commit-status sign-in alice', path)
  }
})

t.test('Signing in brings people back to where they were', { skip: browserIsMissing }, async (t) => {
  const service = await startService(t)
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/private')
  const page = await (await openWindow(await startBrowser(t))).newPage()
  const commit = `${service.url}/repos/alice/private/commits/${sha}?skip=0&x='a%20b`
  const wayBack = async () => {
    // Without a service at hand, as with a database, links are for the port of the settings, which is 0 here.
    await page.goto(service.url + '/sign-in' + new URL((await service.admin.createSignIn('alice')).url).search)
    await page.getByRole('button', { name: 'Sign in as alice' }).click()
    return page.url()
  }
  t.equal((await page.goto(commit))?.status(), 404)
  await page.getByRole('navigation', { name: 'You' }).getByRole('link', { name: 'Sign in' }).click()
  t.match(page.url(), `${service.url}/sign-in?return=/repos/alice/private/commits/${sha}%3F`)
  t.equal(await wayBack(), new URL(commit).href)
  t.match(await page.title(), 'a commit')
  await page.getByRole('button', { name: 'Sign out' }).click()
  t.equal(await wayBack(), `${service.url}/`, 'once')
  await page.getByRole('button', { name: 'Sign out' }).click()
  t.equal((await page.goto(`${service.url}/settings/tokens`))?.status(), 401)
  t.equal(await wayBack(), `${service.url}/settings/tokens`)
})

t.test('With publicUrl, links lead where people see the service, and cookies stay there', async (t) => {
  const service = await startService(t, {
    settings: { publicUrl: 'https://ci.example.com/status/', trustedProxies: ['127.0.0.1'] },
  })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello', { public: true })
  const { url } = await service.admin.createSignIn('alice')
  t.match(url, /^https:\/\/ci\.example\.com\/status\/sign-in\?code=/)
  const called = { 'X-Forwarded-Host': 'elsewhere.example', 'X-Forwarded-Proto': 'https' }
  const opened = await open(service, new URL(url).searchParams.get('code') ?? '', called)
  t.equal(opened.headers.get('location'), '/status/')
  t.match(
    opened.headers.get('set-cookie'),
    /^__Secure-commit-status-session=.*; Path=\/status\/; HttpOnly/,
    'nowhere else on that host',
  )
  // A reverse proxy has taken the path off, or has not.
  for (const base of ['', '/status']) {
    const { status, text } = await visit(service, `${base}/repos/alice/hello`, { headers: called })
    t.equal(status, 200)
    t.match(text, `href="hello/commits/${sha}"`)
    t.match(text, '(https://ci.example.com/status/repos/alice/hello/badge.svg?ref=main)')
    const commit = await visit(service, `${base}/repos/alice/hello/commits/${sha}`)
    t.match(commit.text, `https://ci.example.com/status/api/v1/repos/alice/hello/statuses/${sha}`)
  }
})

t.test('A proxy that does not say how it was called is behind https where publicUrl is', async (t) => {
  const service = await startService(t, { settings: { publicUrl: 'https://ci.example.com' } })
  const code = new URL((await service.admin.createSignIn('alice')).url).searchParams.get('code') ?? ''
  const form = new URLSearchParams({ code }).toString()
  const head = ['POST /sign-in HTTP/1.1', 'Host: ci.example.com', 'Sec-Fetch-Site: same-origin', 'Connection: close']
  const more = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${form.length}`]
  const answer = await sendBytes(service.url, `${[...head, ...more].join('\r\n')}\r\n\r\n${form}`)
  t.match(answer, /Set-Cookie: __Host-commit-status-session=[^\r]*; Secure\r/)
})
