import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { CommandPlace, executable } from '../fixtures/command.js'

t.test('A port that is in use stops the start with one line that names the address and the settings', async (t) => {
  const [one, other] = [new CommandPlace(t.testdir()), new CommandPlace(join(t.testdirName, 'other'))]
  const { port } = new URL((await one.serve(t)).url)
  t.strictSame(await other.runProcess(['serve'], { environment: { COMMIT_STATUS_PORT: port } }), {
    status: 1,
    stdout: '',
    stderr:
      `commit-status: cannot listen on 127.0.0.1, port ${port}: listen EADDRINUSE: address already in use ` +
      `127.0.0.1:${port}; the settings host and port (COMMIT_STATUS_HOST, COMMIT_STATUS_PORT) say where\n`,
  })
})

t.test('A store that is in use, or a repositories folder that is missing, stops the start with one line', async (t) => {
  const place = new CommandPlace(t.testdir())
  await place.serve(t)
  const [locked, missing] = await Promise.all([
    place.runProcess(['serve']),
    place.runProcess(['serve'], { environment: { COMMIT_STATUS_REPOSITORIES: '/nonexistent' } }),
  ])
  t.strictSame(locked, {
    status: 1,
    stdout: '',
    stderr: `commit-status: the store ${place.store} is in use by another process\n`,
  })
  t.strictSame(missing, {
    status: 1,
    stdout: '',
    stderr:
      'commit-status: the repositories folder /nonexistent does not exist; make it, or name another one; the setting ' +
      'repositories (COMMIT_STATUS_REPOSITORIES) names it\n',
  })
})

t.test('Bad settings are wrong use: one line, no stack, exit 2, for every command', async (t) => {
  const place = new CommandPlace(t.testdir({ 'settings.json': '{"prot": 80}' }))
  const outcomes = await Promise.all([
    place.runProcess(['serve'], { environment: { COMMIT_STATUS_PORT: 'http' } }),
    place.run(['token', 'list'], { environment: { COMMIT_STATUS_PROT: '80' } }),
    place.run(['token', 'list', '--config', 'settings.json']),
    place.run(['repo', 'list'], { environment: { COMMIT_STATUS_CONFIG: 'none.json' } }),
  ])
  t.strictSame(
    outcomes.map(({ stderr }) => stderr.replaceAll(place.folder, '')),
    [
      'commit-status: bad setting port (COMMIT_STATUS_PORT) = "http": must be integer\n',
      'commit-status: unknown setting COMMIT_STATUS_PROT = "80": no setting has this variable; did you mean ' +
        'COMMIT_STATUS_PORT?\n',
      'commit-status: unknown setting prot (/settings.json) = 80: no setting has this name; did you mean port?\n',
      'commit-status: the settings file /none.json cannot be read: ENOENT: no such file or directory, open ' +
        "'/none.json'\n",
    ],
  )
  t.strictSame(
    outcomes.map(({ status, stdout }) => [status, stdout]),
    outcomes.map(() => [2, '']),
  )
  t.notOk(existsSync(place.store), 'nothing was opened')
})

t.test('The settings file of the machine is read by every command where no other is named', async (t) => {
  const place = new CommandPlace(t.testdir({ etc: {}, srv: { alice: {} } }))
  writeFileSync(
    place.usualSettings,
    JSON.stringify({ repositories: '../srv', store: 'level:../data', tokenPrefix: 'ours', port: 0 }),
  )
  const environment = { COMMIT_STATUS_REPOSITORIES: undefined, COMMIT_STATUS_STORE: undefined }
  t.match(await place.run(['token', 'create', 'alice'], { environment }), { status: 0, stdout: /\nours_/ })
  t.ok(existsSync(join(place.folder, 'data', 'CURRENT')))
})

t.test('A settings file names what the environment does not', async (t) => {
  const folder = t.testdir({ srv: { repositories: {} } })
  const place = new CommandPlace(folder)
  writeFileSync(
    join(folder, 'srv', 'settings.json'),
    JSON.stringify({ repositories: 'repositories', logLevel: 'debug' }),
  )
  const { line } = await place.serve(t, {
    program: ['env', '-u', 'COMMIT_STATUS_REPOSITORIES', executable, '--config', 'srv/settings.json'],
  })
  const file = join(folder, 'srv', 'settings.json')
  t.match(
    line,
    `for the repositories in ${join(folder, 'srv', 'repositories')}, store level:${place.store}, settings ${file};`,
  )
})

t.test('The default paths are the same from every working directory', async (t) => {
  const folder = t.testdir({ home: { scripts: {} }, elsewhere: {} })
  const home = join(folder, 'home')
  for (const name of ['build', 'scripts/commit-status', 'scripts/commit-status.js', 'package.json'])
    cpSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), join(home, name), { recursive: true })
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(home, 'node_modules'))
  mkdirSync(join(home, 'inside'))
  const place = new CommandPlace(join(folder, 'unused'))
  const program = [
    'env',
    '-u',
    'COMMIT_STATUS_REPOSITORIES',
    '-u',
    'COMMIT_STATUS_STORE',
    join(home, 'scripts/commit-status'),
  ] as const
  for (const directory of [join(folder, 'elsewhere'), join(home, 'inside')]) {
    const service = await place.serve(t, { directory, program: [...program] })
    t.match(service.line, `for the repositories in ${home}/data/repositories, store level:${home}/data/store;`)
    t.strictSame(
      await place.run(['repo', 'list'], { directory: home, program: [...program] }),
      { status: 0, stdout: '', stderr: '' },
      'the folder that nobody chose has been made',
    )
    t.equal((await service.end('SIGTERM')).status, 0)
  }
  t.notOk(existsSync(join(folder, 'elsewhere', 'data')))
})
