import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { embed } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { RightsProgram } from '../fixtures/rights-program.js'

t.test(
  'Where a program tells rights, a grant has no effect, and access check shows what the program said',
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const program = new RightsProgram(place.folder)
    program.allow('team/hello bob R')
    await makeRepositoryWithCommit(place.repositories, 'team/hello', { public: true })
    const environment = { COMMIT_STATUS_RIGHTS_COMMAND: program.command.join(' ') }
    const run = async (line: string) => await place.run(line.split(' '), { environment, notes: true })
    t.match(await run('access grant team/hello bob write'), {
      status: 0,
      stderr: /note: it has no effect: the program of the setting rights\.command tells who may do what\n$/,
    })
    t.match(await run('token create carol'), { status: 0, stderr: '' }, 'nothing is said of grants')
    t.strictSame(await run('access check bob team/hello'), {
      status: 0,
      stdout: 'read by the git server; also read by being public\n  R  refs/.*\n  W  W any DENIED by fallthru\n',
      stderr: '',
    })
    t.match(
      (await run('access check team team/hello')).stdout,
      /^read by being public\n  R  R any DENIED by fallthru\n/,
    )
    t.equal((await run('access check bob team/missing')).stdout, 'none; there is no such repository\n')
    t.equal(
      (await run('access check _bob team/hello')).stdout,
      'read by being public; the git server cannot have such a name\n',
    )
    t.match(JSON.parse((await run('access check bob team/hello --json')).stdout), {
      ...{ access: 'read', exists: true, said: { R: 'refs/.*', W: 'W any DENIED by fallthru' } },
      rights: [
        { access: 'read', by: 'command' },
        { access: 'read', by: 'public' },
      ],
    })
    const failing = await place.run(['access', 'check', 'bob', 'team/hello'], {
      environment: { COMMIT_STATUS_RIGHTS_COMMAND: '/no/such/program {access}' },
    })
    t.match(failing, { status: 1, stderr: /it cannot be run: spawn \/no\/such\/program ENOENT/ })
  },
)

t.test('What tells rights is known of a host too', async (t) => {
  const accessPolicy = { access: async () => await Promise.resolve('none' as const) }
  for (const [options, source] of [
    [{}, 'grants'],
    [{ accessPolicy }, 'host'],
  ] as const) {
    const { service } = await embed(t, options)
    t.equal(await service.administration.accessSource(), source)
  }
})
