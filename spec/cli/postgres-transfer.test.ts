import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace, executable, type Outcome } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'
import { reportOf } from '../fixtures/report.js'

const hello = repositoryNamed('alice/hello')
const old = repositoryNamed('alice/hello-old')
const gone = commitId('c0ffee')

t.test('Moving to PostgreSQL and back, as the pages have it', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const place = new CommandPlace(t.testdir())
  const back = new CommandPlace(join(place.folder, 'back'))
  const environment = { COMMIT_STATUS_STORE: await server.emptyDatabase() }
  const run = async (...args: string[]): Promise<Outcome> => await place.run(args, { environment })

  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const level = await LevelStore.open(place.store)
  await level.tokens.add({
    id: '0a',
    digest: 'd'.repeat(64),
    user: 'alice',
    name: 'é',
    scopes: ['repo'],
    created_at: '2026-01-31T12:00:00.000Z',
    expires_at: '2030-01-31T12:00:00.000Z',
  })
  await level.tokens.noteUse(new Map([['0a', '2026-02-01T12:00:00.000Z']]))
  await level.grants.set({ owner: 'alice', user: 'bob', access: 'read' })
  await level.grants.set({ owner: 'alice', repository: hello, user: 'carol', access: 'write' })
  await level.grants.set({ owner: 'dave', repository: repositoryNamed('dave/none'), user: 'carol', access: 'write' })
  for (const [name, commit] of [
    [hello, commitId(sha)],
    [hello, gone],
    [old, gone],
  ] as const) {
    const reports = Array.from({ length: 700 }, (_, index) =>
      reportOf(`ci/${index} \u{1f600}`, {
        state: index % 5 === 1 ? 'pending' : 'success',
        description: index % 2 === 0 ? null : `"${index}" é\\`,
        target_url: index % 3 === 0 ? null : `https://ci.example/${index}`,
      }),
    )
    await Promise.all(
      reports.map(
        async (report, index) => await level.statuses.save(name, commit, report, Date.UTC(2026, 0, 31) + index),
      ),
    )
    await level.statuses.save(name, commit, reportOf('ci/1 \u{1f600}', { state: 'error' }), Date.UTC(2026, 1, 1))
  }
  await level.close()

  // The file is read by the shell, as whoever follows the README does it.
  const importOf = async (to: CommandPlace, file: string, more: Record<string, string> = {}): Promise<Outcome> =>
    await to.run(['store', 'import'], {
      environment: more,
      program: ['sh', '-c', `exec "$0" "$@" < '${file}'`, executable],
    })
  const file = join(place.folder, 'statuses.jsonl')

  const exported = await place.run(['store', 'export'])
  t.match(exported, { status: 0, stderr: '' })
  writeFileSync(file, exported.stdout)
  t.strictSame(await run('store', 'migrate'), { status: 0, stdout: 'the tables are of version 5 now\n', stderr: '' })
  const imported = (saved: number): Outcome => ({
    status: 0,
    stdout: `2100 statuses, 1 token, 3 grants imported; ${saved} of the statuses were new, or later than those here\n`,
    stderr: '',
  })
  for (const saved of [2100, 0]) {
    const { stderr, ...outcome } = await importOf(place, file, environment)
    t.strictSame({ ...outcome, stderr: '' }, imported(saved), 'a second time changes nothing')
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string })
    t.match(lines.pop(), { statuses: 2100, tokens: 1, grants: 3, saved, msg: 'audit: store imported' })
    const granted = Array.from({ length: 3 }, () => 'audit: access granted')
    t.strictSame(lines.map(({ msg }) => msg).sort(), saved > 0 ? [...granted, 'audit: token imported'] : granted)
  }

  const there = await run('store', 'export')
  const last = (text: string): string => text.trimEnd().split('\n').at(-1) ?? ''
  t.equal(last(there.stdout), last(exported.stdout), 'count and digest are the same')
  t.equal(
    createHash('sha256').update(there.stdout).digest('hex'),
    createHash('sha256').update(exported.stdout).digest('hex'),
  )
  t.equal(
    (await run('store', 'export', '--repository', 'alice/hello-old')).stdout,
    (await place.run(['store', 'export', '--repository', 'alice/hello-old'])).stdout,
  )
  writeFileSync(file, there.stdout)
  t.strictSame(await importOf(back, file), imported(2100))
  t.equal((await back.run(['store', 'export'])).stdout, exported.stdout, 'and back')

  const same = async (...args: string[]): Promise<string> => {
    const [of, expected] = [await run(...args), await place.run(args)]
    t.match(of, { status: 0, stderr: '' }, args.join(' '))
    t.equal(of.stdout.replace(/bytes +\d+/, ''), expected.stdout.replace(/bytes +\d+/, ''), args.join(' '))
    return of.stdout
  }
  const prune = ['store', 'prune', '--older-than', '2026-02-01', '--gone-commits', '--gone-repositories']
  const commands = async (): Promise<void> => {
    t.match(await same('store', 'stats'), /^statuses +2100\n[^]*^bytes +[1-9]/m)
    await same(...prune)
    await same('status', 'list', 'alice/hello', sha)
    await same('status', 'list', 'alice/hello')
    await same('token', 'list')
    await same('access', 'list')
  }
  await commands()
  const service = await place.serve(t, { environment })
  t.match((await run('store', 'stats')).stdout, /^statuses +2100$/m, 'while an instance serves, too')
  t.match(await run('status', 'delete', 'alice/hello', sha, '--context', 'ci/1 \u{1f600}'), { status: 0 })
  t.match((await run('store', 'stats')).stdout, /^statuses +2099$/m)
  t.match(await run('status', 'delete', 'alice/hello', sha), { status: 0 })
  t.match((await run('store', 'stats')).stdout, /^statuses +1400$/m)
  t.match(await run('repo', 'delete', 'alice/hello-old', '--yes'), { status: 0 })
  t.match((await run('store', 'stats')).stdout, /^statuses +700$/m)
  await service.end('SIGTERM')
})
