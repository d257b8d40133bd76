import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Git } from 'node-git-server'
import t, { type Test } from 'tap'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { freePort } from '../fixtures/free-port.js'
import { git, makeRepositoryWithCommit } from '../fixtures/git.js'
import { chapter, codeBlocks } from '../fixtures/page.js'
import { until } from '../fixtures/within.js'

t.setTimeout(90_000)

/** Runs an example of the page as it stands, but for folders and port, on what was compiled. */
async function run(t: Test, heading: string, mark: string) {
  const port = await freePort()
  // Below the checkout, where its packages are found, and it by its own name.
  const folder = mkdtempSync(join(fileURLToPath(new URL('../..', import.meta.url)), '.tap/host-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const repositories = join(folder, 'git')
  mkdirSync(repositories)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const code = codeBlocks(chapter('lib/README.md', heading), 'js').find((block) => block.includes(mark)) ?? ''
  // What the example makes is given to us by a last line of ours.
  const last = `
const tokens = ['alice', 'bob'].map((user) => ({ user, name: '', scopes: ['repo'], expiresAt: null }))
for (const token of tokens) console.log((await service.administration.createToken(token)).token)
await service.administration.grantAccess('alice', 'bob', 'read')
console.log('ready')
`
  const here = code
    .replaceAll('/srv/git', repositories)
    .replace('/var/lib/commit-status', join(folder, 'store'))
    .replace('8080', String(port))
  writeFileSync(join(folder, 'example.mjs'), here + last)
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, 'example.mjs'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    if (child.kill()) await once(child, 'exit')
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await until(() => {
    if (child.exitCode !== null) throw new Error('the example has ended')
    return output.includes('ready\n')
  })
  const [alice = '', bob = ''] = output.split('\n')
  return { folder, url: `http://127.0.0.1:${port}`, sha, alice, bob }
}

/** That a report is taken and listed. */
async function reports(t: Test, url: string, sha: string, token: string): Promise<void> {
  const at = `${url}/api/v1/repos/alice/hello`
  const made = await fetchJson(`${at}/statuses/${sha}`, { method: 'POST', token, body: { state: 'success' } })
  t.equal(made.status, 201)
  t.match(await fetchJson(`${at}/commits/${sha}/statuses`, { token }), { status: 200, body: { state: 'success' } })
}

for (const [name, mark] of Object.entries({ fastify: 'fastify()', hono: 'new Hono()', koa: 'new Koa()' }))
  t.test(`The lines of the page for ${name} work as they are pasted`, async (t) => {
    const { url, sha, alice } = await run(t, '### Other frameworks', mark)
    await reports(t, url, sha, alice)
    const other = await fetch(`${url}/some/page`)
    t.equal(await other.text(), 'everything else is yours\n')
  })

t.test('The git server of the page has one log-in, right and budget for git and the API', async (t) => {
  const { folder, url, sha, alice, bob } = await run(t, '### A whole git server', 'http-backend')
  const remote = (token: string) => `${url.replace('//', `//x:${token}@`)}/alice/hello.git`
  const clone = join(folder, 'clone')
  await git('clone', '--quiet', remote(alice), clone)
  await git('-C', clone, 'commit', '--quiet', '--allow-empty', '-m', 'next')
  await git('-C', clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/main')
  await reports(t, url, await git('-C', clone, 'rev-parse', 'HEAD'), alice)
  await reports(t, url, sha, alice)

  await git('clone', '--quiet', remote(bob), join(folder, 'of-bob'))
  await t.rejects(git('-C', clone, 'push', '--quiet', remote(bob), 'HEAD:refs/heads/other'), 'a reader may not push')
  const refs = `${url}/alice/hello.git/info/refs?service=git-upload-pack`
  const statusOf = async (address: string, password?: string) => {
    const authorization = `Basic ${Buffer.from(`x:${password}`).toString('base64')}`
    const { status } = await fetch(address, password === undefined ? {} : { headers: { authorization } })
    return status
  }
  t.equal(await statusOf(refs), 401, 'git asks for a password')
  t.equal(await statusOf(refs.replace('hello', 'none'), bob), 404)
  t.equal(await statusOf(`${url}/alice/hello.git/config`, alice), 404)
  for (let failure = 1; failure <= 20; failure++) t.equal(await statusOf(refs, 'wrong'), 401)
  t.equal(await statusOf(refs, alice), 429)
  const list = `${url}/api/v1/repos/alice/hello/commits/${sha}/statuses`
  t.equal((await fetchJson(list, { token: alice })).status, 429, 'for the API too')
})

t.test('node-git-server works with the handler before it', async (t) => {
  const { service, folder, repositories, tokenOf } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const server = new Git(repositories, { autoCreate: false })
  const url = await listen(t, (request, response) => {
    service.handler(request, response, () => {
      server.handle(request, response)
    })
  })
  const clone = join(folder, 'clone')
  await git('clone', '--quiet', `${url}/alice/hello.git`, clone)
  await git('-C', clone, 'commit', '--quiet', '--allow-empty', '-m', 'next')
  await git('-C', clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/main')
  const alice = await tokenOf('alice')
  await reports(t, url, await git('-C', clone, 'rev-parse', 'HEAD'), alice)
  await reports(t, url, sha, alice)
})
