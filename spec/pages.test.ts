import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { settings } from '../config/settings.js'
import { catalogue } from '../lib/errors.js'
import { CommandPlace } from './fixtures/command.js'
import { chapter, codeBlocks, PAGES, pageTable, pageText } from './fixtures/page.js'

const root = fileURLToPath(new URL('..', import.meta.url))

t.test('The README fits on a few screens, and every page is linked from it or from one that is', async (t) => {
  t.ok(pageText('README.md').split('\n').length <= 171)
  const linked = new Set(PAGES.flatMap((page) => linksOf(page).map(({ file }) => file)))
  t.strictSame(
    PAGES.filter((page) => page !== 'README.md' && !linked.has(page)),
    [],
  )
})

t.test('The pages have every setting, with its variable, default and meaning, and no other', async (t) => {
  const expected = settings.map(({ key, environment, default: value, meaning }) => {
    const text = String(value)
    return [`\`${key}\``, `\`${environment}\``, text === '' ? 'none' : `\`${text}\``, meaning]
  })
  t.strictSame(pageTable('config/README.md', 'key', 'environment', 'default', 'meaning'), expected)
})

t.test('The pages have every status of a refusal or failure, and no other', async (t) => {
  const documented = pageTable('lib/http/api/api.md', 'status', 'when').map(([status]) => Number(status))
  const statuses = Object.values(catalogue).map(({ status }) => status)
  t.strictSame(
    documented,
    [...new Set(statuses)].sort((one, other) => one - other),
  )
})

t.test('The pages have every error code, with its status and message, and no other', async (t) => {
  const expected = Object.entries(catalogue).map(([code, { status, text }]) => [`\`${code}\``, String(status), text])
  t.strictSame(pageTable('lib/README.md', 'code', 'status', 'message'), expected)
})

t.test('The pages have every option of the library, and no other', async (t) => {
  const source = readFileSync(join(root, 'lib/embedding/options.ts'), 'utf8')
  const [, members = ''] = /interface CommitStatusOptions \{\n(.*?)\n\}/s.exec(source) ?? []
  const options = [...members.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name)
  const namesIn = (...headings: string[]) =>
    pageTable('lib/README.md', ...headings).map(([cell = '']) => cell.replaceAll('`', ''))
  const documented = [...namesIn('option', 'value'), ...namesIn('option', 'in place of', 'what you bring')]
  t.strictSame([...new Set(documented)].sort(), options.sort())
})

t.test('The pages have every command that is there, and no other', async (t) => {
  const documented = pageTable('scripts/README.md', 'command', 'does').flatMap(([cell = '']) =>
    Array.from(cell.matchAll(/`([a-z-]+(?: [a-z]+)?)/g), ([, name]) => name),
  )
  t.strictSame(documented, [...(await commandHelp(new CommandPlace(t.testdir()))).keys()])
})

t.test('Every link leads to a file and a heading that are there', async (t) => {
  const broken = PAGES.flatMap((page) =>
    linksOf(page)
      .filter(({ file, anchor }) => !existsSync(join(root, file)) || (anchor !== '' && !anchorsOf(file).has(anchor)))
      .map(({ target }) => `${page}: ${target}`),
  )
  t.strictSame(broken, [])
})

t.test('Every picture of a page is in the package', (t) => {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] }
  const pictures = PAGES.flatMap((page) => linksOf(page)).filter(({ file }) => file.endsWith('.png'))
  t.ok(pictures.length > 0)
  for (const { file } of pictures) t.ok(files.includes(file), file)
  t.end()
})

t.test('Every test that the README names is there', async (t) => {
  const rows = pageTable('README.md', 'complaint', 'here', 'shown by the test')
  t.ok(rows.length >= 7)
  for (const [, , cell = ''] of rows) {
    const [, title = '', file = ''] = /^\[(.*)\]\((.*)\)$/.exec(cell) ?? []
    t.ok(readFileSync(join(root, file), 'utf8').includes(`'${title}'`), title)
  }
})

t.test('The index of the fixtures has every file, and no other', async (t) => {
  const listed = pageTable('spec/fixtures/README.md', 'file', 'what it is').map(([file = '']) =>
    file.replaceAll('`', ''),
  )
  const files = readdirSync(join(root, 'spec/fixtures')).filter((file) => file.endsWith('.ts'))
  t.strictSame(listed, files.sort())
})

t.test('The test that shows how to add one is in the file that it is said to be in', async (t) => {
  const text = chapter('.github/CONTRIBUTING.md', '## A test in a minute')
  const [, file = ''] = /from `(spec\/[^`]*)`/.exec(text) ?? []
  const [example = ''] = codeBlocks(text, 'ts')
  t.ok(example !== '' && readFileSync(join(root, file), 'utf8').includes(example))
})

t.test('Every command line is one that the shell and our commands know', async (t) => {
  const help = await commandHelp(new CommandPlace(t.testdir()))
  let found = 0
  for (const page of PAGES) {
    for (const block of codeBlocks(pageText(page), 'sh')) {
      await t.resolves(promisify(execFile)('bash', ['-n', '-c', block]), `${page}: ${block}`)
    }
    const code = [...codeBlocks(pageText(page), 'sh'), ...inlineCode(page)].join('\n')
    const calls = /(?<!\/opt\/)(?:commit-status|\bcs)(?: --config \S+)? ((?:[a-z][a-z-]*)(?: [a-z]+)?)([^\n|)&;]*)/g
    for (const [call, name = '', rest = ''] of code.matchAll(calls)) {
      const [group = ''] = name.split(' ')
      const known = help.get(name) ?? help.get(group)
      t.ok(known, `${page}: ${call}`)
      for (const [option] of rest.matchAll(/(?<= )--[a-z-]+/g)) t.ok(known?.includes(option), `${page}: ${call}`)
      found++
    }
  }
  t.ok(found > 15)
})

t.test('No page and no message names a package that is not ours, or fetches a command of its name', async (t) => {
  const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name: string }
  t.equal(name, 'commit-status-service')
  const { stdout } = await promisify(execFile)('git', ['-C', root, 'ls-files'])
  const files = stdout
    .split('\n')
    .filter((file) => /\.(?:md|ts|js|json|service|h)$/.test(file) && existsSync(join(root, file)))
  const foreign = [
    /npm (?:i|install|add|exec)\b[^\n`]* commit-status(?![\w-]|\/)/,
    /\bnpx (?:--\S+ )*commit-status(?!-)/,
    /from 'commit-status'/,
  ]
  t.strictSame(
    files.filter(
      (file) =>
        file !== 'spec/pages.test.ts' &&
        foreign.some((pattern) => pattern.test(readFileSync(join(root, file), 'utf8'))),
    ),
    [],
  )
})

