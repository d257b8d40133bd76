import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { standIns } from '../fixtures/citus.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { shortPush } from '../fixtures/pushed-repository.js'
import { receiver } from '../fixtures/receiver.js'
import { visit } from '../fixtures/visit.js'
import { until } from '../fixtures/within.js'

t.test('The commands on PostgreSQL', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const url = (await server.emptyDatabase()).replace('postgres@', 'postgres:secret@')
  const environment = { COMMIT_STATUS_STORE: url }
  const place = new CommandPlace(t.testdir())
  const run = async (...args: string[]) => await place.run(args, { environment })

  const tables = /^commit-status: the database has no tables for this service: run .* store migrate\n$/
  t.match(await run('token', 'list'), { status: 1, stdout: '', stderr: tables })
  t.match(await run('serve'), { status: 1, stdout: '', stderr: tables })
  t.strictSame(await run('store', 'migrate'), { status: 0, stdout: 'the tables are of version 5 now\n', stderr: '' })
  t.strictSame(await run('store', 'migrate'), {
    status: 0,
    stdout: 'the tables are of version 5 already\n',
    stderr: '',
  })
  t.strictSame(await place.run(['store', 'migrate']), {
    status: 0,
    stdout: 'a LevelDB store has no tables: nothing to do\n',
    stderr: '',
  })

  const one = await place.serve(t, { environment })
  const other = await place.serve(t, { environment })
  t.match(one.line, `store postgres://***@localhost/`)
  t.notMatch(one.line, 'secret')
  const token = (await run('token', 'create', 'alice')).stdout.trim().split('\n').at(-1) ?? ''
  const status = async (base: string): Promise<number> =>
    (
      await fetch(`${base}/api/v1/repos/alice/none/commits/${'0'.repeat(40)}/statuses`, {
        headers: { Authorization: `Bearer ${token}` },
      })
    ).status
  t.strictSame(
    [await status(one.url), await status(other.url)],
    [404, 404],
    'every instance knows a token as soon as it is made',
  )
  const id = (await run('token', 'list')).stdout.split('\n')[1]?.split(' ')[0] ?? ''
  t.match(await run('token', 'revoke', id), { status: 0 })
  t.strictSame([await status(one.url), await status(other.url)], [401, 401], 'and when it is revoked')

  const onTerminal = await place.runOnTerminal(['access', 'grant', 'alice', 'bob', 'read'], { environment })
  t.match(onTerminal.stdout, / INFO.*audit: access granted/, 'on a terminal the line is for people')
  t.notMatch(onTerminal.stdout, '"msg"')

  const link = await run('sign-in', 'alice', '--url', one.url)
  t.match(link, { status: 0, stderr: /"user":"alice".*"msg":"audit: sign-in link created"/ })
  const code = new URL(link.stdout).searchParams.get('code') ?? ''
  const opened = await visit(other, '/sign-in', { form: { code } })
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
  const tokensPages = async () =>
    await Promise.all(
      [one, other].map(async (service) => (await visit(service, '/settings/tokens', { cookie })).status),
    )
  t.strictSame(await tokensPages(), [200, 200], 'a link signs in at every instance')
  t.equal((await run('sign-in', 'alice', '--end')).stdout, 'ended 1 session or link of alice\n')
  t.strictSame(await tokensPages(), [401, 401], 'and nowhere any more once it is ended')
  const bare = { ...environment, COMMIT_STATUS_PORT: '9000' }
  const address = async (more: Record<string, string>) =>
    (await place.run(['sign-in', 'alice'], { environment: { ...bare, ...more } })).stdout
  t.match(await address({}), 'http://127.0.0.1:9000/sign-in?code=')
  t.match(await address({ COMMIT_STATUS_HOST: '::1' }), 'http://[::1]:9000/sign-in?code=')
  t.match(await address({ COMMIT_STATUS_PUBLIC_URL: 'https://ci.example.com/x/' }), 'https://ci.example.com/x/sign-in?')
  const off = await place.run(['sign-in', 'alice'], { environment: { ...environment, COMMIT_STATUS_PAGES: 'off' } })
  t.match(off, { status: 1, stderr: /nobody signs in by links here: they need the setting pages on/ })

  t.strictSame(await run('store', 'verify'), {
    status: 1,
    stdout: '',
    stderr: 'commit-status: this is no LevelDB store: it is checked and backed up with tools of its own\n',
  })
  for (const service of [one, other]) {
    const { status: ended, stdout, stderr } = await service.end('SIGTERM')
    t.equal(ended, 0)
    t.notMatch(stdout + stderr, 'secret')
  }
})

t.test('Where the database has Citus, its tables are spread, which is said; or not', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const place = new CommandPlace(t.testdir())
  const migrate = async (url: string, ...options: string[]): Promise<unknown> =>
    await place.run(['store', 'migrate', ...options], { environment: { COMMIT_STATUS_STORE: url } })
  const url = await server.emptyDatabase()
  await standIns(url)
  const printed = (stdout: string): object => ({ status: 0, stdout, stderr: '' })
  t.strictSame(await migrate(url, '--plain'), printed('the tables are of version 5 now\n'))
  const spread = 'the database has Citus: the statuses are spread over its nodes, all of a repository to one of them\n'
  t.strictSame(await migrate(url), printed(`${spread}the tables are of version 5 already\n`))
  t.strictSame(await migrate(url), printed('the tables are of version 5 already\n'))
  const isSpread = 'FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $$commit_status.outbox$$::regclass'
  // As a program from before webhooks has left it.
  await sql(url, `DELETE ${isSpread}`)
  t.strictSame(await migrate(url), printed('the tables are of version 5 already\n'), 'a new table has nothing')
  t.equal((await sql(url, `SELECT 1 ${isSpread}`)).length, 1)
})

t.test('A push goes into the database, and a service tells it', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const environment = { COMMIT_STATUS_STORE: await server.emptyDatabase(), COMMIT_STATUS_CONFIG: '' }
  const place = new CommandPlace(t.testdir())
  t.equal((await place.run(['store', 'migrate'], { environment })).status, 0)
  const { directory, sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  await place.serve(t, { environment })
  const { url, received } = await receiver(t)
  const made = await place.run(['hook', 'create', '*', url, '--events', 'push'], { environment })
  t.equal(made.status, 0)
  const input = `${'0'.repeat(40)} ${sha} refs/heads/main\n`
  const pushed = await place.run(['pushed', '--pusher', 'bob'], { environment, directory, input })
  t.strictSame(pushed, { status: 0, stdout: '', stderr: '' })
  await until(() => received.length === 1)
  t.equal(shortPush(String(received[0]?.body)), `refs/heads/main -..${sha.slice(0, 7)} by bob (a commit)`)
})
