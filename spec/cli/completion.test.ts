import { execFile, spawn } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { shellWord } from '../../lib/admin/shell-word.js'
import { CommandPlace, executable } from '../fixtures/command.js'
import { makeRepository } from '../fixtures/git.js'
import { missing } from '../fixtures/program.js'

const run = promisify(execFile)

/** Lines with keys, Tab among them, and what the command is called with then. */
const typed: readonly [line: string, words: readonly string[]][] = [
  ['tok\tcre\t--sco\tno\t', ['token', 'create', '--scopes', 'none']],
  // What has the name of a group is none where an argument stands.
  ['token list token --js\t', ['token', 'list', 'token', '--json']],
  ['access grant bob/\tcarol w\t', ['access', 'grant', 'bob/x', 'carol', 'write']],
  // The value of an option is no argument, and an address is one word.
  [
    'status wait --url http://127.0.0.1:8080 ali\th\t',
    ['status', 'wait', '--url', 'http://127.0.0.1:8080', 'alice/hello'],
  ],
  [
    '--config /a status report --state=er\talice/c@\t',
    ['--config', '/a', ...'status report'.split(' '), '--state', 'error', 'alice/c@v=1'],
  ],
  ['store back\tsome\t', ['store', 'backup', 'some folder']],
  ['status report --token-file tok\t', ['status', 'report', '--token-file', 'token file']],
]

/** A folder with repositories, files to complete, and the script of a shell. */
async function completionPlace(t: Test, shell: string): Promise<CommandPlace & { script: string }> {
  const place = new CommandPlace(t.testdir())
  for (const name of ['alice/hello', 'alice/c@v=1', 'bob/x']) await makeRepository(place.repositories, name)
  mkdirSync(join(place.folder, 'some folder'))
  writeFileSync(join(place.folder, 'token file'), '')
  const { status, stdout, stderr } = await place.run(['completion', shell])
  t.strictSame([status, stderr], [0, ''])
  const script = join(place.folder, `script.${shell}`)
  writeFileSync(script, stdout)
  await t.resolves(run(shell, ['-n', script]))
  return Object.assign(place, { script })
}

/** Prints its words, but for what completion asks for. */
const standIn = `commit-status() {
  if [ "$1" = completion ]; then ${shellWord(executable)} "$@"; else printf 'called'; printf '<%s>' "$@"; echo; fi
}
`

/** Types the lines into an interactive shell, and compares what the command was called with. */
async function type(t: Test, place: CommandPlace, shell: readonly string[]): Promise<void> {
  const command = ['env', '-i', ...variablesOf(place), ...shell].map(shellWord).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: place.folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(`${typed.map(([line]) => `commit-status ${line}\n`).join('')}exit\n`)
  const output = await text(child.stdout)
  const calls = Array.from(output.matchAll(/called((?:<[^>\n]*>)+)/g), ([, words = '']) =>
    Array.from(words.matchAll(/<(.*?)>/g), ([, word = '']) => word).flatMap(unified),
  )
  t.strictSame(
    calls,
    typed.map(([, words]) => words),
  )
}

/** By `env`, since tap puts into every environment what its own processes need. */
function variablesOf({ folder, repositories }: CommandPlace): string[] {
  return [
    ...['HOME', 'ZDOTDIR', 'BASH_COMPLETION_USER_DIR'].map((name) => `${name}=${folder}`),
    `PATH=${process.env['PATH'] ?? ''}`,
    `COMMIT_STATUS_REPOSITORIES=${repositories}`,
    'TERM=xterm',
  ]
}

/** Shells differ in what joins an option to its value, and in whether a folder ends in a slash. */
function unified(word: string): string[] {
  const [, option, value] = /^(--[a-z-]+)=(.*)$/.exec(word) ?? []
  return option !== undefined && value !== undefined ? [option, value] : [word.replace(/\/$/, '')]
}

const noBash = await missing('util-linux')
t.test('Keys in a bash put in commands, options, values, repositories and files', { skip: noBash }, async (t) => {
  const place = await completionPlace(t, 'bash')
  const start = join(place.folder, 'start')
  writeFileSync(start, `${standIn}source ${shellWord(place.script)}\n`)
  await type(t, place, ['bash', '--noprofile', '--rcfile', start, '-i'])
})

