import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'

const { username: user, uid } = userInfo()

/** Every kind of change by command, and what is noted of it besides the user. */
async function changes(place: CommandPlace): Promise<{ lines: object[]; token: string }> {
  const { id, token } = JSON.parse(
    (await place.run(['token', 'create', 'alice', '--name', 'CI', '--json'])).stdout,
  ) as { id: string; token: string }
  const commands: [args: string[], ...lines: object[]][] = [
    [
      ['access', 'grant', 'alice/hello', 'bob', 'read'],
      { on: 'alice/hello', user: 'bob', access: 'read', msg: 'audit: access granted' },
    ],
    [['repo', 'public', 'alice/hello'], { repository: 'alice/hello', msg: 'audit: repository made public' }],
    [['repo', 'private', 'alice/hello'], { repository: 'alice/hello', msg: 'audit: repository made private' }],
    [
      ['repo', 'rename', 'alice/hello', 'alice/x'],
      { from: 'alice/hello', to: 'alice/x', statuses: 2, grants: 1, msg: 'audit: repository renamed' },
      { on: 'alice/hello', user: 'bob', access: 'read', to: 'alice/x', msg: 'audit: access moved' },
    ],
    [
      ['status', 'delete', 'alice/x', commitId('a').hex],
      { repository: 'alice/x', sha: commitId('a').hex, context: null, statuses: 1, msg: 'audit: statuses deleted' },
    ],
    [['access', 'revoke', 'alice/x', 'bob'], { on: 'alice/x', user: 'bob', msg: 'audit: access revoked' }],
    [
      ['repo', 'delete', 'alice/x', '--yes'],
      { repository: 'alice/x', statuses: 1, grants: 0, msg: 'audit: repository deleted' },
    ],
    [['token', 'revoke', id], { token: id, user: 'alice', name: 'CI', msg: 'audit: token revoked' }],
  ]
  for (const [args] of commands) await place.run(args)
  // What only looks, and what is refused.
  for (const args of [
    ['token', 'list'],
    ['access', 'list'],
    ['repo', 'list'],
    ['status', 'list', 'alice/x'],
    ['token', 'revoke', id],
    ['repo', 'delete', 'alice/x'],
  ])
    await place.run(args)
  return {
    token,
    lines: [
      { token: id, user: 'alice', name: 'CI', scopes: ['repo'], expires_at: null, msg: 'audit: token created' },
      ...commands.flatMap(([, ...more]) => more),
    ].map((line) => ({ level: 30, by: { user, uid }, ...line })),
  }
}

async function filledPlace(folder: string): Promise<CommandPlace> {
  const place = new CommandPlace(folder)
  await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const store = await LevelStore.open(place.store)
  for (const digits of ['a', 'b'])
    await store.statuses.save(repositoryNamed('alice/hello'), commitId(digits), reportOf('ci'), 0)
  await store.close()
  return place
}

function audited(log: string): object[] {
  const lines = log
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { msg: string; time?: number })
  return lines.filter(({ msg }) => msg.startsWith('audit: ')).map(({ time: _, ...line }) => line)
}

t.test('Every change by a command is one line of the running service’s log: who, what, and to whom', async (t) => {
  const place = await filledPlace(t.testdir())
  const service = await place.serve(t)
  const { lines, token } = await changes(place)
  const { stdout } = await service.end('SIGTERM')
  t.strictSame(audited(stdout), lines)
  t.notMatch(stdout, token)
  t.notOk(existsSync(join(place.store, 'admin/changes.log')))
})

t.test('While the service is stopped, the same lines are in a file beside its socket', async (t) => {
  const place = await filledPlace(t.testdir())
  const { lines, token } = await changes(place)
  const path = join(place.store, 'admin/changes.log')
  const log = readFileSync(path, 'utf8')
  t.strictSame(audited(log), lines)
  t.equal(log.split('\n').length, lines.length + 1, 'and nothing else')
  t.notMatch(log, token)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(join(place.store, 'admin')).mode & 0o777, 0o700)
  const service = await place.serve(t)
  await service.end('SIGTERM')
  t.equal(readFileSync(path, 'utf8'), log, 'a service leaves it')
})

t.test('A change that cannot be noted is done, and this is said', async (t) => {
  const place = await filledPlace(t.testdir())
  const path = join(place.store, 'admin/changes.log')
  mkdirSync(path, { recursive: true })
  t.strictSame(await place.run(['access', 'grant', 'alice', 'bob', 'read']), {
    status: 0,
    stdout: '',
    stderr:
      `commit-status: done, but it could not be noted in ${path}: EISDIR: illegal operation on a directory, ` +
      `open '${path}'\n`,
  })
  rmSync(path, { recursive: true })
  t.match((await place.run(['access', 'list'])).stdout, 'bob')
})
