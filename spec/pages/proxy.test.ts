import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

const header = { header: 'Remote-User', secretFile: '', url: '/oauth2/start', command: 'ssh git@host sign-in' }

async function statusOf(service: { url: string }, headers: Record<string, string>): Promise<number> {
  return (await visit(service, '/repos/alice/private', { headers })).status
}

t.test('Whom a trusted proxy names is signed in', async (t) => {
  const service = await startService(t, { settings: { signIn: header, trustedProxies: ['127.0.0.1'] } })
  await makeRepositoryWithCommit(service.repositories, 'alice/private')
  t.equal(await statusOf(service, { 'Remote-User': 'alice' }), 200)
  t.equal(await statusOf(service, { 'Remote-User': 'bob' }), 404)
  t.equal(await statusOf(service, { 'Remote-User': '' }), 404)
  t.equal(await statusOf(service, {}), 404)
  for (const user of ['../alice', 'alice bob', '.alice', 'alice:example.com', 'a'.repeat(101)])
    t.equal(await statusOf(service, { 'Remote-User': user }), 403, user)
  const twice = await fetch(`${service.url}/repos/alice/private`, {
    headers: new Headers([
      ['Remote-User', 'alice'],
      ['X-Other', '1'],
    ]),
  })
  t.equal(twice.status, 200)
  t.equal(await statusOf(service, { Remote_User: 'alice' }), 404, 'an underscore is another header')
  const home = await visit(service, '/')
  t.match(home.text, 'href="/oauth2/start"')
  t.match(home.text, 'Make the first one')
  t.notMatch(home.text, 'sign-in alice', 'no way that does not work here')
  const { text } = await visit(service, '/sign-in')
  t.match(text, 'href="/oauth2/start"')
  t.notMatch(text, 'sign-in alice', 'no way that does not work here')
  t.notMatch(text, 'ssh git@host')
  await t.rejects(service.admin.createSignIn('alice'), /nobody signs in by links here/)
  const made = await visit(service, '/settings/tokens', {
    headers: { 'Remote-User': 'alice' },
    form: { name: 'ci', expires: '30d', scope: 'repo' },
  })
  t.equal(made.status, 201)
})

t.test('The header twice is refused', async (t) => {
  const { RawSocket } = await import('../fixtures/raw-socket.js')
  const service = await startService(t, { settings: { signIn: header, trustedProxies: ['127.0.0.1'] } })
  const socket = await RawSocket.open(t, service.url)
  await socket.send('GET / HTTP/1.1\r\nHost: x\r\nRemote-User: alice\r\nRemote-User: bob\r\nConnection: close\r\n\r\n')
  t.match(await socket.ended(), /^HTTP\/1\.1 400 /)
})

t.test('From anybody else the header is passed over, and counted', async (t) => {
  const service = await startService(t, {
    settings: { signIn: header, trustedProxies: ['192.0.2.1'], metrics: 'main' },
  })
  await makeRepositoryWithCommit(service.repositories, 'alice/private')
  t.equal(await statusOf(service, { 'Remote-User': 'alice' }), 404)
  t.equal(await statusOf(service, { 'Remote-User': 'alice', 'X-Forwarded-For': '192.0.2.1' }), 404, 'the peer counts')
  t.match((await visit(service, '/metrics')).text, /commit_status_ignored_sign_ins_total 2\n/)
})

t.test('With a secret, the proxy must send it', async (t) => {
  const secretFile = join(mkdtempSync(join(tmpdir(), 'proxy-')), 'secret')
  t.teardown(() => {
    rmSync(dirname(secretFile), { recursive: true })
  })
  writeFileSync(secretFile, 'a secret of the proxy'.replaceAll(' ', '-') + '\n')
  const service = await startService(t, {
    settings: { signIn: { ...header, secretFile }, trustedProxies: ['127.0.0.0/8'] },
  })
  await makeRepositoryWithCommit(service.repositories, 'alice/private')
  const of = async (secret?: string) =>
    await statusOf(service, { 'Remote-User': 'alice', ...(secret !== undefined && { 'X-Proxy-Secret': secret }) })
  t.strictSame([await of(), await of('wrong'), await of('a-secret-of-the-proxy')], [404, 404, 200])
})

t.test('By settings with which anybody could be whom he likes it does not start', async (t) => {
  const start = async (signIn: object, trustedProxies: readonly string[]) =>
    await startService(t, { settings: { signIn: { ...header, ...signIn }, trustedProxies } })
  const folder = mkdtempSync(join(tmpdir(), 'proxy-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  writeFileSync(join(folder, 'short'), 'short')
  writeFileSync(join(folder, 'spaces'), 'with spaces in it, and long enough')
  await t.rejects(start({}, []), /needs trustedProxies/)
  for (const all of [['0.0.0.0/1', '128.0.0.0/1'], ['2000::/3']])
    await t.rejects(start({}, all), /cover everybody/, all.join())
  for (const taken of ['Cookie', 'Authorization', 'X-Forwarded-For'])
    await t.rejects(start({ header: taken }, ['127.0.0.1']), /says something else/)
  for (const name of ['short', 'spaces', 'missing'])
    await t.rejects(start({ secretFile: join(folder, name) }, ['127.0.0.1']), /signIn\.secretFile/)
  await t.rejects(
    start({ header: '', secretFile: join(folder, 'short') }, ['127.0.0.1']),
    /of use with signIn.header alone/,
  )
  await t.resolves(start({ url: '' }, ['10.0.0.0/8', 'fc00::/7', '::1']))
})

t.test('Without pages there are none', async (t) => {
  const service = await startService(t, { settings: { pages: 'off' } })
  for (const path of ['/', '/repos/alice/hello', '/settings/tokens', '/sign-in', '/style.css', '/marks.js']) {
    const { status, text } = await visit(service, path)
    t.strictSame([status, text], [404, '{"error":"not found"}\n'], path)
  }
  await t.rejects(service.admin.createSignIn('alice'), /nobody signs in by links here/)
})
