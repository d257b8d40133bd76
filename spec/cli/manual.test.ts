import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { settings } from '../../config/settings.js'
import { list, literal, item, macro, page, text, word } from '../../scripts/cli/manual/mdoc.js'
import { CommandPlace } from '../fixtures/command.js'
import { missing } from '../fixtures/program.js'

const noMandoc = await missing('mandoc')

/** What mandoc makes of a page, or says of it, on standard output. */
async function mandoc(source: string, ...args: string[]): Promise<string> {
  const child = spawn('mandoc', args, { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.end(source)
  return await textOf(child.stdout)
}

/** What people read of a page, white space being one blank. */
async function read(source: string): Promise<string> {
  // A sign in bold is printed, taken back and printed again.
  const shown = (await mandoc(source, '-Tutf8', '-Owidth=500')).replaceAll(/.\x08/gu, '')
  return shown.replaceAll(/\s+/g, ' ')
}

/** That a page, or another program, has what it refers to is not a question of this page. */
async function complaints(source: string): Promise<string[]> {
  const lines = (await mandoc(source, '-Tlint')).split('\n')
  return lines.filter((line) => line !== '' && !line.includes('referenced manual not found'))
}

async function manual(t: Test, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await new CommandPlace(t.testdir()).run(['manual', ...args])
  t.strictSame([status, stderr], [0, ''])
  return stdout
}

t.test('commit-status(1) has every command with all that its help says', { skip: noMandoc }, async (t) => {
  const source = await manual(t)
  t.strictSame(await complaints(source), [])
  const shown = await read(source)
  const place = new CommandPlace(t.testdir())
  let found = 0
  const visit = async (words: string[]): Promise<void> => {
    const { stdout: help } = await place.run([...words, '--help'])
    const inner = section(help, 'Commands').flatMap((line) => /^ {2}([a-z-]+)/.exec(line)?.[1] ?? [])
    for (const name of inner) await visit([...words, name])
    if (inner.length > 0) return
    found++
    const [usage = '', description = ''] = help.split('\n\n')
    const call = usage
      .replace('Usage: ', '')
      .replace('[options]', '[option ...]')
      .replace(/(\w)\.\.\./, '$1 ...')
    const without = / \[option \.\.\.\]/
    t.ok(
      [call, call.replace(without, '')].some((line) => shown.includes(line.replaceAll(/[<>]/g, ''))),
      call,
    )
    t.ok(shown.toLowerCase().includes(flat(description).toLowerCase()), description)
    const said = help.slice(help.indexOf('Global Options:')).split('\n\n').slice(1)
    // The settings have a page of their own.
    for (const part of said.filter((text) => !text.startsWith('Settings come')))
      t.ok(shown.includes(flat(part).replaceAll('`', '')), part)
    for (const part of [...entries(help, 'Options'), ...entries(help, 'Arguments')])
      if (!part.startsWith('-h, --help'))
        t.ok(shown.includes(part.replaceAll(/<([^>]*)>/g, '$1').replaceAll('`', '')), part)
  }
  await visit([])
  t.ok(found > 25)
})

t.test(
  'commit-status.json(5) has every setting with its meaning, default and variable',
  { skip: noMandoc },
  async (t) => {
    const source = await manual(t, 'commit-status.json.5')
    t.strictSame(await complaints(source), [])
    const shown = await read(source)
    for (const { key, environment, default: value, meaning } of settings) {
      const words = `${meaning.slice(0, 1).toUpperCase()}${meaning.slice(1)}.`.replaceAll('`', '')
      const from = shown.indexOf(`${key} ${words}`)
      t.ok(from > 0, key)
      const rest = shown.slice(from + key.length + words.length + 1)
      const told = rest.slice(0, rest.indexOf(environment))
      t.match(told, /^ Value: .{5,}\. Default: .+\. $/, key)
      t.ok(
        told.includes(`Default: ${String(value) === '' ? 'none' : Array.isArray(value) ? value[0] : String(value)}`),
        key,
      )
    }
  },
)

t.test('It names every variable that commands look at', async (t) => {
  const source = await manual(t)
  const files = readdirSync('scripts/cli', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join('scripts/cli', file), 'utf8'))
  const names = new Set(files.flatMap((file) => Array.from(file.matchAll(/\benv\['([A-Z_]+)'\]/g), ([, name]) => name)))
  t.ok(names.has('COMMIT_STATUS_TOKEN'))
  for (const name of names) if (name !== undefined && !name.startsWith('GIT_')) t.ok(source.includes(name), name)
})

t.test('Whatever stands in a text is shown as it is, and calls nothing', { skip: noMandoc }, async (t) => {
  const lines = [
    '.Sh BOLD',
    "'br",
    'Ar Fl Op It',
    'a "quoted" word, \\fBno bold\\fR and \\(aq',
    '--option -x ~user ^ `code`',
    'größer … 日本',
    `long ${'word '.repeat(60)}.Sh end`,
  ]
  const source = page('name', 1, new Date(0), [
    ...['.Sh NAME', '.Nm name', '.Nd text', '.Sh DESCRIPTION'],
    ...lines.flatMap((line) => [text(line), literal([line])]),
    list(...lines.map((line) => item(`Ar ${word(line)}`, macro('Cm', word(line), word(''))))),
  ])
  t.strictSame(await complaints(source), [])
  const shown = await read(source)
  for (const line of lines) {
    const times = shown.split(flat(line)).length - 1
    t.equal(line.includes('`') ? times + shown.split(flat(line).replaceAll('`', '')).length - 1 : times, 4, line)
  }
  for (const line of text(lines.at(-1) ?? '').split('\n')) t.ok(line.length <= 80)
  t.not((await complaints(source.replace('.El', ''))).length, 0, 'mandoc says what is wrong')
})

t.test('A page that is made twice has the same bytes, and the date that is asked for', async (t) => {
  const place = new CommandPlace(t.testdir())
  const environment = { SOURCE_DATE_EPOCH: '1925000000' }
  for (const name of ['commit-status.1', 'commit-status.json.5']) {
    const { stdout } = await place.run(['manual', name], { environment })
    t.match(stdout, /^\.Dd January 1, 2031\n/)
    t.equal((await place.runProcess(['manual', name], { environment })).stdout, stdout)
  }
})

/** A part of a help, by its lines. */
function section(help: string, title: string): string[] {
  const [, rest = ''] = help.split(`\n${title}:\n`)
  return rest.split('\n\n')[0]?.split('\n') ?? []
}

/** The entries of a part of a help, each on one line. */
function entries(help: string, title: string): string[] {
  const joined = section(help, title)
    .join('\n')
    .replaceAll(/\n {4,}/g, ' ')
  return joined.split('\n').map(flat).filter(Boolean)
}

function flat(words: string): string {
  return words.replaceAll(/\s+/g, ' ').trim()
}
