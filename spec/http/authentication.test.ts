import t from 'tap'
import { makeToken } from '../../lib/auth/token.js'
import { makeRepository, makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

const WRONG = 'invalid or expired token'
const MISSING = 'authentication required'
const settings = { authFailures: { limit: 1000, windowSeconds: 60 } }
const success = { state: 'success' }

t.test(
  'The token is sent as Bearer <ACCESS_TOKEN> or token <ACCESS_TOKEN>; scheme names are case-insensitive',
  async (t) => {
    const { service, token, reportPath, listPath } = await hostCommit(t, { private: true })
    for (const scheme of ['Bearer', 'token', 'bearer', 'BEARER', 'Token', 'tOkEn', 'Bearer  ']) {
      const headers = { Authorization: `${scheme} ${token}` }
      t.equal((await service.call('POST', reportPath, { headers, body: success })).status, 201, `report: ${scheme}`)
      t.equal((await service.call('GET', listPath, { headers })).status, 200, `list: ${scheme}`)
    }
  },
)

t.test('Tokens carry a fixed service-specific prefix followed by _', async (t) => {
  const { service, token, repository, sha } = await hostCommit(t, { settings: { ...settings, tokenPrefix: 'acme' } })
  t.match(token, /^acme_[0-9a-f]+$/)
  t.equal((await service.report(repository, sha, token, success)).status, 201)
  for (const sent of [
    token.slice('acme_'.length),
    `cst_${token.slice('acme_'.length)}`,
    token.replace('_', '-'),
    `ACME${token.slice('acme'.length)}`,
  ]) {
    refused(t, await service.report(repository, sha, sent, success), 401, WRONG, sent.slice(0, 8))
  }
})

t.test('An unknown token gets 401, for reads of a public repository too', async (t) => {
  const { service, token, reportPath, listPath, stored } = await hostCommit(t, { settings })
  const flipped = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
  const unknown = {
    'never given out': makeToken('cst'),
    mistyped: flipped,
    'cut off': token.slice(0, -1),
    longer: `${token}0`,
    'upper case': token.toUpperCase(),
    'of a few characters': 'x',
    'very long': 'x'.repeat(8000),
  }
  for (const [what, sent] of Object.entries(unknown)) {
    refused(t, await service.call('POST', reportPath, { token: sent, body: success }), 401, WRONG, `report: ${what}`)
    refused(t, await service.call('GET', listPath, { token: sent }), 401, WRONG, `list: ${what}`)
  }
  t.strictSame(await stored(), [])
})

t.test('An expired token gets 401', async (t) => {
  const start = Date.parse('2026-01-31T12:00:00Z')
  let now = start
  const { service, repository, sha } = await hostCommit(t, { clock: { now: () => now } })
  const { token } = await service.admin.createToken({
    user: 'alice',
    name: '',
    scopes: ['repo'],
    expiresAt: '2026-01-31T13:00:00Z',
  })
  now = start + 3_599_999
  t.equal((await service.report(repository, sha, token, success)).status, 201, 'a millisecond before it expires')
  for (const later of [3_600_000, 3_600_001, 1e12]) {
    now = start + later
    refused(t, await service.report(repository, sha, token, success), 401, WRONG)
    refused(t, await service.list(repository, sha, token), 401, WRONG)
  }
})

t.test('A revoked token gets 401 at once, and no other token is touched', async (t) => {
  const { service, repository, sha, token } = await hostCommit(t)
  const { id, token: revoked } = await service.admin.createToken({
    user: 'alice',
    name: 'ci',
    scopes: ['repo'],
    expiresAt: null,
  })
  t.equal((await service.report(repository, sha, revoked, success)).status, 201)
  await service.admin.revokeToken(id)
  refused(t, await service.report(repository, sha, revoked, success), 401, WRONG)
  refused(t, await service.list(repository, sha, revoked), 401, WRONG)
  t.equal((await service.report(repository, sha, token, success)).status, 201)
})

t.test('A token without the scope repo gets 403 on every operation, public reads included', async (t) => {
  const { service, repository, sha, stored } = await hostCommit(t)
  const { token } = await service.admin.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })
  refused(t, await service.report(repository, sha, token, success), 403, 'the token lacks the scope repo')
  refused(t, await service.list(repository, sha, token), 403, 'the token lacks the scope repo')
  t.strictSame(await stored(), [])
})

