// Every link, form and redirect of the pages begins with what an admin or a host has set. With `https://x//ci` as
// `publicUrl` they began with `//ci/`, which browsers take for the host `ci`: somebody else's. With `/api/v1` as the
// base of a host's pages they took the place of the API, which was not found any more. And whatever a host's session
// answered, a megabyte too, was shown as a user that is signed in.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MOUNTS } from '../../lib/http/api-paths.js'
import { createCommitStatusService, type CommitStatusOptions } from '../../lib/index.js'
import { readSettings } from '../../lib/stand-alone/settings.js'
import { embed, listen } from '../fixtures/embedded.js'
import { makeRepository } from '../fixtures/git.js'
import { startService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

/** Makes a service with these options. */
async function made(t: Test, options: Partial<CommitStatusOptions>): Promise<void> {
  const folder = t.testdir({ repositories: {} })
  const service = await createCommitStatusService({
    repositories: join(folder, 'repositories'),
    store: `level:${join(folder, 'store')}`,
    ...options,
  })
  await service.close()
}

t.test('A publicUrl with // in its path is refused, as a setting and as an option', async (t) => {
  const [home, directory] = ['/', t.testdir()]
  const asked = (publicUrl: string) =>
    readSettings({ environment: { COMMIT_STATUS_PUBLIC_URL: publicUrl }, home, directory })
  for (const url of ['https://status.example.com//ci', 'https://status.example.com/ci//', 'http://[::1]:1/a//b']) {
    const rule = 'must be an http or https address without a query, and without // in its path'
    const message = `= ${JSON.stringify(url)}: ${rule}`
    t.throws(() => asked(url), { message: `bad setting publicUrl (COMMIT_STATUS_PUBLIC_URL) ${message}` })
    const file = join(directory, 'settings.json')
    writeFileSync(file, JSON.stringify({ publicUrl: url }))
    t.throws(() => readSettings({ environment: {}, home, directory, file }), {
      message: `bad setting publicUrl (${file}) ${message}`,
    })
    await t.rejects(made(t, { publicUrl: url }), {
      message: `createCommitStatusService: the option publicUrl ${rule}; got ${JSON.stringify(url)}`,
    })
  }
  for (const url of ['', 'https://status.example.com', 'https://status.example.com/', 'http://[::1]:1/a/b/']) {
    t.equal(asked(url).publicUrl, url)
    await t.resolves(made(t, { publicUrl: url }), url)
  }
})

const session = () => undefined

t.test("A host's pages cannot have a base that hides an API, or that browsers put straight", async (t) => {
  const apis = ['/healthz', '/api/v1', ...Object.values(MOUNTS).flat()]
  for (const base of [...apis, '/api', '/github', '/gitea', '/gitlab', '/api/v1/pages', '/gitea/api/v1/x/y'])
    await t.rejects(
      made(t, { pages: { session, base } }),
      { message: `createCommitStatusService: the option pages.base cannot be ${base}, which the APIs are under` },
      base,
    )
  for (const base of ['/..', '/.', '/a/../api/v1', '/a/./b', '/a/..'])
    await t.rejects(made(t, { pages: { session, base } }), /pages\.base must be like/, base)
  for (const base of [
    '',
    '/status',
    '/api2',
    '/apis/v1',
    '/gitea/status',
    '/..a',
    '/a..',
    '/...',
    '/.well-known/status',
  ])
    await t.resolves(made(t, { pages: { session, base } }), base)
})

t.test('Nor can the stand-alone service be told that its pages are where an API is', async (t) => {
  for (const path of ['/api/v1', '/api/v3/', '/healthz'])
    await t.rejects(
      startService(t, { settings: { publicUrl: `https://status.example.com${path}` } }),
      { message: `publicUrl cannot have the path ${path.replace(/\/$/, '')}, which the APIs are under` },
      path,
    )
})

t.test('Whom the session of a host names by what is no user name is refused with 403', async (t) => {
  let user = 'alice'
  const { service, repositories } = await embed(t, { pages: { session: () => user } })
  await makeRepository(repositories, 'alice/private')
  const url = await listen(t, service.handler)
  const form = { name: 'x', expires: '7d', scope: 'repo' }
  const words = 'the user that the reverse proxy or the host names breaks the name rules'
  for (user of ['../x', 'a\r\nSet-Cookie: x', 'x'.repeat(1_000_000), 'alice ', '.alice', 'alice:example.com']) {
    for (const path of ['/', '/repos/alice/private', '/settings/tokens', '/repos/alice/private/badge.svg']) {
      const { status, headers, text } = await visit({ url }, path)
      t.strictSame([status, headers.has('set-cookie'), text.length < 2_000], [403, false, true], path)
      t.match(text, words.slice(1))
    }
    t.equal((await visit({ url }, '/settings/tokens', { form })).status, 403)
  }
  t.strictSame(await service.administration.listTokens(null), [], 'nobody has made a token')
  user = 'alice'
  t.equal((await visit({ url }, '/repos/alice/private')).status, 200)
})