t.test('The lines that install the package name the tarball that npm pack makes', async (t) => {
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>
  for (const text of [chapter('README.md', '## Embed it'), chapter('scripts/README.md', '## Reporting from CI')]) {
    t.match(text, `./${name}-${version}.tgz`)
  }
})

t.test(
  'The lines with the Debian package name the one that npm run package makes, on another Node.js if need be',
  async (t) => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>
    const running = chapter('config/README.md', '## Running it')
    for (const text of [chapter('README.md', '## Install it'), running])
      t.match(text, `apt install ./commit-status_${version}_amd64.deb`)
    t.match(running, `dpkg --install dist/commit-status_${version}_amd64.deb`)
    const [, pattern = '', line = ''] =
      /^sed -i "s\/(\S+ \S+ \S+ .*?)\/(.*)\/" scripts\/package\.js$/m.exec(running) ?? []
    const made = readFileSync(join(root, 'scripts/package.js'), 'utf8')
    t.equal(
      made.match(new RegExp(pattern, 'gm'))?.join(),
      line,
      'the version stands in one place, and is the latest here',
    )
  },
)

interface Link {
  readonly target: string
  /** By its path from the root. */
  readonly file: string
  readonly anchor: string
}

/** The links to files of ours. */
function linksOf(page: (typeof PAGES)[number]): Link[] {
  const text = pageText(page).replaceAll(/^```.*?^```/gms, '')
  return [...text.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, target = '']) => {
    const [path = '', anchor = ''] = target.split('#')
    return { target, file: path === '' ? page : join(dirname(page), path), anchor }
  })
}

/** As GitHub makes them of headings. */
function anchorsOf(file: string): Set<string> {
  const headings = readFileSync(join(root, file), 'utf8').matchAll(/^#+ (.*)$/gm)
  return new Set(
    Array.from(headings, ([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function inlineCode(page: (typeof PAGES)[number]): string[] {
  const text = pageText(page).replaceAll(/^```.*?^```/gms, '')
  return [...text.matchAll(/`((?:scripts\/)?commit-status [^`]*)`/g)].map(([, code = '']) => code)
}

/** The help of every command, by its name. */
async function commandHelp(place: CommandPlace): Promise<Map<string, string>> {
  const help = async (...names: string[]) => (await place.run([...names, '--help'])).stdout
  const groups = commandsIn(await help())
  const all = groups.map(async (group): Promise<[string, string][]> => {
    const text = await help(group)
    const inner = commandsIn(text)
    if (inner.length === 0) return [[group, text]]
    return await Promise.all(
      inner.map(async (name): Promise<[string, string]> => [`${group} ${name}`, await help(group, name)]),
    )
  })
  return new Map((await Promise.all(all)).flat())
}

function commandsIn(help: string): string[] {
  const [, commands = ''] = help.split('\nCommands:\n')
  return Array.from(commands.matchAll(/^ {2}([a-z-]+)/gm), ([, name = '']) => name)
}
