import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readSettings, type Settings } from '../../lib/stand-alone/settings.js'
import { startStandAlone } from '../../lib/stand-alone/stand-alone.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { RawSocket } from '../fixtures/raw-socket.js'
import { startService } from '../fixtures/service.js'

t.test(
  'A service that is told to stop finishes the requests under way, and then closes their connections',
  async (t) => {
    const service = await startService(t)
    const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
    const token = await service.tokenOf('alice')
    const body = '{"state":"success"}'
    const head =
      `POST /api/v1/repos/alice/hello/statuses/${sha} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ` +
      `Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n`
    const open = async () => await RawSocket.open(t, service.url)
    const [ready, early, late, stuck] = await Promise.all([open(), open(), open(), open()])
    await ready.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    t.equal((await ready.answer()).status, 200)
    for (const socket of [early, late, stuck]) await socket.send(head)
    // Answered on another connection: what was sent before it has arrived.
    t.equal((await service.call('GET', '/healthz')).status, 200)

    const closing = service.close()
    t.equal(await ready.ended(), '', 'a connection without a request is closed at once')
    await t.rejects(
      once(connect(Number(new URL(service.url).port), '127.0.0.1'), 'connect'),
      { code: 'ECONNREFUSED' },
      'nobody else gets in',
    )
    // The second one shows that the first was not closed at the end of all patience.
    for (const socket of [early, late]) {
      await socket.send(body)
      t.equal((await socket.answer()).status, 201)
      t.equal(await socket.ended(), '')
    }
    t.equal(await stuck.ended().catch((error: unknown) => String(error)), '')
    await closing
    const store = await LevelStore.open(service.store)
    t.teardown(async () => await store.close())
    t.strictSame((await store.tokens.list()).length, 1, 'the store was closed')
  },
)

t.test(
  'A service that cannot listen says where, why and which settings change it, and lets the store go',
  async (t) => {
    const other = createServer()
    await once(other.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => other.close())
    const { port } = other.address() as AddressInfo
    const settings = settingsIn(t, { port })
    await t.rejects(startStandAlone(settings), {
      name: 'StartError',
      message:
        `cannot listen on 127.0.0.1, port ${port}: listen EADDRINUSE: address already in use ` +
        `127.0.0.1:${port}; the settings host and port (COMMIT_STATUS_HOST, COMMIT_STATUS_PORT) say where`,
    })
    await t.rejects(startStandAlone({ ...settings, port: 0, host: '192.0.2.1' }), {
      name: 'StartError',
      message: /^cannot listen on 192\.0\.2\.1, port 0: .*EADDRNOTAVAIL/,
    })
    const service = await startStandAlone({ ...settings, port: 0 })
    await service.close()
  },
)

t.test('A missing repositories folder stops the start before anything is opened', async (t) => {
  for (const repositories of ['missing', 'file']) {
    const settings = settingsIn(t, { repositories })
    await t.rejects(startStandAlone(settings), {
      name: 'StartError',
      message: `the repositories folder ${settings.repositories} does not exist; make it, or name another one`,
    })
  }
})

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)

t.test('The address of a service on IPv6 has brackets', { skip: !hasIPv6 && 'there is no IPv6 here' }, async (t) => {
  const service = await startStandAlone(settingsIn(t, { host: '::1' }))
  t.teardown(async () => await service.close())
  t.match(service.url, /^http:\/\/\[::1\]:\d+$/)
  t.equal((await fetch(`${service.url}/healthz`)).status, 200)
})

function settingsIn(t: Test, { repositories = 'repositories', ...more }: Partial<Settings>): Settings {
  const folder = t.testdir({ repositories: {}, file: '' })
  return {
    ...readSettings({ environment: {}, home: folder, directory: folder }),
    port: 0,
    repositories: join(folder, repositories),
    store: `level:${join(folder, 'store')}`,
    logLevel: 'silent',
    ...more,
  }
}
