import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Source {
  readonly path: string
  /** What it imports: packages by name, files of ours by path from the root. */
  readonly imports: readonly string[]
  /** Every name in its code, not in its comments, texts and types; those of members with a dot before them. */
  readonly names: ReadonlySet<string>
}

const lib = sourcesIn('lib')

/**
 * Each package that reaches for the system, the network or a native library has one file that knows it; the others are
 * named too.
 */
const owners = {
  '@node-rs/crc32': ['lib/store/level/files/checksum.ts'],
  // Types only.
  '@octokit/openapi-types': ['lib/http/compatible/github-objects.ts', 'lib/http/compatible/github-ref-objects.ts'],
  '@remix-run/html-template': ['lib/pages/html/html.ts'],
  ajv: ['lib/domain/schema.ts'],
  'badge-maker': ['lib/pages/badge.ts'],
  dataloader: ['lib/store/postgres/batch-loader.ts'],
  'ipaddr.js': ['lib/contracts/client-key.ts', 'lib/webhooks/address-policy.ts'],
  level: ['lib/store/level/database.ts'],
  'lru-cache': [
    'lib/auth/command-policy.ts',
    'lib/auth/memory-failure-budget.ts',
    'lib/git/changed-lines.ts',
    'lib/git/commit-content.ts',
    'lib/git/commit-finder.ts',
    'lib/git/commit-log.ts',
    'lib/git/confirmed-commits.ts',
    'lib/git/git-process.ts',
    'lib/git/merged-branches.ts',
    'lib/git/ref-lists.ts',
    'lib/git/refs.ts',
    'lib/http/compatible/listing.ts',
    'lib/http/compatible/projects.ts',
    'lib/pages/commit-routes.ts',
    'lib/service/pushes.ts',
    'lib/store/level/key-counts.ts',
    'lib/store/level/read-cache.ts',
    'lib/store/postgres/list-cache.ts',
    'lib/webhooks/deliverer.ts',
    'lib/webhooks/mail-sender.ts',
  ],
  nodegit: ['lib/git/nodegit.ts'],
  nodemailer: ['lib/webhooks/mail-sender.ts'],
  pg: ['lib/store/postgres/connection-pool.ts'],
  pino: ['lib/stand-alone/log.ts'],
  'pino-pretty': ['lib/stand-alone/log.ts'],
  polka: ['lib/http/dispatcher.ts', 'lib/http/surface.ts'],
  'prom-client': ['lib/http/prometheus.ts'],
  'proxy-addr': ['lib/http/client-address.ts'],
  'raw-body': ['lib/http/body.ts'],
  snappy: ['lib/store/level/files/table.ts'],
  split2: ['lib/admin/ndjson.ts'],
}

t.test('Every package is imported by its owner and nobody else', async (t) => {
  const packages = new Set(
    lib
      .flatMap(({ imports }) => imports)
      .filter((name) => !name.startsWith('lib/') && !name.startsWith('config/') && !name.startsWith('node:')),
  )
  const found = [...packages].sort().map((name): [string, string[]] => [name, importersOf(name)])
  t.strictSame(Object.fromEntries(found), owners)
})

/** From the bottom to the top: a folder imports from those below it, none beside it, and from itself. */
const layers: readonly (readonly string[])[] = [
  ['lib'],
  ['lib/concurrency', 'lib/domain'],
  ['lib/contracts'],
  ['lib/auth', 'lib/git', 'lib/store'],
  ['lib/service'],
  ['lib/http'],
  ['lib/webhooks'],
  ['lib/admin'],
  ['lib/pages'],
  ['lib/embedding'],
  ['lib/stand-alone'],
  ['lib/index.ts'],
]

t.test('Each folder imports from the layers below it alone', async (t) => {
  const known = new Set(layers.flat())
  t.strictSame(
    lib.map(({ path }) => roomOf(path)).filter((room) => !known.has(room)),
    [],
    'every folder has its layer',
  )
  const levelOf = (path: string): number => layers.findIndex((rooms) => rooms.includes(roomOf(path)))
  const upwards = lib.flatMap(({ path, imports }) =>
    imports
      .filter((other) => other.startsWith('lib/') && roomOf(other) !== roomOf(path) && levelOf(other) >= levelOf(path))
      .map((other) => `${path} -> ${other}`),
  )
  t.strictSame(upwards, [])
})

