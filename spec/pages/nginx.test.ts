import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { nginxIsMissing, startNginx } from '../fixtures/nginx.js'
import { behindNginx, RECIPES, SECRET } from '../fixtures/nginx-recipes.js'
import { chapter, codeBlocks } from '../fixtures/page.js'
import { missing } from '../fixtures/program.js'
import { startService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

const LINKS = chapter('config/pages.md', '## Behind nginx, signing in by links')

/** It needs a certificate. */
const skip = nginxIsMissing || (await missing('openssl'))

for (const recipe of RECIPES) {
  t.test(
    `nginx with ${recipe.name}, as the page has it, says who looks, and nobody else does`,
    { skip: nginxIsMissing },
    async (t) => {
      const { header } = recipe
      const { url, sha, token } = await behindNginx(t, recipe)
      const place = { url }
      const page = '/repos/alice/private'
      const statusOf = async (cookie: string, headers: Record<string, string> = {}) =>
        (await visit(place, page, { cookie, headers })).status
      t.equal(await statusOf('session=alice'), 200)
      t.equal(await statusOf('session=bob'), 404)
      const anonymous = await visit(place, page)
      t.strictSame(
        [anonymous.status, anonymous.text.includes(`href="/oauth2/start?rd=${encodeURIComponent(page)}"`)],
        [404, true],
      )

      const claimed = { 'Remote-User': 'alice', 'X-Proxy-Secret': SECRET, [header]: 'alice' }
      t.equal(await statusOf('', claimed), 404, 'what a client says of itself is taken away')
      t.equal(await statusOf('session=bob', claimed), 404)

      const form = { name: 'ci', expires: '30d', scope: 'repo' }
      const made = async (origin: string) =>
        (
          await fetch(`${url}/settings/tokens`, {
            method: 'POST',
            headers: { Cookie: 'session=alice', Origin: origin },
            body: new URLSearchParams(form),
          })
        ).status
      t.equal(await made(url), 201)
      t.equal(await made('http://127.0.0.1'), 403, 'another port is another site')

      const api = `${url}/api/v1/repos/alice/private`
      const body = JSON.stringify({ state: 'success' })
      const reported = async (headers: Record<string, string>) =>
        (await fetch(`${api}/statuses/${sha}`, { method: 'POST', headers, body })).status
      t.equal(await reported({ Authorization: `Bearer ${token}` }), 201)
      t.equal(await reported({ Cookie: 'session=alice', ...claimed }), 401, 'a session is nothing to the API')
      const listed = await fetch(`${url}/api/v4/projects/alice%2Fprivate/repository/commits/${sha}/statuses`, {
        headers: { 'PRIVATE-TOKEN': token },
      })
      t.equal(listed.status, 200, 'paths are handed on as they are')
    },
  )
}

t.test('Behind nginx, as the page has it, people sign in by links and get a Secure cookie', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const [key, certificate] = [join(folder, 'key'), join(folder, 'certificate')]
  const subject = ['-subj', '/CN=status.example.com', '-days', '1']
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, ...subject]
  await promisify(execFile)('openssl', made)
  const [json = ''] = codeBlocks(LINKS, 'json')
  const settings = JSON.parse(json) as { trustedProxies: string[]; publicUrl: string }
  const service = await startService(t, { settings })
  const [server = ''] = codeBlocks(LINKS, 'nginx')
  const url = await startNginx(
    t,
    folder,
    server
      .replace('http://127.0.0.1:8080', service.url)
      .replace('listen 443 ssl', 'listen 127.0.0.1:PORT ssl')
      .replace('/etc/ssl/status.example.com.pem', certificate)
      .replace('/etc/ssl/status.example.com.key', key),
  )
  const { host } = new URL(settings.publicUrl)
  const ask = async (path: string, form?: Record<string, string>, cookie = '') => {
    const request = https.request(new URL(path, url.replace('http:', 'https:')), {
      method: form ? 'POST' : 'GET',
      rejectUnauthorized: false,
      headers: {
        Host: host,
        Cookie: cookie,
        ...(form && { Origin: settings.publicUrl, 'Content-Type': 'application/x-www-form-urlencoded' }),
      },
    })
    request.end(form && new URLSearchParams(form).toString())
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return { status: response.statusCode, headers: response.headers, body: await text(response) }
  }
  const link = (await service.admin.createSignIn('alice')).url
  t.match(link, 'https://status.example.com/sign-in?code=')
  t.match((await ask(link.slice(settings.publicUrl.length))).body, 'Sign in as alice?')
  const code = new URL(link).searchParams.get('code') ?? ''
  const [cookie = ''] = (await ask('/sign-in', { code })).headers['set-cookie'] ?? []
  t.match(cookie, /^__Host-commit-status-session=[\w-]{32}; .*; Secure$/)
  t.equal((await ask('/settings/tokens', undefined, cookie.split(';')[0])).status, 200)
  const form = { name: 'ci', expires: '30d', scope: 'repo' }
  t.equal((await ask('/settings/tokens', form, cookie.split(';')[0])).status, 201)
  t.match((await ask('/api/v1/openapi.json')).status, 200)
})

t.test('nginx with config/nginx.conf hands on the APIs', { skip: nginxIsMissing }, async (t) => {
  const service = await startService(t, { settings: { trustedProxies: ['127.0.0.1'], compatibleApis: ['gitlab'] } })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const token = await service.tokenOf('alice')
  const snippet = readFileSync('config/nginx.conf', 'utf8')
    .replace('127.0.0.1:8080', new URL(service.url).host)
    .replace('listen 80;', 'listen 127.0.0.1:PORT;')
  const url = await startNginx(t, join(service.folder, 'nginx'), snippet)
  const address = `${url}/api/v1/repos/alice/hello/statuses/${sha}`
  const report = async (body: string, headers = { Authorization: `Bearer ${token}` }) =>
    await fetch(address, { method: 'POST', headers, body })
  for (const context of ['a', 'b']) t.equal((await report(JSON.stringify({ state: 'success', context }))).status, 201)
  t.equal((await report('{}', { Authorization: 'Bearer wrong' })).status, 401)
  const tooLarge = await report('x'.repeat(16_385))
  t.strictSame([tooLarge.status, tooLarge.headers.get('content-type')], [413, 'application/json; charset=utf-8'])
  const commits = `${url}/api/v4/projects/alice%2Fhello/repository/commits`
  const page = await fetch(`${commits}/${sha}/statuses?per_page=1`, { headers: { 'PRIVATE-TOKEN': token } })
  t.equal(page.status, 200)
  t.match(page.headers.get('link'), `<${commits}/${sha}/statuses?`, 'links lead through nginx')
  t.equal((await fetch(`${url}/`)).status, 404, "the rest is the git server's")
})
