import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { isMissing, PostgresServer } from '../fixtures/postgres.js'

t.test('The commands on PostgreSQL', { skip: isMissing }, async (t) => {
  const server = await PostgresServer.start(t)
  const url = (await server.emptyDatabase()).replace('postgres@', 'postgres:secret@')
  const environment = { COMMIT_STATUS_STORE: url }
  const place = new CommandPlace(t.testdir())
  const run = async (...args: string[]) => await place.run(args, { environment })

  const tables = /^commit-status: the database has no tables for this service: run .* store migrate\n$/
  t.match(await run('token', 'list'), { status: 1, stdout: '', stderr: tables })
  t.match(await run('serve'), { status: 1, stdout: '', stderr: tables })
  t.strictSame(await run('store', 'migrate'), { status: 0, stdout: 'the tables are of version 3 now\n', stderr: '' })
  t.strictSame(await run('store', 'migrate'), {
    status: 0,
    stdout: 'the tables are of version 3 already\n',
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
