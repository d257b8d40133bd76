import { fileURLToPath } from 'node:url'
import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ZERO = '0'.repeat(40)

t.test('Wrong use exits 2 with the usage, before anything is sent, and shows no secret', async (t) => {
  const place = new CommandPlace(t.testdir({ token: 'cst_1\nSECRET', empty: '\n' }))
  const url = ['--url', 'http://127.0.0.1:4']
  const cases: [args: string[], complaint: string, environment?: Record<string, string>][] = [
    [['alice/hello', ZERO, ...url], "required option '--state <state>' not specified"],
    [
      ['alice/hello', ZERO, ...url, '--state', 'done'],
      "option '--state <state>' argument 'done' is invalid. Allowed choices are pending, success, failure, error.",
    ],
    [
      ['alice/hello', ZERO, '--state', 'success'],
      'no address of the service: give --url, set COMMIT_STATUS_URL, or git',
    ],
    [
      ['alice/hello', ZERO, '--state', 'success', '--url', 'localhost:8080'],
      "option '--url <base>' argument 'localhost:8080' is invalid. It must be like https://status.example.com.",
    ],
    [
      ['alice/hello', ZERO, '--state', 'success', '--url', 'http://x/?SECRET'],
      'the address of the service must have no user, password, ? or #',
    ],
    [
      ['alice/hello', ZERO, '--state', 'success'],
      'the address of the service must have no user, password, ? or #',
      { COMMIT_STATUS_URL: 'http://bob:SECRET@x' },
    ],
    [
      ['alice/hello', ZERO, '--state', 'success'],
      "option '--url <base>' value 'ftp://x' from env 'COMMIT_STATUS_URL' is invalid. It must be like " +
        'https://status.example.com.',
      { COMMIT_STATUS_URL: 'ftp://x' },
    ],
    [
      ['alice/hello', ZERO, '--state', 'success', ...url, '--timeout', '0s'],
      "option '--timeout <time>' argument '0s' is invalid. It must be like 30s, 5m or 1h, and at most 1d.",
    ],
    [
      ['alice/hello', ZERO, '--state', 'success', ...url, '--timeout', '60'],
      "option '--timeout <time>' argument '60' is invalid. It must be like 30s, 5m or 1h, and at most 1d.",
    ],
    [
      ['alice/hello', ZERO, '--state', 'success', ...url],
      'no token: set COMMIT_STATUS_TOKEN, or give --token-file',
      { COMMIT_STATUS_TOKEN: '' },
    ],
    [
      ['alice/hello', ZERO, '--state', 'success', ...url, '--token-file', 'none'],
      "the token cannot be read: ENOENT: no such file or directory, open 'none'",
    ],
    [['alice/hello', ZERO, '--state', 'success', ...url, '--token-file', 'empty'], 'there is no token in empty'],
    [['alice/hello', ZERO, '--state', 'success', ...url, '--token-file', 'token'], 'what is in token is no token'],
    [['alice', ZERO, '--state', 'success', ...url], '"alice" is no repository name: <owner>/<repo>'],
    [['alice/hello', 'nope', '--state', 'success', ...url], '"nope" is not a full 40 or 64 character hex commit id'],
    [
      ['alice/hello', '--state', 'success', ...url],
      'no commit is given, and none can be told from the folder: git says: fatal: not a git repository',
    ],
    [
      ['alice/hello', ZERO, 'x', '--state', 'success', ...url],
      "too many arguments for 'report'. Expected 2 arguments but got 3.",
    ],
  ]
  await Promise.all(
    cases.map(async ([args, complaint, more]) => {
      const environment = { COMMIT_STATUS_TOKEN: 'cst_SECRET', GIT_CEILING_DIRECTORIES: root, ...more }
      // A file is named as it was given where the folder is that of the process.
      const run = args.includes('none') ? 'runProcess' : 'run'
      const { status, stdout, stderr } = await place[run](['status', 'report', ...args], { environment })
      t.strictSame([status, stdout], [2, ''], complaint)
      t.ok(stderr.startsWith(`error: ${complaint}`), stderr)
      t.match(stderr, '\nsee commit-status status report --help\n')
      t.notMatch(stderr, 'SECRET')
    }),
  )
})
