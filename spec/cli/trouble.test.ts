import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, statSync, truncateSync, watch, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace, executable } from '../fixtures/command.js'
import { writeExport } from '../fixtures/export-file.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'
import { withSmallDisk } from '../fixtures/small-disk.js'

const isRoot = process.geteuid?.() === 0
const NOBODY = 65534
const asNobody = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', 'node', executable]
const program = ['setpriv', ...asNobody] as const

t.test('Whoever has the store and does not answer is named after some seconds', async (t) => {
  const [held, hanging] = [new CommandPlace(t.testdir()), new CommandPlace(join(t.testdirName, 'hanging'))]
  // In use by a program that is no service: this one.
  const store = await LevelStore.open(held.store)
  t.teardown(async () => await store.close())
  const service = await hanging.serve(t)
  service.child.kill('SIGSTOP')
  const outcomes = await Promise.all([held.runProcess(['token', 'list']), hanging.run(['token', 'create', 'alice'])])
  service.child.kill('SIGCONT')
  const socket = 'store/admin/socket'
  t.strictSame(outcomes, [
    {
      status: 1,
      stdout: '',
      stderr:
        `commit-status: the store ${held.store} is in use by process ${process.pid}, which does not answer on ` +
        `${join(held.folder, socket)}\n`,
    },
    {
      status: 1,
      stdout: '',
      stderr:
        `commit-status: the service at ${join(hanging.folder, socket)} gave no answer (nothing came within 5 ` +
        `s); whether it did what was asked is not known\n`,
    },
  ])
})

t.test('A command waits for a store that is let go within some seconds', async (t) => {
  const place = new CommandPlace(t.testdir())
  const store = await LevelStore.open(place.store)
  const folder = watch(place.store)
  const { child, ended } = place.start(['access', 'grant', 'alice', 'bob', 'read'])
  t.teardown(() => child.kill('SIGKILL'))
  // LevelDB begins a new LOG at every attempt to open it.
  await once(folder, 'change')
  folder.close()
  await store.close()
  t.match(await ended, { status: 0, stderr: '' })
})

t.test('The service waits for a store that a command lets go within some seconds', async (t) => {
  const place = new CommandPlace(t.testdir())
  const store = await LevelStore.open(place.store)
  const folder = watch(place.store)
  const [service] = await Promise.all([
    place.serve(t),
    once(folder, 'change').then(async () => {
      folder.close()
      await store.close()
    }),
  ])
  t.match(service.line, /serving http/)
  t.match(await service.end('SIGTERM'), { status: 0 })
})

t.test('Commands at the same time wait for each other', async (t) => {
  const place = new CommandPlace(t.testdir())
  const users = ['a', 'b', 'c', 'd']
  const outcomes = await Promise.all(users.map((user) => place.runProcess(['access', 'grant', 'alice', user, 'read'])))
  t.strictSame(
    outcomes,
    users.map(() => ({ status: 0, stdout: '', stderr: '' })),
  )
  t.equal((await place.run(['access', 'list', '--json'])).stdout.trimEnd().split('\n').length, users.length)
})

t.test(
  'A fault of the machine or a damaged store is one line, the same from the service and from the store',
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const store = await LevelStore.open(place.store)
    await store.statuses.save(repositoryNamed('alice/hello'), commitId('c0ffee'), reportOf('ci'), 0)
    await store.close()
    const key = `alice/hello/${commitId('c0ffee').hex}/ci`
    await withRawLevel(place.store, async (level) => await level.put(key, '{}'))
    const service = await place.serve(t)
    await rm(place.repositories, { recursive: true })
    const outcomes = async () => [await place.run(['repo', 'list']), await place.run(['status', 'list', 'alice/hello'])]
    const running = await outcomes()
    t.strictSame(running, [
      {
        status: 1,
        stdout: '',
        stderr: `commit-status: ENOENT: no such file or directory, scandir '${place.repositories}'\n`,
      },
      { status: 1, stdout: '', stderr: `commit-status: the value of "${key}" is damaged\n` },
    ])
    await service.end('SIGTERM')
    t.strictSame(await outcomes(), running)
  },
)

