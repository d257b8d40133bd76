import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ListedToken } from '../../lib/admin/administration.js'
import { remoteAdministration } from '../../lib/admin/client.js'
import { administrationListener } from '../../lib/admin/server.js'
import { socketPath, withShortPath } from '../../lib/admin/socket-path.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { asOtherUser } from '../fixtures/other-user.js'
import { startService } from '../fixtures/service.js'
import { callSocket } from '../fixtures/unix-socket.js'

t.test('A call that the service does not know is refused, whatever it is', async (t) => {
  const { store, log } = await startService(t)
  const calls = [
    { method: 'close', args: [] },
    { method: 'constructor', args: [] },
    { method: '__proto__', args: [] },
    { method: 'listTokens' },
    { method: 'listTokens', args: 'all' },
    { args: [] },
    [],
    null,
    'listTokens',
  ]
  for (const call of calls) {
    const answer = await callSocket(socketPath(store), JSON.stringify(call))
    t.strictSame(
      answer,
      { refused: 'the running service does not know this command; is it of another version?' },
      JSON.stringify(call),
    )
  }
  t.strictSame(log, [])
})

t.test('A call that is no JSON, or too large, fails and is logged', async (t) => {
  const { admin, store, log } = await startService(t)
  for (const body of ['{', '']) t.match(await callSocket(socketPath(store), body), { failed: /JSON/ })
  t.match(await callSocket(socketPath(store), 'x'.repeat(1024 * 1024 + 1)), {
    failed: 'a line has more than 1048576 characters',
  })
  t.match(log, [{ msg: 'a command failed' }, { msg: 'a command failed' }, { msg: 'a command failed' }])
  t.strictSame(await admin.listTokens(null), [], 'the service goes on')
})

t.test('A fault of the service is told in words, and its cause is in the log', async (t) => {
  const { admin, repositories, log } = await startService(t)
  await rm(repositories, { recursive: true })
  await t.rejects(admin.listRepositories(), { name: 'CommandFailed', message: /^ENOENT: .*scandir/ })
  t.match(log, [{ msg: 'a command failed', err: { code: 'ENOENT', stack: /scandir/ } }])
})

t.test('An answer that cannot be put in words fails the command, not the service', async (t) => {
  const { admin, folder } = await startService(t)
  const log: string[] = []
  const logger = { ...silentLogger, error: (_facts: object, message: string) => log.push(message) }
  // As an answer that is longer than a string may be.
  const unspeakable = {
    toJSON: () => {
      throw new RangeError('Invalid string length')
    },
  }
  const server = createHttpServer(
    administrationListener({ ...admin, listTokens: async () => [unspeakable as never] }, logger),
  )
  await withShortPath(join(folder, 'socket'), async (short) => {
    await once(server.listen(short), 'listening')
  })
  t.teardown(() => server.close())
  await t.rejects(remoteAdministration(join(folder, 'socket')).listTokens(null), {
    name: 'CommandFailed',
    message: 'Invalid string length',
  })
  t.strictSame(log, ['a command failed'])
})

t.test('Where nobody listens, there is no service', async (t) => {
  const folder = t.testdir({ file: '' })
  const left = join(folder, 's')
  const server = await listening(t, `${left}0`, () => undefined)
  await rename(`${left}0`, left)
  server.close()
  for (const path of [
    join(folder, 'none'),
    join(folder, 'none', 'socket'),
    join(folder, 'file', 'socket'),
    left,
    join(folder, 'x'.repeat(200), 'socket'),
  ]) {
    await t.rejects(remoteAdministration(path).listTokens(null), {
      name: 'ServiceNotRunning',
      message: `no service answers at ${path}`,
    })
  }
})

t.test('Whoever may not use the socket is told whose command it is', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 's')
  await listening(t, path, () => undefined)
  chmodSync(folder, 0)
  const error: unknown = await asOtherUser(async () => await remoteAdministration(path).listTokens(null)).catch(
    (error: unknown) => error,
  )
  chmodSync(folder, 0o700)
  t.match(error, {
    name: 'CommandFailed',
    message: `no permission to use ${path}: run this as root or as the user of the service`,
  })
})

t.test('A service that hangs is given up after a while', async (t) => {
  const path = join(t.testdir(), 's')
  await listening(t, path, () => undefined)
  await t.rejects(remoteAdministration(path, 100).listTokens(null), {
    name: 'CommandFailed',
    message:
      `the service at ${path} gave no answer (nothing came within 0.1 s); whether it did what was asked ` +
      `is not known`,
  })
})

t.test('A command may take long: what counts is that the service has noticed it', async (t) => {
  const service = await startService(t)
  const path = join(t.testdirName, 's')
  // Longer than the service may take to notice.
  const slow = { ...service.admin, listTokens: async (): Promise<ListedToken[]> => await setTimeout(300, []) }
  const server = createHttpServer(administrationListener(slow, silentLogger))
  await withShortPath(path, async (short) => {
    await once(server.listen(short), 'listening')
  })
  t.teardown(() => server.close())
  t.strictSame(await remoteAdministration(path, 100).listTokens(null), [])
})

t.test('An answer that is cut off, or none of ours, is no answer', async (t) => {
  const answers: [sent: string, reason: RegExp][] = [
    ['', /hang up/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"result":', /aborted/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', /it was cut off/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{\n', /JSON/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]', /it is no reply/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull', /it is no reply/],
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n7', /it is no reply/],
    ['SSH-2.0-OpenSSH_9.2\r\n', /Parse Error/],
  ]
  for (const [index, [sent, reason]] of answers.entries()) {
    const path = join(index === 0 ? t.testdir() : t.testdirName, `s${index}`)
    await listening(t, path, (socket) => socket.end(sent))
    const call = remoteAdministration(path).listTokens(null)
    await t.rejects(call, {
      name: 'CommandFailed',
      message: /^the service at .* gave no answer \(.+\); whether it did what was asked is not known$/,
    })
    await t.rejects(call, { message: reason })
  }
})

async function listening(t: Test, path: string, answer: (socket: Socket) => void): Promise<Server> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.once('data', () => {
      answer(socket)
    })
  })
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await withShortPath(path, async (short) => {
    await once(server.listen(short), 'listening')
  })
  return server
}
