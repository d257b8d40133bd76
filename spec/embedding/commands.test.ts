import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { socketPath } from '../../lib/admin/socket-path.js'
import { runTask } from '../../lib/index.js'
import { CommandPlace } from '../fixtures/command.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'

const program = fileURLToPath(new URL('../fixtures/host-process.ts', import.meta.url))

interface Host {
  readonly url: string
  readonly child: ChildProcessByStdio<null, Readable, null>
  /** Its audit log. */
  readonly audit: Record<string, unknown>[]
}

/** Starts a git server with the service inside, in a process of its own. */
async function startHost(t: Test, place: CommandPlace, ...options: string[]): Promise<Host> {
  const args = [...process.execArgv, program, place.repositories, place.store, ...options]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)
  const [url] = (await once(lines, 'line')) as [string]
  const audit: Record<string, unknown>[] = []
  lines.on('line', (line) => audit.push(JSON.parse(line) as Record<string, unknown>))
  return { url, child, audit }
}

t.test('Every command works against the store of a host that runs', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  await makeRepository(place.repositories, 'alice/other')
  const host = await startHost(t, place)

  const created = await place.run(['token', 'create', 'alice', '--json'])
  const { token, id } = JSON.parse(created.stdout) as { token: string; id: string }
  const backup = join(place.folder, 'backup')
  const report = ['status', 'report', 'alice/hello', sha, '--url', host.url, '--state']
  const steps: [args: string[], stdout: RegExp][] = [
    [['token', 'list'], new RegExp(`^ID .*\n${id} +alice `)],
    [['access', 'grant', 'alice/hello', 'bob', 'read'], /^$/],
    [['access', 'list'], /^ON .*\nalice\/hello +bob +read\n$/],
    [['access', 'check', 'bob', 'alice/hello'], /^read by the grant on alice\/hello\n$/],
    [['access', 'revoke', 'alice/hello', 'bob'], /^$/],
    [['repo', 'list'], /^REPOSITORY .*\nalice\/hello +private\nalice\/other +private\n$/],
    [['repo', 'public', 'alice/hello'], /^$/],
    [['repo', 'private', 'alice/hello'], /^$/],
    [[...report, 'success'], /^reported success on /],
    [['status', 'list', 'alice/hello'], new RegExp(`^${sha}  success\n`)],
    [['store', 'stats'], /^repositories +1\n/],
    [['store', 'export'], /\n\{"type":"end","records":2,.*\}\n$/],
    [['store', 'verify'], /^1 status, 1 token, 0 grants, 0 damaged\n$/],
    [['store', 'backup', backup], /^1 status, 1 token, 0 grants copied to /],
    [['store', 'prune', '--gone-commits'], /^0 statuses would go/],
    [['store', 'migrate'], /^a LevelDB store has no tables/],
    [['repo', 'rename', 'alice/hello', 'alice/other'], /^1 status, 0 grants moved/],
    [['repo', 'rename', 'alice/other', 'alice/hello'], /^1 status, 0 grants moved/],
    [['status', 'delete', 'alice/hello', sha], /^1 status of alice\/hello /],
    [[...report, 'pending'], /^reported pending on /],
    [['repo', 'delete', 'alice/hello', '--yes'], /^1 status, 0 grants of alice\/hello removed\n$/],
  ]
  const ran = new Set(['token create', 'store import', 'token revoke'])
  for (const [args, stdout] of steps) {
    ran.add(args.slice(0, 2).join(' '))
    const outcome = await place.runProcess(args, { environment: { COMMIT_STATUS_TOKEN: token } })
    t.match(outcome, { status: 0, stdout, stderr: '' }, args.join(' '))
  }
  const file = join(place.folder, 'export.jsonl')
  const shell = '"$0" store export > "$1" && "$0" store import "$1"'
  const executable = fileURLToPath(new URL('../../scripts/commit-status', import.meta.url))
  const moved = await place.run([], { program: ['sh', '-c', shell, executable, file] })
  t.match(moved, { status: 0, stdout: /^0 statuses, 1 token, 0 grants imported/ })
  t.match(await place.run(['token', 'revoke', id]), { status: 0, stdout: '' })
  t.equal((await fetchJson(`${host.url}/api/v1/repos/alice/hello/commits/${sha}/statuses`, { token })).status, 401)
  const served = await place.runProcess(['serve'])
  t.match(served, { status: 1, stderr: new RegExp(`store is in use|the store .* is in use`) })

  const documented = await commandsOf(place)
  t.strictSame(
    documented.filter((command) => !ran.has(command) && !/^(?:hook |pushed$)/.test(command)),
    // The inner ones speak HTTP like any client; people sign in to pages of the host in its way, and a doctor looks
    // at a server of its own. The last two are made from the commands alone.
    // A host has no webhooks unless it asks for them.
    ['set-up', 'serve', ...['status wait', 'gate', 'log', 'follow', 'sign-in', 'doctor'], 'completion', 'manual'],
    'no command is left out',
  )
  t.match(host.audit.at(0), { msg: 'audit: token created', user: 'alice', by: { uid: process.getuid?.() } })
})

t.test('The socket of an embedded service is gone when it has closed, and its process ends by itself', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { child } = await startHost(t, place)
  t.equal(statSync(socketPath(place.store)).mode & 0o777, 0o600)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
  t.notOk(existsSync(socketPath(place.store)))
  t.match(await place.run(['token', 'list']), { status: 0 }, 'and commands open the store themselves')
})

t.test('With commands: false no command reaches the service, and says who has the store', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { child } = await startHost(t, place, 'no-commands')
  t.notOk(existsSync(socketPath(place.store)))
  const { status, stderr } = await place.run(['token', 'list'])
  t.strictSame([status, stderr.includes(`is in use by process ${child.pid}`)], [1, true])
})

t.test('A host makes a token by the library and uses it over HTTP; revoked, it is refused at once', async (t) => {
  const { service, repositories } = await embed(t)
  mkdirSync(join(repositories, 'alice'))
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const url = await listen(t, (request, response) => service.handler(request, response))
  const { administration } = service
  const by = { user: 'alice' }
  const { token, id } = await administration.createToken(
    { user: 'alice', name: 'from the settings page', scopes: ['repo'], expiresAt: null },
    by,
  )
  const report = async () =>
    await fetchJson(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, {
      method: 'POST',
      token,
      body: { state: 'success' },
    })
  t.equal((await report()).status, 201)
  t.match(await administration.listTokens('alice'), [{ id, name: 'from the settings page' }])
  await administration.grantAccess('alice/hello', 'bob', 'read', by)
  t.equal(await service.access('bob', 'alice/hello'), 'read')
  const request = { goneCommits: true, goneRepositories: true, olderThan: null, remove: true }
  t.match(await runTask(administration.pruneStore(request), () => undefined), { statuses: 0, kept: 0 })
  await administration.revokeToken(id, by)
  t.equal((await report()).status, 401)
})

/** Every command that `--help` names. */
async function commandsOf(place: CommandPlace): Promise<string[]> {
  const namesIn = (help: string): string[] =>
    Array.from(help.slice(help.indexOf('\nCommands:')).matchAll(/^ {2}([a-z-]+)/gm), ([, name = '']) => name)
  const groups = namesIn((await place.run(['--help'])).stdout)
  const found = groups.map(async (group) => {
    const { stdout } = await place.run([group, '--help'])
    return stdout.includes('\nCommands:') ? namesIn(stdout).map((name) => `${group} ${name}`) : [group]
  })
  return (await Promise.all(found)).flat()
}
