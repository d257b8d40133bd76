import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { fetchJson } from './fixtures/embedded.js'
import { freePort } from './fixtures/free-port.js'
import { makeRepositoryWithCommit } from './fixtures/git.js'
import { chapter, codeBlocks } from './fixtures/page.js'

const root = fileURLToPath(new URL('..', import.meta.url))
/** What a user has set to reach the registry: without its certificates npm tries again for minutes. */
const wayOut =
  /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR|npm_config_(?:registry|cafile)|(?:https?|no)_proxy)$/i
/** By `env`, since tap puts into every environment what its own processes need. */
const clean = [
  '-i',
  ...Object.entries(process.env)
    .filter(([name]) => name === 'PATH' || name === 'HOME' || wayOut.test(name))
    .map(([name, value]) => `${name}=${value ?? ''}`),
]
const run = async (file: string, args: string[], cwd: string) =>
  await promisify(execFile)('env', [...clean, file, ...args], { cwd })

/** What the README says to do, in the folder of a git server with a checkout beside it. */
const folder = mkdtempSync(join(tmpdir(), 'consumer-'))
const project = join(folder, 'server')
const installed = join(project, 'node_modules/commit-status-service')
const [pack = '', install = '', setUp = ''] = codeBlocks(chapter('README.md', '## Embed it'), 'sh').join('').split('\n')
t.teardown(() => {
  rmSync(folder, { recursive: true })
})

t.before(async () => {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}')
  t.match([pack, install, setUp], [/^npm pack /, /^npm install /, / set-up$/])
  // Not over a symbolic link: npm would leave out what the package bundles.
  await run('sh', ['-euc', pack.replace('../commit-status', root)], project)
  await run('sh', ['-euc', install], project)
  // What else the examples use is what is here.
  for (const name of ['express', '@types']) {
    if (!existsSync(join(project, 'node_modules', name))) {
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
    }
  }
})

t.test('The package brings what is needed, and nothing of our tests', async (t) => {
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter(
    (file) => !file.includes('node_modules'),
  )
  for (const file of ['LICENSE', 'README.md', 'lib/README.md', 'build/lib/index.js', 'build/lib/index.d.ts']) {
    t.ok(files.includes(file), file)
  }
  // What the service reads and answers with.
  for (const file of [
    'http/api/openapi.json',
    'pages/assets/style.css',
    'pages/assets/marks.js',
    'pages/assets/icon.svg',
  ]) {
    t.ok(files.includes(`build/lib/${file}`), file)
  }
  t.strictSame(
    files.filter((file) => /\.test\.|^spec\/(?!README)|^lib\/.*\.ts$/.test(file)),
    [],
  )
})

t.test('It is small, of the same bytes whatever npm has done in the checkout, and well made', async (t) => {
  const [tarball = ''] = readdirSync(project).filter((name) => name.endsWith('.tgz'))
  const bytes = readFileSync(join(project, tarball))
  t.ok(bytes.length <= 6_000_000, `${bytes.length} bytes`)
  const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  t.ok(files.length <= 2_500, `${files.length} files`)
  t.strictSame(
    files.map(({ name }) => name).filter((name) => /\.(?:exe|dll|so|a|node)$/.test(name)),
    [],
  )
  // As after an `npm install`, whose record of a package says less than the package itself.
  utimesSync(join(root, 'node_modules/.package-lock.json'), new Date(), new Date())
  const again = join(folder, 'again')
  mkdirSync(again)
  await run('sh', ['-euc', pack.replace('../commit-status', root)], again)
  t.ok(bytes.equals(readFileSync(join(again, tarball))))
  const publint = join(root, 'node_modules/publint/src/cli.js')
  const { stdout } = await run(process.execPath, [publint, 'run', '--strict', join(again, tarball)], root)
  t.match(stdout, /All good!/)
})

t.test('Before its libgit2 is built, the package says which command builds it', async (t) => {
  mkdirSync(join(project, 'git'))
  writeFileSync(
    join(project, 'early.js'),
    "import { createCommitStatusService } from 'commit-status-service'\nawait createCommitStatusService({ " +
      "repositories: 'git', store: 'level:store' }).catch((error) => console.log(error.message))\n",
  )
  const { stdout } = await run(process.execPath, ['early.js'], project)
  t.equal(stdout, `libgit2 is not built; run: ${setUp}\n`)
})

