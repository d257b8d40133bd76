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

/** Each package that reaches for the system, the network or a native library has one file that knows it; the others are named too. */
const owners = {
  '@node-rs/crc32': ['lib/store/level/files/checksum.ts'],
  ajv: ['lib/schema.ts'],
  'ipaddr.js': ['lib/auth/client-key.ts'],
  level: ['lib/store/level/database.ts'],
  'lru-cache': ['lib/auth/memory-failure-budget.ts', 'lib/git/commit-finder.ts', 'lib/git/confirmed-commits.ts', 'lib/store/level/read-cache.ts'],
  nodegit: ['lib/git/nodegit.ts'],
  pg: ['lib/store/postgres/database.ts'],
  pino: ['lib/stand-alone.ts'],
  polka: ['lib/http/handler.ts'],
  'prom-client': ['lib/prometheus.ts'],
  'proxy-addr': ['lib/http/client-address.ts'],
  'raw-body': ['lib/http/body.ts'],
  'rate-limiter-flexible': ['lib/store/postgres/failure-budget.ts'],
  snappy: ['lib/store/level/files/table.ts'],
  split2: ['lib/lines.ts'],
}

t.test('Every package is imported by its owner and nobody else', async (t) => {
  const packages = new Set(lib.flatMap(({ imports }) => imports).filter((name) => !name.startsWith('lib/') && !name.startsWith('config/') && !name.startsWith('node:')))
  const found = [...packages].sort().map((name): [string, string[]] => [name, importersOf(name)])
  t.strictSame(Object.fromEntries(found), owners)
})

t.test('Nothing below the edge knows HTTP', async (t) => {
  const edge = lib.filter(({ path }) => path.startsWith('lib/http/')).map(({ path }) => path)
  const above = [...new Set(edge.flatMap(importersOf))].filter((path) => !path.startsWith('lib/http/')).sort()
  // Who puts the parts together, who listens, the rule of `trustedProxies`, and the type of the handler.
  t.strictSame(above, ['lib/commit-status-service.ts', 'lib/index.ts', 'lib/options.ts', 'lib/settings.ts', 'lib/stand-alone.ts'])
  const speakers = [...new Set(['node:http', 'node:https', 'node:http2', 'node:net'].flatMap(importersOf))].filter((path) => !path.startsWith('lib/http/')).sort()
  t.strictSame(speakers, ['lib/admin/remote.ts', 'lib/stand-alone.ts'])
})

t.test('Nothing above a driver knows the driver', async (t) => {
  const outsiders = (folder: string, ...drivers: string[]): string[] => [...new Set(drivers.flatMap(importersOf))].filter((path) => !path.startsWith(folder))
  const level = lib.filter(({ path }) => path.startsWith('lib/store/level/')).map(({ path }) => path)
  t.strictSame(outsiders('lib/store/level/', ...level), ['lib/store/open-store.ts'])
  const postgres = lib.filter(({ path }) => path.startsWith('lib/store/postgres/')).map(({ path }) => path)
  t.strictSame(outsiders('lib/store/postgres/', ...postgres), ['lib/store/open-store.ts'])
  t.strictSame(outsiders('lib/git/', 'lib/git/nodegit.ts', 'lib/git/object-database.ts'), ['lib/commit-status-service.ts'], 'it loads libgit2 at the start')
  t.strictSame(outsiders('lib/git/', 'lib/git/commit-finder.ts'), ['lib/commit-status-service.ts'])
})

t.test('Nobody in lib/ but the stand-alone service and its server listens, or touches the process', async (t) => {
  t.strictSame(lib.filter(({ names }) => names.has('.listen')).map(({ path }) => path), ['lib/http/server.ts', 'lib/stand-alone.ts'])
  for (const name of ['process', 'console', 'globalThis']) {
    t.strictSame(lib.filter(({ names, path }) => names.has(name) && path !== 'lib/stand-alone.ts').map(({ path }) => path), [], name)
  }
  t.strictSame(['node:process', 'node:child_process', 'node:cluster', 'node:worker_threads'].flatMap(importersOf), [])
})

t.test('The library does not know its commands', async (t) => {
  t.strictSame(lib.flatMap(({ imports }) => imports).filter((name) => name.startsWith('scripts/')), [])
})

t.test('An index only re-exports', async (t) => {
  const { statements } = parse('lib/index.ts')
  t.ok(statements.length > 0)
  t.ok(statements.every((statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier))
})

t.test('Every file is named after what is in it', async (t) => {
  const files = ['lib', 'config', 'scripts', 'spec'].flatMap((folder) => filesIn(folder))
  t.ok(files.length > 50)
  t.strictSame(files.filter((path) => /\b(?:utils?|helpers?|types?|misc|common|shared)\b/i.test(path)), [])
})

t.test('Every file of the library is needed by another one', async (t) => {
  const entries = ['lib/index.ts', 'lib/stand-alone.ts']
  const imported = new Set([...lib, ...sourcesIn('scripts/cli')].flatMap(({ imports }) => imports))
  t.strictSame(lib.map(({ path }) => path).filter((path) => !imported.has(path) && !entries.includes(path)), [])
})

function sourcesIn(folder: string): Source[] {
  const paths = filesIn(folder).filter((path) => path.endsWith('.ts'))
  return paths.map((path) => {
    const names = new Set<string>()
    const visit = (node: ts.Node): void => {
      if (ts.isTypeNode(node)) return
      if (ts.isIdentifier(node)) names.add(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? `.${node.text}` : node.text)
      ts.forEachChild(node, visit)
    }
    visit(parse(path))
    const { importedFiles } = ts.preProcessFile(readFileSync(join(root, path), 'utf8'))
    return { path, names, imports: importedFiles.map(({ fileName }) => (fileName.startsWith('.') ? join(dirname(path), fileName).replace(/\.js$/, '.ts') : fileName)) }
  })
}

function importersOf(name: string): string[] {
  return lib.filter(({ imports }) => imports.includes(name)).map(({ path }) => path)
}

function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true)
}

/** Every file below a folder, by its path from the root. */
function filesIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name))).sort()
}
