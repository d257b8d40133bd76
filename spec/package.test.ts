import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { fetchJson } from './fixtures/embedded.js'
import { makeCommit, makeRepository } from './fixtures/git.js'

const root = fileURLToPath(new URL('..', import.meta.url))
/** By `env`, since tap puts into every environment what its own processes need. */
const clean = ['-i', `PATH=${process.env['PATH'] ?? ''}`, `HOME=${process.env['HOME'] ?? ''}`]
const run = async (file: string, args: string[], cwd: string) => await promisify(execFile)('env', [...clean, file, ...args], { cwd })

/** Another project with our package installed from `npm pack`; its other dependencies are those that are here. */
const project = mkdtempSync(join(tmpdir(), 'consumer-'))
const installed = join(project, 'node_modules/commit-status')
t.teardown(() => {
  rmSync(project, { recursive: true })
})

t.before(async () => {
  mkdirSync(installed, { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== 'nodegit' && !name.startsWith('.')) symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
  }
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], root)
  const [pack] = JSON.parse(stdout) as [{ filename: string }]
  await run('tar', ['-xzf', join(project, pack.filename), '-C', installed, '--strip-components=1'], project)
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
})

t.test('Before its libgit2 is built, the package says which command builds it', async (t) => {
  mkdirSync(join(project, 'git'))
  writeFileSync(join(project, 'early.js'), "import { createCommitStatusService } from 'commit-status'\nawait createCommitStatusService({ repositories: 'git', store: 'level:store' }).catch((error) => console.log(error.message))\n")
  const { stdout } = await run(process.execPath, ['early.js'], project)
  t.equal(stdout, 'libgit2 is not built; run: npx commit-status set-up\n')
})

t.test('One command makes the package work, with types', async (t) => {
  // The build itself takes minutes, and is the one that the set-up of these specs has made.
  cpSync(join(root, 'build/libgit2'), join(installed, 'build/libgit2'), { recursive: true, preserveTimestamps: true })
  const { stderr } = await run(process.execPath, [join(installed, 'scripts/commit-status'), 'set-up'], project)
  t.notMatch(stderr, /building/)

  writeFileSync(
    join(project, 'typed.ts'),
    `import { createCommitStatusService, ServiceError, type AccessPolicy, type StatusEvent } from 'commit-status'
const accessPolicy: AccessPolicy = { access: async (user, repository) => (user === repository.owner ? 'write' : 'none') }
const service = await createCommitStatusService({ repositories: './git', store: 'level:./store', accessPolicy })
service.on('status', ({ repository, status }: StatusEvent) => console.log(repository, status.state))
await service.report('alice/hello', process.argv[2] ?? '', { state: 'success' }, 'alice')
try { await service.list('alice/none', '') } catch (error) { if (error instanceof ServiceError) console.log(error.code) }
await service.close()
`,
  )
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', 'typed.ts'], project)
  const sha = await makeCommit(await makeRepository(join(project, 'git'), 'alice/hello', { format: 'sha256' }))
  const { stdout } = await run(process.execPath, ['typed.js', sha], project)
  t.equal(stdout, 'alice/hello success\nrepository_not_found\n')
})

/** The JavaScript of the README's chapter "Inside your git server". */
const [, chapter = ''] = readFileSync(join(root, 'README.md'), 'utf8').split('## Inside your git server')
const examples = [...(chapter.split('\n## ')[0] ?? '').matchAll(/```js\n(.*?)```/gs)].map(([, code = '']) => code)

for (const [index, name] of ['node:http', 'express'].entries()) {
  t.test(`The README's lines for ${name} work as they are pasted`, async (t) => {
    const port = await freePort()
    const code = (examples[index] ?? '').replace('/srv/git', join(project, 'git')).replace('/var/lib/commit-status', join(project, 'store')).replace('8080', String(port))
    t.match(code, name)
    writeFileSync(join(project, `${index}.js`), code)
    const child = spawn('env', [...clean, process.execPath, `${index}.js`], { cwd: project, stdio: ['ignore', 'inherit', 'inherit'] })
    t.teardown(async () => {
      if (child.kill()) await once(child, 'exit')
    })
    const url = `http://127.0.0.1:${port}`
    await answering(url)
    t.equal(await (await fetch(`${url}/some/page`)).text(), 'everything else is yours\n')
    t.strictSame(await fetchJson(`${url}/api/v1/repos/alice/hello/commits/${'0'.repeat(40)}/statuses`).then(({ status, body }) => ({ status, body })), { status: 401, body: { error: 'authentication required' } })
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

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
