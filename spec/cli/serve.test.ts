import { once } from 'node:events'
import { existsSync, readFileSync, watch } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { shellWord } from '../../lib/admin/shell-word.js'
import { socketPath } from '../../lib/admin/socket-path.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace, executable } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { missing } from '../fixtures/program.js'
import { RawSocket } from '../fixtures/raw-socket.js'
import { until } from '../fixtures/within.js'

const root = dirname(dirname(executable))

t.test('The service says in one line what it serves and what to do next', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { line, end, url } = await place.serve(t)
  const form =
    /^commit-status: serving (\S+) for the repositories in (.*), store level:(.*); next: .* (\S+) token create/
  const [, address, repositories, store, next = ''] = form.exec(line) ?? []
  t.match(address, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.strictSame([repositories, store], [place.repositories, place.store])
  t.equal(resolve(place.folder, next), executable, 'from the working directory')
  t.equal((await fetch(`${url}/healthz`)).status, 200)
  t.match(await end('SIGTERM'), { status: 0, stderr: new RegExp(`^.{${line.length}}\n$`) }, 'and nothing more')
})

t.test('The log begins with version and commit, and ends when all is closed', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { url, end } = await place.serve(t)
  const { stdout } = await end('SIGTERM')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>
  const commit = join(root, 'build/lib/commit')
  const lines = stdout.trimEnd().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [
      { level: 30, msg: 'started', version, url, ...(existsSync(commit) && { commit: /^[0-9a-f]{7,40}(-dirty)?$/ }) },
      { level: 30, msg: 'stopped' },
    ],
  )
})

const noScript = await missing('util-linux')
t.test('On a terminal its lines are for people', { skip: noScript }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const command = `echo "pid $$"; exec ${shellWord(executable)} serve`
  const { child, ended } = place.start([], {
    program: ['script', '--quiet', '--return', '--command', command, '/dev/null'],
    environment: { TERM: 'xterm' },
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await until(() => output.includes('serving'))
  process.kill(Number(/pid (\d+)/.exec(output)?.[1]), 'SIGTERM')
  const { status, stdout } = await ended
  t.equal(status, 0)
  const plain = stripVTControlCharacters(stdout)
  t.match(plain, /\[\d\d:\d\d:\d\d\] INFO: started \{"version":"[\d.]+",.*"url":"http:/)
  t.match(plain, /INFO: stopped/)
  t.not(plain, stdout, 'in colours')
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`At ${signal} the service finishes what runs, closes the store and exits 0`, async (t) => {
    const place = new CommandPlace(t.testdir())
    const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
    const service = await place.serve(t)
    const token = (await place.run(['token', 'create', 'alice'])).stdout.trimEnd().split('\n').at(-1)
    const idle = await RawSocket.open(t, service.url)
    await idle.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await idle.answer()
    const busy = await RawSocket.open(t, service.url)
    await busy.send(
      `POST /api/v1/repos/alice/hello/statuses/${sha} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ` +
        `${token}\r\nContent-Length: 19\r\n\r\n`,
    )
    t.equal((await fetch(`${service.url}/healthz`)).status, 200, 'what was sent before has arrived')

    const ended = service.end(signal)
    await idle.ended()
    await busy.send('{"state":"success"}')
    t.equal((await busy.answer()).status, 201)
    t.equal((await ended).status, 0)
    t.notOk(existsSync(socketPath(place.store)))
    const store = await LevelStore.open(place.store)
    t.teardown(async () => await store.close())
    t.match(await store.statuses.list(repositoryNamed('alice/hello'), commitId(sha)), [{ state: 'success' }])
  })
}

t.test('A signal during the start ends the service as orderly', async (t) => {
  const place = new CommandPlace(t.testdir())
  const folder = watch(place.folder)
  const { child, ended } = place.start(['serve'])
  // The store's folder is being made.
  await once(folder, 'change')
  folder.close()
  child.kill('SIGTERM')
  t.equal((await ended).status, 0)
  t.match(await place.run(['token', 'list']), { status: 0, stderr: '' }, 'the store was closed')
})

t.test('What kill -9 leaves is no obstacle: not for a command, nor for the next service', async (t) => {
  const place = new CommandPlace(t.testdir())
  await (await place.serve(t)).end('SIGKILL')
  t.ok(existsSync(socketPath(place.store)), 'the socket stays')
  await t.rejects(once(connect(socketPath(place.store)), 'connect'))
  t.match(await place.run(['access', 'grant', 'alice', 'bob', 'read']), { status: 0, stderr: '' })
  await place.serve(t)
  t.match(await place.run(['access', 'list']), { status: 0, stdout: /^alice +bob +read$/m, stderr: '' })
})
