import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { readSettings, type Settings } from '../../lib/stand-alone/settings.js'
import { signInAddress } from '../../lib/stand-alone/sign-in.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { nginxIsMissing, startNginx } from '../fixtures/nginx.js'
import { startService } from '../fixtures/service.js'

/** Root may give a file to any group; anybody else to one of his own. */
const isRoot = process.getuid?.() === 0
const group = isRoot
  ? { name: 'nogroup', id: 65534 }
  : { name: nameOf(process.getgid?.() ?? 0), id: process.getgid?.() }

/** A path that is short enough for a socket, gone after the test. */
function shortPath(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'unix-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return join(folder, 'http.sock')
}

function nameOf(gid: number): string {
  const lines = readFileSync('/etc/group', 'utf8').split('\n')
  return lines.find((line) => line.split(':')[2] === String(gid))?.split(':')[0] ?? String(gid)
}

const startAt = async (t: Test, path: string, settings: Partial<Settings> = {}) =>
  await startService(t, { settings: { host: `unix:${path}`, ...settings } })

/** What is answered over a socket, or from an address of this machine. */
async function ask(where: { socketPath: string } | { port: number; localAddress: string }, path: string, token = '') {
  const headers = token === '' ? {} : { Authorization: `Bearer ${token}` }
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ ...where, path, headers, agent: false }, resolve).on('error', reject)
  })
  return { status: incoming.statusCode, body: await json(incoming) }
}

t.test('The service listens on a Unix socket, of the mode and the group that the settings say', async (t) => {
  const path = shortPath(t)
  for (const [socket, mode, gid] of [
    [{ mode: '0660', group: '' }, 0o660, process.getgid?.()],
    [{ mode: '666', group: group.name }, 0o666, group.id],
    [{ mode: '0600', group: String(group.id) }, 0o600, group.id],
  ] as const) {
    const service = await startAt(t, path, { socket })
    t.equal(service.url, `unix:${path}`)
    t.match(await ask({ socketPath: path }, '/healthz'), { status: 200, body: { status: 'ok' } })
    const found = lstatSync(path)
    t.strictSame([found.mode & 0o777, found.gid], [mode, gid])
    const { url } = await service.admin.createSignIn('alice')
    t.match(url, /^http:\/\/localhost\/sign-in\?code=/)
    await service.close()
    t.notOk(existsSync(path), 'gone at the end')
  }
})

t.test('Without publicUrl, links to sign in begin with what curl calls a Unix socket', async (t) => {
  const settings = readSettings({
    environment: { COMMIT_STATUS_HOST: 'unix:/run/http.sock' },
    home: '/',
    directory: '/',
  })
  t.equal(signInAddress(settings), 'http://localhost')
  t.equal(signInAddress({ ...settings, publicUrl: 'https://status.example.com/' }), 'https://status.example.com')
})