t.test('One command makes the package work, with types', async (t) => {
  // The build itself takes minutes, and is the one that the set-up of these specs has made.
  cpSync(join(root, 'build/libgit2'), join(installed, 'build/libgit2'), { recursive: true, preserveTimestamps: true })
  const { stderr } = await run('sh', ['-euc', setUp], project)
  t.notMatch(stderr, /building/)

  writeFileSync(
    join(project, 'typed.ts'),
    `import { createCommitStatusService, ServiceError } from 'commit-status-service'
import type { AccessPolicy, StatusEvent } from 'commit-status-service'
const access: AccessPolicy['access'] = async (user, repository) => (user === repository.owner ? 'write' : 'none')
const accessPolicy: AccessPolicy = { access }
const service = await createCommitStatusService({ repositories: './git', store: 'level:./store', accessPolicy })
service.on('status', ({ repository, status }: StatusEvent) => console.log(repository, status.state))
await service.report('alice/hello', process.argv[2] ?? '', { state: 'success' }, 'alice')
await service.list('alice/none', '').catch((error) => { if (error instanceof ServiceError) console.log(error.code) })
await service.close()
`,
  )
  await run(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      '--strict',
      '--skipLibCheck',
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--types',
      'node',
      'typed.ts',
    ],
    project,
  )
  const { sha } = await makeRepositoryWithCommit(join(project, 'git'), 'alice/hello', { format: 'sha256' })
  const { stdout } = await run(process.execPath, ['typed.js', sha], project)
  t.equal(stdout, 'alice/hello success\nrepository_not_found\n')
})

t.test('A command of the package works, on the store of the host', async (t) => {
  const environment = [`COMMIT_STATUS_STORE=level:${join(project, 'store')}`, 'COMMIT_STATUS_REPOSITORIES=git']
  const { stdout } = await run('env', [...environment, 'node_modules/.bin/commit-status', 'store', 'stats'], project)
  t.match(stdout, /^repositories +1\ncommits +1\nstatuses +1\n/)
})

/** Every example of the pages that is JavaScript for a host. */
const examples = [
  ...codeBlocks(chapter('README.md', '## Embed it'), 'js'),
  ...codeBlocks(chapter('lib/README.md', '## Embedding'), 'js'),
].map((code) =>
  code
    .replaceAll('/srv/git', join(project, 'git'))
    .replaceAll('level:/var/lib/commit-status', `level:${join(project, 'store')}`),
)

for (const name of ['node:http', 'express']) {
  t.test(`The lines of the pages for ${name} work as they are pasted`, async (t) => {
    const port = await freePort()
    const code = examples.find((example) => example.includes(`'${name}'`)) ?? ''
    writeFileSync(join(project, 'example.js'), code.replace('8080', String(port)))
    const child = spawn('env', [...clean, process.execPath, 'example.js'], {
      cwd: project,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    t.teardown(async () => {
      if (child.kill()) await once(child, 'exit')
    })
    const url = `http://127.0.0.1:${port}`
    await answering(url)
    t.equal(await (await fetch(`${url}/some/page`)).text(), 'everything else is yours\n')
    t.strictSame(
      await fetchJson(`${url}/api/v1/repos/alice/hello/commits/${'0'.repeat(40)}/statuses`).then(
        ({ status, body }) => ({ status, body }),
      ),
      { status: 401, body: { error: 'authentication required' } },
    )
  })
}

t.test('The lines of the pages for administration work as they are pasted', async (t) => {
  const code = examples.find((example) => example.includes('administration')) ?? ''
  writeFileSync(join(project, 'administration.js'), code)
  const { stdout } = await run(process.execPath, ['administration.js'], project)
  t.match(stdout, /^cst_\w{48} \[\n {2}\{\n {4}id: '/)
  t.match(stdout, /\n\{ statuses: 0, kept: 0 \}\n$/)
})

/** Resolves when somebody answers; the example has no line that says when it listens. */
async function answering(url: string): Promise<void> {
  for (;;) {
    try {
      await fetch(url)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
