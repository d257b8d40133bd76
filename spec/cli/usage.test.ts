import { readFileSync } from 'node:fs'
import t from 'tap'
import { settings } from '../../config/settings.js'
import { CommandPlace } from '../fixtures/command.js'
import { git } from '../fixtures/git.js'

const commands = [
  ...[
    'set-up',
    'serve',
    'token',
    'token create',
    'token list',
    'token revoke',
    'access',
    'access grant',
    'access revoke',
    'access check',
    'access list',
  ],
  'hook',
  ...['create', 'list', 'log', 'test', 'delete', 'pause', 'resume', 'resend', 'rotate'].map((name) => `hook ${name}`),
  ...[
    'repo',
    'repo list',
    'repo public',
    'repo private',
    'repo rename',
    'repo delete',
    'status',
    'status list',
    'status report',
    'status wait',
    'status delete',
    'store',
  ],
  ...['store stats', 'store export', 'store import', 'store prune', 'store verify', 'store backup', 'store migrate'],
  ...['gate', 'pushed', 'log', 'follow', 'sign-in', 'doctor', 'completion', 'manual'],
]
const groups = ['token', 'access', 'hook', 'repo', 'status', 'store']

t.test('Every command has --help on standard output, which ends well', async (t) => {
  const place = new CommandPlace(t.testdir())
  const all = ['', ...commands]
  const outcomes = await Promise.all(all.map((command) => place.run([...command.split(' ').filter(Boolean), '--help'])))
  for (const [index, { status, stdout, stderr }] of outcomes.entries()) {
    const command = all[index] ?? ''
    t.strictSame({ status, stderr }, { status: 0, stderr: '' })
    t.match(stdout, new RegExp(`^Usage: commit-status ${command}`), command)
    t.match(stdout, /--config <file>/, 'it says how to choose the settings')
    t.equal(/^\s+help\b/m.test(stdout), false, 'there is one way to get help')
    if (groups.includes(command))
      t.strictSame(
        commandsIn(stdout).map((name) => `${command} ${name}`),
        commands.filter((name) => name.startsWith(`${command} `)),
      )
    if (command === '')
      t.strictSame(commandsIn(stdout), [
        'set-up',
        'serve',
        ...groups,
        'gate',
        'pushed',
        'log',
        'follow',
        'sign-in',
        'doctor',
        'completion',
        'manual',
      ])
    if (command !== '' && !groups.includes(command))
      t.match(
        stdout,
        new RegExp(`\nExamples?:\n(?:  .*\n)*  .*commit-status ${command}\\b`),
        `${command}: an example to paste`,
      )
    if (command === 'serve')
      for (const { key, environment, meaning } of settings)
        t.ok(stdout.includes(`${environment} (${key})\n      ${meaning}\n      default: `), key)
  }
})