const noPackage = await missing('util-linux', 'bash-completion')
t.test('So they do where bash-completion finds the script', { skip: noPackage }, async (t) => {
  const place = await completionPlace(t, 'bash')
  mkdirSync(join(place.folder, 'completions'))
  renameSync(place.script, join(place.folder, 'completions/commit-status'))
  const start = join(place.folder, 'start')
  writeFileSync(start, `${standIn}source /usr/share/bash-completion/bash_completion\n`)
  await type(t, place, ['bash', '--noprofile', '--rcfile', start, '-i'])
})

const noZsh = await missing('util-linux', 'zsh')
for (const [how, line] of [
  ['evaluated', 'compinit -u -D; source "$HOME/script.zsh"'],
  [
    'found in a folder',
    'mkdir "$HOME/found"; cp "$HOME/script.zsh" "$HOME/found/_commit-status"; fpath+=("$HOME/found"); compinit -u -D',
  ],
] as const)
  t.test(`Keys in a zsh put in the same, the script being ${how}`, { skip: noZsh }, async (t) => {
    const place = await completionPlace(t, 'zsh')
    writeFileSync(join(place.folder, '.zshrc'), `${standIn}autoload -Uz compinit; ${line}\n`)
    await type(t, place, ['zsh', '-d', '-i'])
  })

const noFish = await missing('fish')
t.test('fish completes the same, and says what each is', { skip: noFish }, async (t) => {
  const place = await completionPlace(t, 'fish')
  const completed = async (line: string): Promise<string[]> => {
    const script = `source ${shellWord(place.script)}; complete -C ${shellWord(line)}`
    const { stdout } = await run('env', ['-i', ...variablesOf(place), 'fish', '-N', '-c', script], {
      cwd: place.folder,
    })
    return stdout.split('\n').filter(Boolean)
  }
  for (const [line, expected] of [
    ['tok', ['token\tcreate, list and revoke personal access tokens']],
    ['token create --sco', ['--scopes\twhat it may be used for']],
    ['token create --scopes n', ['none\twhat it may be used for']],
    [
      'token list token --',
      [
        '--config\tsettings file (also COMMIT_STATUS_CONFIG)',
        '--help\tshow this help',
        '--json\tprint a JSON object for each',
        '--version\tprint the version',
      ],
    ],
    ['access grant bob/', ['bob/x']],
    ['access grant bob/x b', []],
    ['access grant bob/x carol w', ['write']],
    ['status wait --url http://127.0.0.1:8080 alice/h', ['alice/hello']],
    ['--config /a status report --state=er', ['--state=error\tresult of the check']],
    ['status report alice/c@', ['alice/c@v=1']],
    ['store backup some', ['some folder/\tDirectory']],
    ['status report --token-file tok', ['token file']],
    ['completion f', ['fish']],
  ] as const)
    t.strictSame(await completed(`${executable} ${line}`), expected, line)
})

t.test('What cannot be listed is no name, and is said to nobody who presses a key', async (t) => {
  const place = new CommandPlace(t.testdir())
  t.strictSame(await place.run(['completion', 'bash', '--repositories']), { status: 0, stdout: '', stderr: '' })
  const { status, stdout } = await place.run(['completion', 'bash', '--repositories'], {
    environment: { COMMIT_STATUS_REPOSITORIES: join(place.folder, 'gone') },
  })
  t.strictSame([status, stdout], [1, ''])
})

t.test('An option that a value follows is a switch in no other command, as the scripts take for granted', async (t) => {
  const place = new CommandPlace(t.testdir())
  const { stdout } = await place.run(['completion', 'fish'])
  const options = [...stdout.matchAll(/^complete .* -l ([a-z-]+).* -d '(?:[^'\\]|\\.)*'( -[rx])?/gm)]
  const withValue = new Set(options.flatMap(([, name, value]) => (value === undefined ? [] : [name])))
  t.ok(withValue.size > 10)
  t.strictSame(
    options.flatMap(([, name, value]) => (value === undefined && withValue.has(name) ? [name] : [])),
    [],
  )
})
