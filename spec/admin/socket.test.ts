import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { socketPath, withShortPath } from '../../lib/admin/socket-path.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { startService } from '../fixtures/service.js'

t.test(
  'The socket of the commands and its folder are open to their owner only, and gone after the service',
  async (t) => {
    const service = await startService(t)
    const { store } = service
    const path = join(store, 'admin', 'socket')
    t.equal(path, socketPath(store))
    t.ok(statSync(path).isSocket())
    t.equal(modeOf(path), '600')
    t.equal(modeOf(join(store, 'admin')), '700')
    t.equal(modeOf(store), '700')
    await service.close()
    t.notOk(existsSync(path))
  },
)

t.test('A folder of the socket that others may enter is closed to them', async (t) => {
  const store = join(t.testdir({}), 'store')
  mkdirSync(join(store, 'admin'), { recursive: true, mode: 0o755 })
  await t.test('by the service', async (t) => {
    await startService(t, { settings: { store: `level:${store}` } })
    t.equal(modeOf(join(store, 'admin')), '700')
  })
})

t.test('A socket path longer than the system allows works, and leaves nothing behind', async (t) => {
  const folder = t.testdir()
  const short = mkdtempSync(join(tmpdir(), 'spec-'))
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
    rmSync(short, { recursive: true })
  })
  const store = join(folder, ...Array.from({ length: 5 }, () => 'store '.repeat(10)), 'é')
  for (const tmp of [short, folder]) {
    process.env['TMPDIR'] = tmp
    await t.test(`with a temporary folder of ${tmp.length} characters`, async (t) => {
      const service = await startService(t, { settings: { store: `level:${store}` } })
      t.strictSame(await service.admin.listTokens(null), [])
      t.strictSame(service.log, [])
      await service.close()
      t.notOk(existsSync(socketPath(store)))
      await t.rejects(service.admin.listTokens(null), { name: 'ServiceNotRunning' })
    })
    t.strictSame(readdirSync(tmp), tmp === short ? [] : ['store '.repeat(10)])
  }
})

t.test('A path is shortened when it has to be: by bytes, not characters', async (t) => {
  const seen = async (path: string) => await withShortPath(path, async (short) => short)
  const short = `/${'x'.repeat(95)}/socket`
  t.equal(Buffer.byteLength(short), 103)
  t.equal(await seen(short), short)
  for (const path of [`/x${'x'.repeat(95)}/socket`, `/${'é'.repeat(48)}/socket`]) {
    const used = await seen(path)
    t.ok(Buffer.byteLength(used) <= 103)
    t.match(used, /\/socket$/)
  }
  await t.rejects(
    withShortPath('x'.repeat(200), async () => await Promise.reject(new Error('of the use'))),
    { message: 'of the use' },
  )
})

t.test('What stands where the socket belongs, and listens no more, is replaced', async (t) => {
  const store = join(t.testdir({}), 'store')
  mkdirSync(join(store, 'admin'), { recursive: true })
  writeFileSync(socketPath(store), '')
  await t.test('by the service', async (t) => {
    const { admin } = await startService(t, { settings: { store: `level:${store}` } })
    t.strictSame(await admin.listTokens(null), [])
  })
})

t.test('A service whose socket cannot be opened serves without, says so, and closes as usual', async (t) => {
  const store = join(t.testdir({}), 'store')
  mkdirSync(store, { mode: 0o700 })
  writeFileSync(join(store, 'admin'), 'in the way')
  await t.test('all the same', async (t) => {
    const service = await startService(t, { settings: { store: `level:${store}` } })
    t.equal((await service.call('GET', '/healthz')).status, 200)
    t.match(service.log, [
      {
        level: 40,
        msg: 'commands cannot reach this service: its socket could not be opened',
        err: { code: 'EEXIST' },
        path: socketPath(store),
      },
    ])
    await t.rejects(service.admin.listTokens(null), { name: 'ServiceNotRunning' })
    await service.close()
  })
  await (await LevelStore.open(store)).close()
  t.pass('the store was let go')
})

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}
