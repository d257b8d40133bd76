// A process of its own: memory is measured.

// Commits with more contexts than anybody looks at. 16 anonymous lists of 10,000 contexts of 10 KB at once ended the
// process (the heap was full), a list over 512 MB was 500 for ever, clients that read at full speed were taken for slow
// ones, and the commands ended in a stack trace or in "too many changes wait for the disk".
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, get, request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { readSettings } from '../../lib/stand-alone/settings.js'
import { isLong } from '../faults/fault.js'
import { CommandPlace } from '../fixtures/command.js'
import { embed } from '../fixtures/embedded.js'
import { writeExport } from '../fixtures/export-file.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'
import { needsLevel } from '../fixtures/service.js'

/** More than a queue of a store takes. */
const CONTEXTS = isLong ? 100_000 : 20_000

t.test('A report that would add one context more than the limit: 422 that names it, after check 9', async (t) => {
  const defaults = readSettings({ environment: {}, home: '/', directory: '/' })
  const hosted = await hostCommit(t, { settings: { limits: { ...defaults.limits, contexts: 3 } } })
  for (const context of ['a', 'b', 'c'])
    t.equal((await hosted.report({ state: 'pending', context })).status, 201, context)
  const before = await hosted.stored()
  const message = 'too many contexts on the commit: limits.contexts is 3'
  refused(t, await hosted.report({ state: 'success', context: 'd' }), 422, message)
  refused(
    t,
    await hosted.report({ state: 'wrong', context: 'd' }),
    422,
    /^state /,
    'the rules of the fields come before',
  )
  t.strictSame(await hosted.stored(), before, 'nothing is saved')
  t.equal((await hosted.report({ state: 'success', context: 'b' })).status, 201, 'to replace goes on')
  const { admin } = hosted.service
  await admin.renameRepository('alice/hello', 'alice/world')
  t.equal((await hosted.list()).body['state'], null, 'a rename is not bound by it')
  await admin.renameRepository('alice/world', 'alice/hello')
  t.equal((await hosted.stored()).length, 3)
})

t.test('A list that is too large for the memory is sent as it is read, as any other list is', async (t) => {
  const { service, repositories, folder } = await embed(t)
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello', { public: true })
  const description = '\u{1F600}'.repeat(1024)
  const report = async (first: number, last: number): Promise<void> => {
    const all = Array.from({ length: last - first }, async (_, index) => {
      await service.report('alice/hello', sha, { state: 'success', context: `c${first + index}`, description })
    })
    await Promise.all(all)
  }
  // A socket of this kind takes 200 kB that nobody reads, and not, as those of TCP do, more the longer they live.
  const socketPath = join(folder, 'http')
  const server = createServer(service.handler).listen(socketPath)
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const path = `/api/v1/repos/alice/hello/commits/${sha}/statuses`
  const ask = async (method: string, headers: Record<string, string> = {}): Promise<IncomingMessage> => {
    const asked = request({ socketPath, path, method, headers, agent: false }).end()
    return ((await once(asked, 'response')) as [IncomingMessage])[0]
  }
  await report(0, 140)
  const small = JSON.parse(await text(await ask('GET'))) as { statuses: unknown[] }
  t.equal(small.statuses.length, 140, 'one that is in memory grows')
  await report(140, 250)

  const answer = await ask('GET')
  const { etag = '', 'content-length': length } = answer.headers
  const sent = await text(answer)
  t.strictSame([answer.statusCode, Buffer.byteLength(sent)], [200, Number(length)])
  t.strictSame(JSON.parse(sent), await service.list('alice/hello', sha))
  const waited = ask('GET', { 'If-None-Match': etag, Prefer: 'wait=1' })
  const known = await ask('GET', { 'If-None-Match': etag })
  t.strictSame([known.statusCode, await text(known)], [304, ''])
  const head = await ask('HEAD')
  t.strictSame([head.headers.etag, head.headers['content-length'], await text(head)], [etag, length, ''])
  t.strictSame([(await waited).statusCode, (await waited).headers['preference-applied']], [304, 'wait=1'])
  const left = await ask('GET')
  left.destroy()
  await t.resolves(service.close(), 'a client that goes away holds up nothing')
})