t.test('Wrong use says what is wrong and where more is said, exits 2 and does nothing', async (t) => {
  const place = new CommandPlace(t.testdir())
  const cases: [args: string[], complaint: string | undefined, usage: string][] = [
    [[], undefined, '[options] [command]'],
    [['nope'], "error: unknown command 'nope'", '[options] [command]'],
    [['token'], undefined, 'token [options] [command]'],
    [['token', 'nope'], "error: unknown command 'nope'", 'token [options] [command]'],
    [['token', 'create'], "error: missing required argument 'user'", 'token create [options] <user>'],
    [
      ['token', 'create', 'alice', '--expires', 'soon'],
      "error: option '--expires <when>' argument 'soon' is invalid. It must be like 30s, 12h, 90d or " +
        '2031-01-31, or never.',
      'token create [options] <user>',
    ],
    [
      ['token', 'create', 'alice', '--expires', '2020-01-31'],
      "error: option '--expires <when>' argument '2020-01-31' is invalid. It must be in the future.",
      'token create [options] <user>',
    ],
    [
      ['token', 'create', 'alice', '--scopes', 'admin'],
      "error: option '--scopes <scope>' argument 'admin' is invalid. Allowed choices are repo, none.",
      'token create [options] <user>',
    ],
    [
      ['token', 'list', 'alice', 'bob'],
      "error: too many arguments for 'list'. Expected 1 argument but got 2.",
      'token list [options] [user]',
    ],
    [['token', 'list', '--nope'], "error: unknown option '--nope'", 'token list [options] [user]'],
    [
      ['access', 'grant', 'alice', 'bob', 'admin'],
      "error: command-argument value 'admin' is invalid for argument 'access'. Allowed choices are read, write.",
      'access grant [options] <owner[/repo]> <user> <access>',
    ],
    [['repo', 'public'], "error: missing required argument 'owner/repo'", 'repo public [options] <owner/repo>'],
    [['repo', 'rename', 'alice/hello'], "error: missing required argument 'to'", 'repo rename [options] <from> <to>'],
    [
      ['repo', 'delete', '--yes'],
      "error: missing required argument 'owner/repo'",
      'repo delete [options] <owner/repo>',
    ],
    [
      ['status', 'delete', 'alice/hello'],
      "error: missing required argument 'sha'",
      'status delete [options] <owner/repo> <sha>',
    ],
    [
      ['status', 'list', 'alice/hello', '--limit', '0'],
      "error: option '--limit <number>' argument '0' is invalid. It must be 1 to 1000.",
      'status list [options] <owner/repo> [sha]',
    ],
    [
      ['status', 'list', 'alice/hello', '--limit', '1e3'],
      "error: option '--limit <number>' argument '1e3' is invalid. It must be 1 to 1000.",
      'status list [options] <owner/repo> [sha]',
    ],
    [
      ['store', 'stats', '--top', 'many'],
      "error: option '--top <n>' argument 'many' is invalid. It must be a whole number, 9999 at the most.",
      'store stats [options]',
    ],
    [
      ['store', 'prune', '--yes'],
      'error: say what may go: --gone-commits, --gone-repositories or --older-than',
      'store prune [options]',
    ],
    [
      ['store', 'prune', '--older-than', 'soon'],
      "error: option '--older-than <time>' argument 'soon' is invalid. It must be like 30s, 12h, 90d or 2031-01-31.",
      'store prune [options]',
    ],
    [
      ['store', 'prune', '--older-than', '2999-01-31'],
      "error: option '--older-than <time>' argument '2999-01-31' is invalid. It must not be in the future.",
      'store prune [options]',
    ],
    [['set-up', 'now'], "error: too many arguments for 'set-up'. Expected 0 arguments but got 1.", 'set-up [options]'],
    [['serve', 'now'], "error: too many arguments for 'serve'. Expected 0 arguments but got 1.", 'serve [options]'],
  ]
  const outcomes = await Promise.all(cases.map(([args]) => place.run(args)))
  for (const [index, [args, complaint, usage]] of cases.entries()) {
    const { status, stdout, stderr = '' } = outcomes[index] ?? {}
    t.strictSame({ status, stdout }, { status: 2, stdout: '' }, args.join(' '))
    const [name] = /^[a-z- ]*[a-z]/.exec(usage) ?? []
    const see = `see commit-status ${name === undefined ? '' : `${name} `}--help\n`
    // A group by itself has no mistake to point at.
    if (complaint === undefined) t.ok(stderr.startsWith(`Usage: commit-status ${usage}\n`), stderr)
    else t.equal(stderr.replace(/^\(Did you mean .*\n/m, ''), `${complaint}\n${see}`)
  }
  t.strictSame((await place.run(['token', 'list'])).stdout, '')
})

t.test('-h, help and help <command> are the same as --help, and --version has the commit', async (t) => {
  const place = new CommandPlace(t.testdir())
  const run = async (line: string) => await place.run(line.split(' ').filter(Boolean))
  for (const [line, other] of [
    ['help', '--help'],
    ['-h', '--help'],
    ['help token', 'token --help'],
    ['help token create', 'token create -h'],
    ['help token create alice', 'token create --help'],
  ] as const) {
    const told = await run(line)
    t.strictSame(told, await run(other), line)
    t.match(told, { status: 0, stdout: /^Usage: commit-status/, stderr: '' })
  }
  t.strictSame(await run('help tokn'), {
    status: 2,
    stdout: '',
    stderr: "error: unknown command 'tokn'\n(Did you mean token?)\nsee commit-status --help\n",
  })
  t.match(await run('help token list nope'), { status: 0, stdout: /^Usage: commit-status token list/ })
  t.match(await run('help token lst'), { status: 2, stderr: /Did you mean list/ })
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const commit = (await git('rev-parse', '--short', 'HEAD')).trim()
  const compiled = await place.runProcess(['--version'])
  t.strictSame(
    { ...compiled, stdout: compiled.stdout.replace('-dirty)', ')') },
    { status: 0, stdout: `commit-status ${version} (${commit})\n`, stderr: '' },
    'of what was compiled, which may have changes that are not committed',
  )
})

function commandsIn(help: string): string[] {
  return Array.from(help.slice(help.indexOf('\nCommands:')).matchAll(/^ {2}([a-z-]+)/gm), ([, name = '']) => name)
}