t.test('A socket that nobody listens on any more is replaced', async (t) => {
  const path = shortPath(t)
  const left = `require('net').createServer().listen('${path}', () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', left])
  t.ok(lstatSync(path).isSocket())
  await startAt(t, path)
  t.equal((await ask({ socketPath: path }, '/healthz')).status, 200)
})

t.test('One that somebody listens on is not, and goes on', async (t) => {
  const path = shortPath(t)
  await startAt(t, path)
  await t.test('another service', async (t) => {
    await t.rejects(startAt(t, path), {
      name: 'StartError',
      message:
        `cannot listen on unix:${path}: another process listens there; the setting host (COMMIT_STATUS_HOST) ` +
        'says where',
    })
  })
  t.equal((await ask({ socketPath: path }, '/healthz')).status, 200)
})

t.test('Nor is one of a process that hangs, with all places of its queue taken', async (t) => {
  const path = shortPath(t)
  const hanging =
    `require('net').createServer().listen({ path: '${path}', backlog: 1 }, () => { process.stdout.write('.'); ` +
    "setImmediate(() => require('child_process').execFileSync('sleep', ['900'])) })"
  const child = spawn(process.execPath, ['-e', hanging], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  t.teardown(() => process.kill(-Number(child.pid), 'SIGKILL'))
  await once(child.stdout, 'data')
  const waiting: Socket[] = []
  t.teardown(() => {
    for (const socket of waiting) socket.destroy()
  })
  const isTaken = async () => {
    const socket = connect(path)
    waiting.push(socket)
    return await once(socket, 'connect').then(
      () => true,
      () => false,
    )
  }
  while (await isTaken());
  await t.rejects(startAt(t, path), { message: /another process listens there/ })
  t.ok(lstatSync(path).isSocket())
})

t.test('Where it cannot listen it says why, and leaves what is there', async (t) => {
  const path = shortPath(t)
  writeFileSync(path, 'a file')
  await t.rejects(startAt(t, path), { message: /: what is there is no socket; the setting host / })
  t.equal(readFileSync(path, 'utf8'), 'a file')
  await t.rejects(startAt(t, join(path, 'http.sock')), { message: /ENOTDIR/ })
  await t.rejects(startAt(t, join(`${path}.d`, 'http.sock')), { message: /ENOENT: no such file or directory, / })
  rmSync(path)
  await t.rejects(startAt(t, path, { socket: { mode: '0660', group: 'no-such-group' } }), {
    message: /: \/etc\/group has no group no-such-group; a number would do; /,
  })
  // No system has a group of so large a number.
  await t.rejects(startAt(t, path, { socket: { mode: '0660', group: '4294967296' } }), {
    message: /: the socket cannot be given to the group 4294967296: /,
  })
  t.notOk(existsSync(path), 'nobody listens any more')
})

t.test('By settings with which anybody could be whom he likes it does not start', async (t) => {
  const path = shortPath(t)
  const settings: Partial<Settings> = {
    trustedProxies: ['unix'],
    signIn: { header: 'Remote-User', secretFile: '', url: '', command: '' },
  }
  await t.rejects(startAt(t, path, { ...settings, socket: { mode: '0666', group: '' } }), {
    message: /^socket\.mode lets everybody connect: /,
  })
  await t.resolves(startAt(t, path, settings))
})

for (const trustedProxies of [['unix'], ['127.0.0.0/8']]) {
  const isTrusted = trustedProxies.includes('unix')
  t.test(
    isTrusted
      ? 'Behind nginx on the socket each client has a budget of its own, with unix among trustedProxies'
      : 'Without it all clients of the socket count as one',
    { skip: nginxIsMissing },
    async (t) => {
      const path = shortPath(t)
      const authFailures = { limit: 2, windowSeconds: 600 }
      const service = await startAt(t, path, { trustedProxies, authFailures })
      const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
      const token = await service.tokenOf('alice')
      const recipe = readFileSync('config/nginx.conf', 'utf8')
        .replace('server 127.0.0.1:8080;', `server unix:${path};`)
        .replace('listen 80;', 'listen 127.0.0.1:PORT;')
      const port = Number(new URL(await startNginx(t, join(path, '..'), recipe)).port)
      const list = `/api/v1/repos/alice/hello/commits/${sha}/statuses`
      const from = async (localAddress: string, token: string) =>
        (await ask({ port, localAddress }, list, token)).status
      t.strictSame(
        [await from('127.0.0.2', 'wrong'), await from('127.0.0.2', 'wrong'), await from('127.0.0.2', 'wrong')],
        [401, 401, 429],
      )
      t.equal(await from('127.0.0.3', token), isTrusted ? 200 : 429)
      t.strictSame(
        new Set(service.log.flatMap(({ client }) => client ?? [])),
        new Set(isTrusted ? ['127.0.0.2'] : ['unknown']),
      )
    },
  )
}

t.test('A client of TCP that has gone is no proxy on a socket, whatever it says', async (t) => {
  const service = await startService(t, { settings: { trustedProxies: ['unix'] } })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  const { port } = new URL(service.url)
  const request =
    `GET /api/v1/repos/alice/hello/commits/${sha}/statuses HTTP/1.1\\r\\nHost: x\\r\\n` +
    'Authorization: Bearer wrong\\r\\nX-Forwarded-For: 198.51.100.1\\r\\n\\r\\n'
  // This process stands still until the client has sent all, and has been reset: its address is not known any more.
  const { stderr } = spawnSync(
    process.execPath,
    [
      '-e',
      `const socket = require('net').connect(${port}, '127.0.0.1')
      socket.write('${request}', () => socket.resetAndDestroy())`,
    ],
    { encoding: 'utf8' },
  )
  t.equal(stderr, '')
  const line = async (): Promise<unknown> => {
    const found = service.log.find(({ client }) => client !== undefined)
    if (found) return found
    await service.call('GET', '/healthz')
    return await line()
  }
  t.match(await line(), { client: 'unknown' })
})
