import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CommandPlace, type Outcome } from '../fixtures/command.js'
import { makeCommit, makeRepository } from '../fixtures/git.js'

const DONE = { status: 0, stdout: '', stderr: '' }

t.test('Changes are the same whether they go through the running service or into the store', async (t) => {
  const place = new CommandPlace(t.testdir())
  await makeRepository(place.repositories, 'alice/hello')
  const changes = async (): Promise<unknown[]> => [
    await place.run(['access', 'grant', 'alice', 'bob', 'read']),
    await place.run(['access', 'grant', 'alice/hello', 'bob', 'write']),
    await place.run(['access', 'list', 'alice']),
    await place.run(['access', 'revoke', 'alice', 'bob']),
    await place.run(['repo', 'public', 'alice/hello']),
    existsSync(join(place.repositories, 'alice/hello.git/git-daemon-export-ok')),
    await place.run(['repo', 'private', 'alice/hello']),
    existsSync(join(place.repositories, 'alice/hello.git/git-daemon-export-ok')),
  ]
  const list = { ...DONE, stdout: 'ON           USER  ACCESS\nalice        bob   read\nalice/hello  bob   write\n' }
  const expected = [DONE, DONE, list, DONE, DONE, true, DONE, false]
  t.strictSame(await changes(), expected, 'stopped')
  await place.serve(t)
  t.strictSame(await changes(), expected, 'running')
})

t.test(
  'What is printed is the same whether the service runs or not, and JSON wherever records are asked for',
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const service = await place.serve(t)
    const directory = await makeRepository(place.repositories, 'alice/hello', { public: true })
    await makeRepository(place.repositories, 'bob/hello')
    const sha = await makeCommit(directory)
    const { token } = JSON.parse((await place.run(['token', 'create', 'alice', '--json'])).stdout) as { token: string }
    await place.run(['token', 'create', 'bob', '--name', 'of bob'])
    await place.run(['access', 'grant', 'alice/hello', 'bob', 'write'])
    for (const context of ['lint', 'build']) {
      await fetch(`${service.url}/api/v1/repos/alice/hello/statuses/${sha}`, {
        method: 'POST',
        headers: { Authorization: `token ${token}` },
        body: JSON.stringify({ state: 'failure', context, description: '2 of 300' }),
      })
    }
    const commands: [args: string[], stdout: RegExp][] = [
      [['token', 'list', 'bob'], /^ID +USER .*\n\w{12} +bob +repo .* never +never +none +of bob\n$/],
      [
        ['token', 'list', 'bob', '--json'],
        /^\{"id":"\w{12}","user":"bob","name":"of bob","scopes":\["repo"\],"created_at":"\S+Z",.*\}\n$/,
      ],
      [['access', 'list', '--json'], /^\{"on":"alice\/hello","user":"bob","access":"write"\}\n$/],
      [['repo', 'list'], /^REPOSITORY +VISIBILITY\nalice\/hello +public\nbob\/hello +private\n$/],
      [
        ['status', 'list', 'alice/hello'],
        new RegExp(`^${sha}  failure\n  failure +build +\\S+Z +by alice +2 of 300\n  failure +lint .*\n$`),
      ],
      [
        ['status', 'list', 'alice/hello', sha, '--json'],
        new RegExp(
          `^\\{"id":"[^"]+","sha":"${sha}","context":"build","state":"failure","description":"2 of ` +
            `300","target_url":null,"created_at":"\\S+Z","updated_at":"\\S+Z",` +
            `"reporter":\\{"user":"alice","token":"\\w{12}"\\}\\}\n\\{.*\\}\n$`,
        ),
      ],
      [['status', 'list', 'alice'], /^$/],
      [['access', 'revoke', 'alice', 'bob'], /^$/],
    ]
    const outcomes = async (): Promise<Outcome[]> => {
      const all: Outcome[] = []
      for (const [args] of commands) all.push(await place.run(args))
      return all
    }
    const running = await outcomes()
    for (const [index, [args, stdout]] of commands.entries()) t.match(running[index]?.stdout, stdout, args.join(' '))
    t.match(
      running.slice(0, 6).map(({ status, stderr }) => [status, stderr]),
      Array.from({ length: 6 }, () => [0, '']),
    )
    t.match(running.slice(6), [
      { status: 2, stderr: /^commit-status: "alice" is no repository name: <owner>\/<repo>; .*it is git\/alice, / },
      { status: 1, stderr: 'commit-status: bob has no grant on alice\n' },
    ])
    await service.end('SIGTERM')
    t.strictSame(await outcomes(), running)
  },
)