t.test(
  'A command that meets a full disk says so, through the service and in the store',
  { skip: !isRoot && 'only root can make a small disk' },
  async (t) => {
    t.testdir()
    await withSmallDisk(t, 4, async (folder) => {
      const place = new CommandPlace(folder)
      const file = join(t.testdirName, 'export')
      const description = randomBytes(400).toString('hex')
      await writeExport(file, { name: 'alice/hello', sha: 'c0ffee'.padEnd(40, '0'), contexts: 5000, description })
      const full = () => {
        t.throws(() => {
          writeFileSync(join(folder, 'filler'), randomBytes(4 * 1024 * 1024))
        }, /ENOSPC/)
        truncateSync(join(folder, 'filler'), statSync(join(folder, 'filler')).size - 100 * 1024)
      }
      const said = /a write to the store failed; it is being opened again: .*No space left on device\n$/
      const service = await place.serve(t, { environment: { COMMIT_STATUS_LOG_LEVEL: 'silent' } })
      full()
      t.match(await place.run(['store', 'import', file]), { status: 1, stderr: said })
      await rm(join(folder, 'filler'))
      await service.end('SIGTERM')
      full()
      t.match(await place.run(['store', 'import', file]), { status: 1, stderr: said })
    })
  },
)

t.test('A store folder with a long path works, running and stopped', async (t) => {
  const place = new CommandPlace(t.testdir())
  const environment = {
    COMMIT_STATUS_STORE: `level:${join(place.folder, ...Array.from({ length: 4 }, () => 'x'.repeat(60)))}`,
  }
  const list = { status: 0, stdout: 'ON     USER  ACCESS\nalice  bob   read\n', stderr: '' }
  t.match(await place.run(['access', 'grant', 'alice', 'bob', 'read'], { environment }), { status: 0, stderr: '' })
  t.strictSame(await place.run(['access', 'list'], { environment }), list)
  await place.serve(t, { environment })
  t.strictSame(await place.run(['access', 'list'], { environment }), list)
})

t.test(
  'Another user is told whose command it is',
  { skip: !isRoot && 'only root can become another user' },
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const service = await place.serve(t)
    const path = join(place.store, 'admin', 'socket')
    t.strictSame(await place.run(['token', 'list'], { program }), {
      status: 1,
      stdout: '',
      stderr: `commit-status: no permission to use ${path}: run this as root or as the user of the service\n`,
    })
    await service.end('SIGTERM')
    chmodSync(place.store, 0o755)
    t.match(
      await place.run(['token', 'list'], { program }),
      { status: 1, stdout: '', stderr: /^commit-status: no permission to use .*\n$/ },
      'nor is the store opened',
    )
  },
)

t.test('Root does not write into the store of another user', { skip: !isRoot && 'only root can do so' }, async (t) => {
  const place = new CommandPlace(t.testdir({ store: {} }))
  chownSync(place.store, NOBODY, NOBODY)
  const told = await place.run(['token', 'create', 'alice'])
  t.strictSame(told, {
    status: 1,
    stdout: '',
    stderr:
      `commit-status: the store ${place.store} belongs to nobody and no service is running: run this ` +
      `as that user, with runuser -u nobody -- ${executable} token create alice\n`,
  })
})

t.test('A backup that may not be written says whose it is', { skip: !isRoot && 'only root can do so' }, async (t) => {
  const place = new CommandPlace(t.testdir({ locked: {} }))
  await place.run(['access', 'grant', 'alice', 'bob', 'read'])
  execFileSync('chown', ['-R', String(NOBODY), place.store])
  const copy = join(place.folder, 'locked', 'copy')
  chmodSync(join(place.folder, 'locked'), 0o700)
  const refused = {
    status: 1,
    stdout: '',
    stderr:
      `commit-status: EACCES: permission denied, mkdir '${copy}'; the copy is written as the user nobody: ` +
      'name a folder where that user may write\n',
  }
  t.strictSame(await place.run(['store', 'backup', copy], { program }), refused, 'by this command')
  await place.serve(t, { program })
  t.strictSame(await place.run(['store', 'backup', copy]), refused, 'by the service, as root asks for it')
})
