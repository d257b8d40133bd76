// A gate asks for the reports of the program that a service lives in with by=host. A user called host was given a
// token, and what he reported met it.
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Tokens } from '../../lib/auth/tokens.js'
import { openStore } from '../../lib/embedding/open-store.js'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import { embed, fetchJson, listen } from '../fixtures/embedded.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { newAddress, startService } from '../fixtures/service.js'
import { visit } from '../fixtures/visit.js'

const REFUSED = {
  name: 'ArgumentError',
  message: 'nobody can be called host: it is the program that an embedded service lives in',
}

t.test('Nobody makes a token, a right or a link for a user called host', async (t) => {
  const { admin } = await startService(t)
  await t.rejects(admin.createToken({ user: 'host', name: '', scopes: ['repo'], expiresAt: null }), REFUSED)
  await t.rejects(admin.grantAccess('alice/hello', 'host', 'write'), REFUSED)
  await t.rejects(admin.createSignIn('host'), REFUSED)
  t.strictSame([await admin.listTokens(null), await admin.listAccess(null)], [[], []])
  await t.resolves(admin.grantAccess('host', 'alice', 'read'), 'an owner may be called so')
})

t.test('A stored token of such a user opens nothing; it and what he was granted can be revoked', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'user-host-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const store = await newAddress(folder)
  const before = await openStore(store)
  const tokens = new Tokens({
    store: before.tokens,
    prefix: 'cst',
    maxTokens: 100,
    clock: systemClock,
    logger: silentLogger,
  })
  const fields = { user: 'host', name: '', scopes: ['repo'], expiresAt: null }
  const { token, record } = await tokens.create(fields)
  await before.grants.set({ owner: 'alice', user: 'host', access: 'write' })
  await tokens.close()
  await before.close()

  const service = await startService(t, { settings: { store } })
  const { sha } = await makeRepositoryWithCommit(service.repositories, 'alice/hello')
  t.equal((await service.report('alice/hello', sha, token, { state: 'success' })).status, 401)
  await service.admin.revokeToken(record.id)
  await service.admin.revokeAccess('alice', 'host')
  t.equal(await service.admin.endSignIns('host'), 0)
  t.strictSame([await service.admin.listTokens(null), await service.admin.listAccess(null)], [[], []])
})

t.test('Nobody is signed in as host by a reverse proxy', async (t) => {
  const signIn = { header: 'Remote-User', secretFile: '', url: '', command: '' }
  const service = await startService(t, { settings: { signIn, trustedProxies: ['127.0.0.1'] } })
  t.equal((await visit(service, '/settings/tokens', { headers: { 'Remote-User': 'host' } })).status, 403)
})

t.test("Neither a host's own tokens nor its sessions, nor its calls, make somebody the host", async (t) => {
  const errors: unknown[] = []
  const { service, repositories } = await embed(t, {
    accessPolicy: { access: () => Promise.resolve('write') },
    authenticator: { authenticate: (user) => Promise.resolve({ user, scopes: ['repo'] }) },
    pages: { session: ({ headers }: IncomingMessage) => String(headers['x-test-user']) },
    logger: {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (facts) => errors.push('err' in facts ? String(facts.err) : facts),
    },
  })
  const { sha } = await makeRepositoryWithCommit(repositories, 'alice/hello')
  const url = await listen(t, (request, response) => service.handler(request, response))
  const options = { method: 'POST', token: 'host', body: { state: 'success' } }
  t.equal((await fetchJson(`${url}/api/v1/repos/alice/hello/statuses/${sha}`, options)).status, 500)
  t.equal((await visit({ url }, '/repos/alice/hello', { headers: { 'X-Test-User': 'host' } })).status, 403)
  t.strictSame(errors, [
    'PartError: authenticator.authenticate() answered the user host: no user can have the name of the host',
  ])

  const mistake = { message: 'no user can be called host: that is this program, for which the user is left out' }
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }, 'host'), mistake)
  await t.rejects(service.report('alice/hello', sha, { state: 'success' }, { user: 'host', scopes: [] }), mistake)
  await t.rejects(service.access('host', 'alice/hello'), mistake)
  const query = { by: ['host'] }
  t.match(await service.verdict('alice/hello', sha, query), { verdict: 'pending' })
  await service.report('alice/hello', sha, { state: 'success' })
  t.match(
    await service.verdict('alice/hello', sha, query),
    { verdict: 'success' },
    'a report without a user is its own',
  )
})
