import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { pastedCommand } from '../../scripts/cli/administration/pasted-command.js'
import { readGivenSettings } from '../../lib/stand-alone/settings.js'
import { CommandPlace, executable } from '../fixtures/command.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'

const NOBODY = 65534

/** Nothing that names settings; and whoever has settings of the machine reads others in these specs. */
const NONE = { COMMIT_STATUS_REPOSITORIES: undefined, COMMIT_STATUS_STORE: undefined, COMMIT_STATUS_CONFIG: undefined }

/** Pastes a line into a shell of its own, in the root folder. */
async function pasted(line: string, variables: Record<string, string> = {}): Promise<string> {
  const given = Object.entries({ PATH: process.env['PATH'] ?? '', ...variables }).map(
    ([name, value]) => `${name}=${value}`,
  )
  const { stdout } = await promisify(execFile)('env', ['-i', ...given, 'sh', '-euc', line], { cwd: '/' })
  return stdout
}

/** Whether a token is one of the service. */
async function isKnown(url: string, output: string): Promise<boolean> {
  const token = output.trimEnd().split('\n').at(-1) ?? ''
  const { status } = await fetch(`${url}/api/v1/repos/alice/none/commits/${'0'.repeat(40)}/statuses`, {
    headers: { Authorization: `Bearer ${token}` },
  })
  return status === 404
}

/** The line of the start message, and those of the front page. */
async function hints(line: string, url: string): Promise<string[]> {
  const [, first = ''] = /next: create a token with (.*) token create <user>$/.exec(line) ?? []
  const page = await (await fetch(url, { headers: { Accept: 'text/html' } })).text()
  const text = page.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&').replaceAll('&gt;', '>')
  const onPage = Array.from(text.matchAll(/(?:\$\(|<code>)([^<(]*) (?:token create|repo public|sign-in) alice/g))
  return [first, ...onPage.map(([, command = '']) => command)]
}

async function worksPasted(t: Test, place: CommandPlace, line: string, url: string, more = {}): Promise<void> {
  const commands = await hints(line, url)
  t.equal(new Set(commands).size, 1, 'the message and the page say the same')
  t.equal(commands.length, 4)
  const [command = ''] = commands
  t.ok(await isKnown(url, await pasted(`${command} token create alice`, more)))
}

t.test('What the service says to paste works from any folder, however it got its settings', async (t) => {
  const place = new CommandPlace(t.testdir({ "it's a file.json": '' }))
  writeFileSync(
    join(place.folder, "it's a file.json"),
    JSON.stringify({ repositories: 'repositories', store: 'level:store', port: 0 }),
  )
  const [file, variables] = [place, new CommandPlace(join(t.testdirName, 'other place'))]
  const program: [string, ...string[]] = [executable, '--config', "it's a file.json"]
  const one = await file.serve(t, { program, environment: NONE })
  await worksPasted(t, file, one.line, one.url)
  t.match(await pasted(`${(await hints(one.line, one.url))[0]} sign-in alice`), /^http:\S+\/sign-in\?code=/)
  const other = await variables.serve(t)
  await worksPasted(t, variables, other.line, other.url)
})

t.test('What the file of the machine says needs no words, unless it is not to be read', async (t) => {
  const place = new CommandPlace(t.testdir({ etc: {} }))
  writeFileSync(place.usualSettings, '{"port": 0}')
  const command = (environment: Record<string, string>) => {
    const io = { usualSettings: place.usualSettings, env: environment }
    const sources = { environment, home: '/home', directory: '/', usualFile: place.usualSettings }
    return pastedCommand(io, readGivenSettings(sources))
  }
  t.equal(command({}), executable)
  t.equal(command({ COMMIT_STATUS_CONFIG: '' }), `COMMIT_STATUS_CONFIG= ${executable}`)
})

t.test('With PostgreSQL too, and no password is in it', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const store = (await server.emptyDatabase()).replace('postgres@', 'postgres:secret@')
  const place = new CommandPlace(t.testdir())
  const environment = { COMMIT_STATUS_STORE: store }
  const { stderr } = await place.run(['serve'], { environment })
  const [, line = ''] = /for this service: run (.* store migrate)\n$/.exec(stderr) ?? []
  await t.rejects(
    pasted(line),
    /COMMIT_STATUS_STORE: must be as for the service/,
    'a shell without it goes nowhere else',
  )
  t.match(await pasted(line, environment), /^the tables are of version/)
  const one = await place.serve(t, { environment })
  t.notMatch(one.line, 'secret')
  await worksPasted(t, place, one.line, one.url, environment)
  writeFileSync(join(place.folder, 'settings.json'), JSON.stringify({ store, repositories: 'repositories', port: 0 }))
  const program: [string, ...string[]] = [executable, '--config', 'settings.json']
  const other = await place.serve(t, { program, environment: NONE })
  await worksPasted(t, place, other.line, other.url)
})

t.test('A database that is down is named once, with its setting', async (t) => {
  const place = new CommandPlace(t.testdir())
  const environment = { COMMIT_STATUS_STORE: 'postgres://u:secret@127.0.0.1:1/d' }
  for (const args of [['token', 'list'], ['store', 'migrate'], ['serve']])
    t.strictSame(await place.run(args, { environment }), {
      status: 1,
      stdout: '',
      stderr:
        'commit-status: the database cannot be used: connect ECONNREFUSED 127.0.0.1:1; the setting store ' +
        '(COMMIT_STATUS_STORE) names it\n',
    })
})

t.test(
  'Root is given the line that works as the user of the store',
  { skip: process.geteuid?.() !== 0 && 'only root can become another user' },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'cst-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const place = new CommandPlace(folder)
    await place.run(['token', 'create', 'alice'])
    for (const path of [folder, place.store, ...readdirSync(place.store, { recursive: true, encoding: 'utf8' })])
      chownSync(path.startsWith('/') ? path : join(place.store, path), NOBODY, NOBODY)
    const { stderr } = await place.run(['token', 'create', 'bob', '--name', 'of bob'])
    const [, line = ''] = /with (runuser -u nobody -- .*)\n$/.exec(stderr) ?? []
    const variables = { COMMIT_STATUS_STORE: `level:${place.store}`, COMMIT_STATUS_CONFIG: '' }
    t.match(await pasted(line, variables), /^Token \w+ of bob/)
    const leaked = `cst_${'a'.repeat(48)}`
    const refused = await place.run(['token', 'revoke', leaked])
    t.match(refused.stderr, / token revoke -\n$/)
    t.notMatch(refused.stderr, leaked)
  },
)

t.test('A command that makes a store says so, and one that only reads makes none', async (t) => {
  const place = new CommandPlace(t.testdir())
  const missing =
    `commit-status: there is no store ${place.store}, which the setting store (COMMIT_STATUS_STORE) names: no ` +
    'service has run with these settings\n'
  for (const line of ['token list', 'token revoke 0123456789ab', 'access revoke alice bob', 'store export'])
    t.strictSame(await place.run(line.split(' '), { notes: true }), { status: 1, stdout: '', stderr: missing }, line)
  t.strictSame(await place.run(['repo', 'list'], { notes: true }), { status: 0, stdout: '', stderr: '' })
  t.notOk(existsSync(place.store))
  const made = `commit-status: note: made the store level:${place.store}; no service uses it yet\n`
  t.match((await place.run(['token', 'create', 'alice'], { notes: true })).stderr, made)
  t.notMatch((await place.run(['token', 'create', 'alice'], { notes: true })).stderr, made)
})