t.test('No files import each other in a circle, and no folders', async (t) => {
  const sources = [...lib, ...sourcesIn('scripts/cli'), ...sourcesIn('config')]
  t.strictSame(circlesOf(sources.map(({ path, imports }) => ({ name: path, needs: imports }))), [])
  const folders = sources.map(({ path, imports }) => ({
    name: folderOf(path),
    needs: imports.map(folderOf).filter((folder) => folder !== folderOf(path)),
  }))
  t.strictSame(circlesOf(folders), [])
})

t.test('A newcomer finds at most 20 entries in lib/', async (t) => {
  t.ok(readdirSync(join(root, 'lib')).length <= 20)
})

t.test(
  'HTTP is known to the edge, the server of the stand-alone service, the socket of the commands and webhooks alone',
  async (t) => {
    const speakers = [...new Set(['node:http', 'node:https', 'node:http2', 'node:net'].flatMap(importersOf))]
      .filter((path) => !path.startsWith('lib/http/') && !path.startsWith('lib/pages/'))
      .sort()
    t.strictSame(speakers, [
      'lib/admin/client.ts',
      'lib/admin/server.ts',
      'lib/embedding/open-pages.ts',
      'lib/embedding/options.ts',
      'lib/stand-alone/connection.ts',
      'lib/stand-alone/http-server.ts',
      'lib/stand-alone/unix-socket.ts',
      'lib/webhooks/address-policy.ts',
      'lib/webhooks/http-client.ts',
    ])
  },
)

t.test('Nothing above a driver knows the driver', async (t) => {
  const outsiders = (folder: string, ...drivers: string[]): string[] =>
    [...new Set(drivers.flatMap(importersOf))].filter((path) => !path.startsWith(folder))
  const level = lib.filter(({ path }) => path.startsWith('lib/store/level/')).map(({ path }) => path)
  t.strictSame(outsiders('lib/store/level/', ...level), ['lib/embedding/open-store.ts'])
  const postgres = lib.filter(({ path }) => path.startsWith('lib/store/postgres/')).map(({ path }) => path)
  t.strictSame(outsiders('lib/store/postgres/', ...postgres), ['lib/embedding/open-store.ts'])
  t.strictSame(
    outsiders('lib/git/', 'lib/git/nodegit.ts', 'lib/git/object-database.ts'),
    ['lib/embedding/assemble.ts'],
    'it loads libgit2 at the start',
  )
  t.strictSame(outsiders('lib/git/', 'lib/git/commit-finder.ts'), [
    'lib/embedding/assemble.ts',
    'lib/embedding/open-administration.ts',
  ])
})

t.test(
  'Nobody in lib/ but the stand-alone service and the socket of the commands listens, or touches the process',
  async (t) => {
    t.strictSame(
      lib.filter(({ names }) => names.has('.listen')).map(({ path }) => path),
      ['lib/admin/server.ts', 'lib/stand-alone/http-server.ts', 'lib/stand-alone/stand-alone.ts'],
    )
    for (const name of ['process', 'console', 'globalThis']) {
      t.strictSame(
        lib
          .filter(({ names, path }) => names.has(name) && path !== 'lib/stand-alone/stand-alone.ts')
          .map(({ path }) => path),
        name === 'process' ? ['lib/auth/rights-command.ts', 'lib/git/git-process.ts'] : [],
        name,
      )
    }
    t.strictSame(['node:process', 'node:cluster', 'node:worker_threads'].flatMap(importersOf), [])
    t.strictSame(
      importersOf('node:child_process'),
      ['lib/auth/rights-command.ts', 'lib/git/git-process.ts'],
      'the program that tells rights, and the installed git',
    )
  },
)

t.test('The library does not know its commands', async (t) => {
  t.strictSame(
    lib.flatMap(({ imports }) => imports).filter((name) => name.startsWith('scripts/')),
    [],
  )
})