t.test(`Every command works on a commit of ${CONTEXTS} contexts`, { skip: needsLevel }, async (t) => {
  const place = new CommandPlace(t.testdir())
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const file = join(place.folder, 'export')
  await writeExport(file, { name: 'alice/hello', sha, contexts: CONTEXTS, description: 'd' })
  const run = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await place.run(args)
    t.strictSame([status, stderr], [0, ''], args.join(' '))
    return stdout
  }
  for (const running of [false, true]) {
    if (running) await place.serve(t)
    t.match(await run('store', 'import', file), `${CONTEXTS} statuses`)
    // To draw so long a table takes a quarter of a minute.
    if (isLong && !running) t.equal((await run('status', 'list', 'alice/hello', sha)).split('\n').length, CONTEXTS + 2)
    await run('repo', 'rename', 'alice/hello', 'alice/world')
    t.equal((await run('status', 'list', 'alice/world', sha, '--json')).split('"context":').length - 1, CONTEXTS)
    t.match(await run('status', 'delete', 'alice/world', sha), String(CONTEXTS))
    t.equal(await run('status', 'list', 'alice/world', sha, '--json'), '')
  }
})

t.test('48 lists of 10 MB at once, with a heap of 768 MB: each is whole, or 503 before it begins', async (t) => {
  const place = new CommandPlace(t.testdir())
  const commits: string[] = []
  for (const name of isLong ? ['alice/a', 'alice/b', 'alice/c', 'alice/d'] : ['alice/a', 'alice/b']) {
    const { sha } = await makeRepositoryWithCommit(place.repositories, name, { public: true })
    commits.push(`/api/v1/repos/${name}/commits/${sha}/statuses`)
    const file = join(place.folder, 'export')
    await writeExport(file, { name, sha, contexts: 10_000, description: 'd'.repeat(900) })
    t.match(await place.run(['store', 'import', file]), { status: 0 })
  }
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/small', { public: true })
  const small = `/api/v1/repos/alice/small/commits/${sha}/statuses`
  const { url, child, end } = await place.serve(t, {
    environment: { NODE_OPTIONS: '--max-old-space-size=768', COMMIT_STATUS_LOG_LEVEL: 'error' },
  })
  const alone = await Promise.all(commits.map(async (path) => await listed(url + path)))
  for (const { status, bytes } of alone) t.ok(status === 200 && bytes > 10_000_000, `${status} with ${bytes} bytes`)

  const waits: number[] = []
  const state = { over: false }
  const others = (async () => {
    while (!state.over) {
      const start = performance.now()
      t.equal((await listed(url + small)).status, 200)
      waits.push(performance.now() - start)
    }
  })()
  const asked = Array.from({ length: 48 }, async (_, index) => {
    const which = index % commits.length
    return { which, ...(await listed(url + (commits[which] ?? ''))) }
  })
  const begun = performance.now()
  const answers = await Promise.all(asked)
  const took = performance.now() - begun
  state.over = true
  await others
  for (const { which, status, digest, retryAfter } of answers) {
    if (status === 200) t.equal(digest, alone[which]?.digest, 'whole')
    else t.ok(status === 503 && Number(retryAfter) > 0, `${status}, Retry-After: ${retryAfter}`)
  }
  t.ok(answers.some(({ status }) => status === 200))
  // A badge of one context that read all of them ended the process.
  const badges = Array.from({ length: 300 }, async (_, index) => {
    const name = commits[index % commits.length]?.split('/').slice(4, 6).join('/') ?? ''
    const settled = index % 3 === 0 ? '&settled' : ''
    return await listed(`${url}/repos/${name}/badge.svg?context=check+${String(index).padStart(6, '0')}${settled}`)
  })
  const shown = new Set((await Promise.all(badges)).map(({ status }) => status))
  shown.delete(503)
  t.strictSame(shown, new Set([200]))
  const longest = Math.max(...waits)
  t.comment(`longest wait of the others: ${Math.round(longest)} ms, of all lists ${Math.round(took)} ms`)
  // Less than three seconds, or on a machine that is busy with other things a part of what the lists take.
  t.ok(longest < Math.max(3000, took / 4), 'others go on')
  t.equal(child.exitCode, null, 'it is still there')
  t.equal((await end('SIGTERM')).status, 0)
})

/** Reads an answer as fast as it comes. */
async function listed(url: string) {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage]
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return {
    status: response.statusCode,
    bytes,
    digest: hash.digest('hex'),
    retryAfter: response.headers['retry-after'],
  }
}