t.test('Authorization that is not a well-formed Bearer or token credential gets 401', async (t) => {
  const { service, token, reportPath, listPath, stored } = await hostCommit(t, { settings })
  const basic = Buffer.from(`alice:${token}`).toString('base64')
  const malformed = [
    '',
    'Bearer',
    'Bearer ',
    'token',
    token,
    `Basic ${basic}`,
    `Bearer ${token} x`,
    `Bearer ${token},`,
    `Bearer ${token}, Bearer ${token}`,
    `Bearer "${token}"`,
    `Bearer: ${token}`,
    `Bearer=${token}`,
    `Bearer\t${token}`,
    `Token token=${token}`,
    `Bearertoken ${token}`,
    `Digest ${token}`,
    `Bearer token ${token}`,
  ]
  for (const [method, path] of [
    ['POST', reportPath],
    ['GET', listPath],
  ] as const) {
    const socket = await RawSocket.open(t, service.url)
    for (const sent of malformed) {
      await socket.send(
        requestHead(method, path, { Authorization: sent, 'Content-Length': method === 'POST' ? '19' : undefined }),
        method === 'POST' ? JSON.stringify(success) : '',
      )
      refused(t, await socket.answer(), 401, WRONG, `${method} ${JSON.stringify(sent.replaceAll(token, '<token>'))}`)
    }
    await socket.send(
      requestHead(method, path, { Authorization: [`Bearer ${token}`, `Bearer ${token}`], 'Content-Length': '0' }),
    )
    refused(t, await socket.answer(), 401, WRONG, `${method} two headers`)
  }
  t.strictSame(await stored(), [])
})

t.test('Session cookies are never read: a request with only a session cookie is anonymous', async (t) => {
  const { service, token, reportPath, listPath, stored } = await hostCommit(t)
  await makeRepository(service.repositories, 'alice/private')
  const headers = { Cookie: `session=alice; token=${token}; Authorization=Bearer ${token}` }
  refused(t, await service.call('POST', reportPath, { headers, body: success }), 401, MISSING, 'a write')
  t.equal((await service.call('GET', listPath, { headers })).status, 200, 'a read of a public repository')
  refused(
    t,
    await service.call('GET', listPath.replace('hello', 'private'), { headers }),
    401,
    MISSING,
    'a read of a private one',
  )
  t.strictSame(await stored(), [])
  t.equal(
    (await service.call('POST', reportPath, { token, headers: { Cookie: 'session=mallory' }, body: success })).status,
    201,
    'beside a token they change nothing',
  )
})

t.test('A token anywhere but in the Authorization header is not read', async (t) => {
  const { service, token, reportPath } = await hostCommit(t)
  for (const headers of [
    { 'X-Token': token },
    { 'Private-Token': token },
    { 'Proxy-Authorization': `Bearer ${token}` },
  ]) {
    refused(
      t,
      await service.call('POST', reportPath, { headers, body: success }),
      401,
      MISSING,
      Object.keys(headers).join(),
    )
  }
  refused(
    t,
    await service.call('POST', `${reportPath}?access_token=${token}`, { body: { ...success, token } }),
    401,
    MISSING,
    'query and body',
  )
})

t.test(
  'Anonymous callers: a write without a token gets 401, reads of a public repository need none, and other ' +
    'reads get 401',
  async (t) => {
    const { service, repository, sha, report, stored } = await hostCommit(t)
    const { sha: secret } = await makeRepositoryWithCommit(service.repositories, 'alice/private')
    const { body } = await report(success)
    const kept = await stored()
    t.strictSame((await service.list(repository, sha)).body, { state: 'success', statuses: [body] })
    refused(t, await service.list('alice/private', secret), 401, MISSING, 'reading a private repository')
    refused(t, await service.list('alice/missing', secret), 401, MISSING, 'reading a missing one')
    for (const name of [repository, 'alice/private', 'alice/missing'])
      refused(t, await service.report(name, sha, undefined, success), 401, MISSING, `writing to ${name}`)
    t.strictSame(await stored(), kept)
  },
)

t.test('401 says how to authenticate', async (t) => {
  const { service, repository, sha } = await hostCommit(t)
  for (const token of [undefined, 'wrong'])
    t.equal((await service.report(repository, sha, token, success)).headers.get('www-authenticate'), 'Bearer')
})

t.test('No log line has a token, and none is stored', async (t) => {
  const { service, repository, sha, token, listPath } = await hostCommit(t)
  const unknown = makeToken('cst')
  await service.report(repository, sha, token, success)
  await service.report(repository, sha, unknown, success)
  await service.call('GET', `${listPath}?access_token=${token}`, {
    headers: { Authorization: `Basic ${token}`, Cookie: token },
  })
  const log = JSON.stringify(service.log)
  t.match(log, /failed authentication attempt/)
  for (const secret of [unknown, token]) t.notMatch(log, secret)
  t.notMatch(JSON.stringify(await service.admin.listTokens(null)), token.slice(-30))
})