t.test('An index only re-exports', async (t) => {
  const { statements } = parse('lib/index.ts')
  t.ok(statements.length > 0)
  t.ok(statements.every((statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier))
})

t.test('Every file is named after what is in it', async (t) => {
  const files = ['lib', 'config', 'scripts', 'spec'].flatMap((folder) => filesIn(folder))
  t.ok(files.length > 50)
  t.strictSame(
    files.filter((path) => /\b(?:utils?|helpers?|types?|misc|common|shared)\b/i.test(path)),
    [],
  )
})

t.test('Every file that a comment names is there', async (t) => {
  const paths = ['lib', 'config', 'scripts', 'spec', '.github'].flatMap(filesIn)
  const known = [...paths, ...readdirSync(root)].map((path) => `/${path}`)
  const programs = paths.filter((path) => /\.(?:ts|js)$/.test(path))
  const named = programs.flatMap((path) =>
    Array.from(commentsOf(path).matchAll(/[\w./-]*\w\.(?:ts|js|md)\b/g), ([name]) => ({ path, name })),
  )
  const others = ['Node.js', 'doc/log_format.md', 'doc/table_format.md']
  const missing = named.filter(
    ({ name }) => !others.includes(name) && !known.some((file) => file.endsWith(`/${name.replace(/^\.\//, '')}`)),
  )
  t.strictSame([named.length > 20, missing], [true, []])
})

t.test('No line is longer than 120 columns', async (t) => {
  const files = ['lib', 'config', 'scripts', 'spec'].flatMap(filesIn).filter((path) => /\.(?:ts|js|h|sh)$/.test(path))
  const long = files.flatMap((path) =>
    linesOf(path).flatMap((line, index) => (line.length > 120 ? `${path}:${index + 1}` : [])),
  )
  t.strictSame([files.length > 200, long], [true, []])
})

t.test('Every file of the library is needed by another one', async (t) => {
  const entries = ['lib/index.ts', 'lib/stand-alone/stand-alone.ts']
  const imported = new Set([...lib, ...sourcesIn('scripts/cli')].flatMap(({ imports }) => imports))
  t.strictSame(
    lib.map(({ path }) => path).filter((path) => !imported.has(path) && !entries.includes(path)),
    [],
  )
})

t.test('What a fresh clone runs needs no package before the set-up has installed it', async (t) => {
  const programs = filesIn('scripts').filter((path) => path.endsWith('.js') && !path.startsWith('scripts/cli/'))
  const needed = programs.flatMap((path) =>
    parse(path)
      .statements.filter(ts.isImportDeclaration)
      .flatMap(({ moduleSpecifier }) => (ts.isStringLiteral(moduleSpecifier) ? [moduleSpecifier.text] : []))
      .filter((name) => !name.startsWith('node:') && !name.startsWith('.'))
      .map((name) => `${path} -> ${name}`),
  )
  t.strictSame([programs.includes('scripts/faults.js'), needed], [true, []])
})

function sourcesIn(folder: string): Source[] {
  const paths = filesIn(folder).filter((path) => path.endsWith('.ts'))
  return paths.map((path) => {
    const names = new Set<string>()
    const visit = (node: ts.Node): void => {
      if (ts.isTypeNode(node)) return
      if (ts.isIdentifier(node))
        names.add(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? `.${node.text}` : node.text)
      ts.forEachChild(node, visit)
    }
    visit(parse(path))
    const { importedFiles } = ts.preProcessFile(readFileSync(join(root, path), 'utf8'))
    return {
      path,
      names,
      imports: importedFiles.map(({ fileName }) =>
        fileName.startsWith('.') ? join(dirname(path), fileName).replace(/\.js$/, '.ts') : fileName,
      ),
    }
  })
}

/** The folder of `lib/` that a file is in; of `lib/` itself, the index stands apart. */
function roomOf(path: string): string {
  const [, folder = '', ...rest] = path.split('/')
  return path === 'lib/index.ts' ? path : rest.length === 0 ? 'lib' : `lib/${folder}`
}

/** The index, which re-exports from everywhere, stands above the files beside it. */
function folderOf(path: string): string {
  return path === 'lib/index.ts' ? path : dirname(path)
}

interface Node {
  readonly name: string
  readonly needs: readonly string[]
}

/** What is left when everything that needs nothing of the rest, or that nothing of the rest needs, is taken away. */
function circlesOf(nodes: readonly Node[]): string[] {
  const edges = new Map<string, Set<string>>()
  for (const { name, needs } of nodes) edges.set(name, new Set([...(edges.get(name) ?? []), ...needs]))
  for (let size = Infinity; edges.size < size;) {
    size = edges.size
    for (const [name, needs] of edges) {
      const isNeeded = [...edges.values()].some((others) => others.has(name))
      if (!isNeeded || ![...needs].some((other) => edges.has(other))) edges.delete(name)
    }
  }
  return [...edges.keys()]
}

function linesOf(path: string): string[] {
  return readFileSync(join(root, path), 'utf8').split('\n')
}

function importersOf(name: string): string[] {
  return lib.filter(({ imports }) => imports.includes(name)).map(({ path }) => path)
}

function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true)
}

/** The comments of a program, or a little more: what looks like one in a text. */
function commentsOf(path: string): string {
  return (
    linesOf(path)
      .join('\n')
      .match(/(?<=^|\s)(?:\/\*.*?\*\/|\/\/[^\n]*)/gs)
      ?.join('\n') ?? ''
  )
}

/** Every file below a folder, by its path from the root. */
function filesIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}
