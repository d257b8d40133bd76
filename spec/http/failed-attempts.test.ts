import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { makeToken } from '../../lib/auth/token.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'
import type { Answer } from '../fixtures/service.js'

const WRONG = 'invalid or expired token'
const TOO_MANY = 'too many failed authentication attempts'
const success = { state: 'success' }

/** Settings of a service behind a proxy on this machine. */
function settings(limit: number, trustedProxies = ['127.0.0.1'], windowSeconds = 600) {
  return { settings: { trustedProxies, authFailures: { limit, windowSeconds } } }
}

/** A read of the public repository by a client that the proxy names. */
async function read({ service, listPath }: HostedCommit, client: string, authorization?: string): Promise<Answer> {
  return await service.call('GET', listPath, {
    headers: { 'X-Forwarded-For': client, ...(authorization !== undefined && { Authorization: authorization }) },
  })
}

t.test(
  'After too many failures the API answers 429 with Retry-After, to right and wrong tokens, for every operation',
  async (t) => {
    const { service, repository, sha, token, stored } = await hostCommit(t, {
      settings: { authFailures: { limit: 3, windowSeconds: 600 } },
    })
    for (let failure = 1; failure <= 3; failure++)
      refused(t, await service.report(repository, sha, 'wrong', success), 401, WRONG, `failure ${failure}`)
    for (const sent of [token, 'wrong', makeToken('cst')]) {
      for (const answer of [
        await service.report(repository, sha, sent, success),
        await service.list(repository, sha, sent),
        await service.list('alice/missing', sha, sent),
      ]) {
        refused(t, answer, 429, TOO_MANY)
        const seconds = answer.headers.get('retry-after') ?? ''
        t.match(seconds, /^\d+$/, 'whole seconds')
        t.ok(Number(seconds) >= 1 && Number(seconds) <= 600, seconds)
      }
    }
    t.strictSame(await stored(), [])
  },
)

t.test('By default 20 failures are allowed', async (t) => {
  const { service, repository, sha, token } = await hostCommit(t)
  for (let failure = 1; failure < 20; failure++) await service.list(repository, sha, 'wrong')
  t.equal((await service.list(repository, sha, token)).status, 200, 'after 19')
  refused(t, await service.list(repository, sha, 'wrong'), 401, WRONG, 'the 20th')
  refused(t, await service.list(repository, sha, token), 429, TOO_MANY)
})

t.test('Requests without credentials go on', async (t) => {
  const { service, repository, sha, report } = await hostCommit(t, settings(1))
  t.equal((await report(success)).status, 201)
  await service.list(repository, sha, 'wrong')
  refused(t, await report(success), 429, TOO_MANY)
  t.match(await service.list(repository, sha), { status: 200, body: { state: 'success' } })
  refused(t, await service.report(repository, sha, undefined, success), 401, 'authentication required')
  t.equal((await service.call('GET', '/healthz')).status, 200)
})

t.test('Credentials that were sent and were wrong count: malformed, unknown, expired, revoked', async (t) => {
  let now = Date.parse('2026-01-31T12:00:00Z')
  const hosted = await hostCommit(t, { ...settings(1), clock: { now: () => now } })
  const { admin } = hosted.service
  const create = async (expiresAt: string | null) =>
    await admin.createToken({ user: 'alice', name: '', scopes: ['repo'], expiresAt })
  const expired = await create('2026-01-31T12:00:01Z')
  const revoked = await create(null)
  await admin.revokeToken(revoked.id)
  now += 1000
  const wrong = [
    'Bearer x',
    `Bearer ${makeToken('cst')}`,
    `Bearer ${expired.token}`,
    `token ${revoked.token}`,
    'Basic YTpi',
    '',
    'Bearer',
    hosted.token,
    `Bearer ${hosted.token} x`,
  ]
  for (const [index, authorization] of wrong.entries()) {
    const client = `203.0.113.${index + 1}`
    refused(t, await read(hosted, client, authorization), 401, WRONG, `number ${index}`)
    refused(t, await read(hosted, client, `Bearer ${hosted.token}`), 429, TOO_MANY, `number ${index} has counted`)
  }
  const socket = await RawSocket.open(t, hosted.service.url)
  const two = [`Bearer ${hosted.token}`, `Bearer ${hosted.token}`]
  await socket.send(requestHead('GET', hosted.listPath, { 'X-Forwarded-For': '203.0.113.99', Authorization: two }))
  refused(t, await socket.answer(), 401, WRONG, 'two headers')
  refused(t, await read(hosted, '203.0.113.99', `Bearer ${hosted.token}`), 429, TOO_MANY, 'two headers have counted')
})

t.test('A request without credentials, a missing scope, a missing right and a bad request do not count', async (t) => {
  const { service, repository, sha, token, reportPath } = await hostCommit(t, settings(1))
  const scopeless = (await service.admin.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })).token
  const stranger = await service.tokenOf('stranger')
  for (let repeat = 0; repeat < 2; repeat++) {
    const answers = [
      await service.report(repository, sha, undefined, success),
      await service.list('alice/missing', sha),
      await service.call('POST', reportPath, { headers: { Cookie: 'session=x' }, body: success }),
      await service.report(repository, sha, scopeless, success),
      await service.report(repository, sha, stranger, success),
      await service.list('alice/missing', sha, stranger),
      await service.list(repository, 'short', token),
      await service.report(repository, sha, token, 'no JSON'),
      await service.report(repository, sha, token, { state: 'bogus' }),
      await service.list(repository, 'f'.repeat(40), token),
      await service.report(repository, sha, token, 'x'.repeat(20_000)),
      await service.call('GET', '/nowhere', { token: 'wrong' }),
      await service.call('PUT', reportPath, { token: 'wrong' }),
    ]
    t.strictSame(
      answers.map(({ status }) => status),
      [401, 401, 401, 403, 403, 404, 422, 400, 422, 404, 413, 404, 405],
    )
  }
  t.equal((await service.report(repository, sha, token, success)).status, 201)
})

t.test('A success gives nothing back', async (t) => {
  const { service, repository, sha, token } = await hostCommit(t, settings(2))
  refused(t, await service.list(repository, sha, 'wrong'), 401, WRONG)
  for (let success = 0; success < 5; success++) t.equal((await service.list(repository, sha, token)).status, 200)
  refused(t, await service.list(repository, sha, 'wrong'), 401, WRONG)
  refused(t, await service.list(repository, sha, token), 429, TOO_MANY)
})

t.test(
  'Failures expire with the window: after Retry-After seconds the token is taken again, and a new window begins',
  async (t) => {
    const { service, repository, sha, token } = await hostCommit(t, settings(1, [], 2))
    for (const window of [1, 2]) {
      refused(t, await service.list(repository, sha, 'wrong'), 401, WRONG)
      const refusal = await service.list(repository, sha, token)
      refused(t, refusal, 429, TOO_MANY)
      t.match(refusal.headers.get('retry-after'), /^[12]$/, 'no more than the window')
      if (window === 2) break
      // What a client does that was told so: the one wait that no event ends.
      await setTimeout(Number(refusal.headers.get('retry-after')) * 1000)
      t.equal((await service.list(repository, sha, token)).status, 200)
    }
  },
)

t.test('Failures count against the client IP address, one apart from the other', async (t) => {
  const hosted = await hostCommit(t, settings(1))
  refused(t, await read(hosted, '203.0.113.1', 'Bearer wrong'), 401, WRONG)
  refused(t, await read(hosted, '203.0.113.1', `Bearer ${hosted.token}`), 429, TOO_MANY)
  t.equal((await read(hosted, '203.0.113.2', `Bearer ${hosted.token}`)).status, 200, 'another client')
  t.equal((await hosted.list()).status, 200, 'the proxy itself')
})

t.test('X-Forwarded-For counts only when the peer is a trusted proxy', async (t) => {
  const hosted = await hostCommit(t, settings(1, ['10.0.0.0/8']))
  refused(t, await read(hosted, '203.0.113.1', 'Bearer wrong'), 401, WRONG)
  refused(
    t,
    await read(hosted, '203.0.113.2', `Bearer ${hosted.token}`),
    429,
    TOO_MANY,
    'the peer is the client, whatever it says',
  )
  refused(t, await hosted.list(), 429, TOO_MANY)
})

t.test('X-Forwarded-For is read from the right to the first untrusted hop', async (t) => {
  const hosted = await hostCommit(t, settings(1, ['127.0.0.1', '10.0.0.0/8']))
  refused(t, await read(hosted, '198.51.100.1, 203.0.113.1, 10.1.2.3', 'Bearer wrong'), 401, WRONG)
  for (const same of [
    '203.0.113.1',
    '198.51.100.9, 203.0.113.1',
    'nonsense, 203.0.113.1, 10.9.9.9,10.0.0.1',
    '10.0.0.1, 203.0.113.1',
  ]) {
    refused(t, await read(hosted, same, `Bearer ${hosted.token}`), 429, TOO_MANY, same)
  }
  for (const other of [
    '198.51.100.1',
    '198.51.100.1, 10.1.2.3',
    '203.0.113.1, 198.51.100.1',
    '203.0.113.1, 192.0.2.1, 10.1.2.3',
  ]) {
    t.equal((await read(hosted, other, `Bearer ${hosted.token}`)).status, 200, other)
  }
})

t.test('IPv4 and IPv4-mapped IPv6 are one address; IPv6 counts per /64', async (t) => {
  const hosted = await hostCommit(t, settings(1))
  const clients = [
    {
      failed: '203.0.113.7',
      same: ['::ffff:203.0.113.7', '::ffff:cb00:7107', '0:0:0:0:0:FFFF:203.0.113.7'],
      other: ['203.0.113.8', '::ffff:203.0.113.9'],
    },
    { failed: '::ffff:198.51.100.7', same: ['198.51.100.7'], other: ['198.51.100.8', '::c633:6407'] },
    {
      failed: '2001:db8:1:2::1',
      same: ['2001:db8:1:2::1', '2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:0db8:0001:0002:0:0:0:1'],
      other: ['2001:db8:1:3::1', '2001:db8:0:2::1', '2001:db8::1:2:1'],
    },
  ]
  for (const { failed, same, other } of clients) {
    refused(t, await read(hosted, failed, 'Bearer wrong'), 401, WRONG, failed)
    for (const client of same)
      refused(t, await read(hosted, client, `Bearer ${hosted.token}`), 429, TOO_MANY, `${client} is ${failed}`)
    for (const client of other)
      t.equal((await read(hosted, client, `Bearer ${hosted.token}`)).status, 200, `${client} is not ${failed}`)
  }
})

t.test('A failed attempt is logged with the client, and without what was sent', async (t) => {
  const hosted = await hostCommit(t, settings(5))
  const sent = makeToken('cst')
  await read(hosted, '203.0.113.1', `Bearer ${sent}`)
  t.match(attempts(hosted), [{ client: '203.0.113.1' }])
  t.notMatch(JSON.stringify(hosted.service.log), sent)
})

t.test('The line of an attempt says by which request and token, where it is one that was ours', async (t) => {
  const hosted = await hostCommit(t, settings(6))
  const { service, listPath, sha } = hosted
  const make = async (expiresAt: string | null) =>
    await service.admin.createToken({ user: 'alice', name: 'ci', scopes: ['repo'], expiresAt })
  const [expired, revoked] = [await make('2020-01-01T00:00:00.000Z'), await make(null)]
  await service.admin.revokeToken(revoked.id)
  for (const token of [expired.token, revoked.token, 'cst_none']) {
    const { headers } = await service.call('GET', `${listPath}?x=1`, { token, headers: { 'X-Request-Id': 'job-7' } })
    t.equal(headers.get('x-request-id'), 'job-7')
  }
  const other = await fetch(`${service.url}/api/v3/repos/alice/hello/commits/${sha}/status`, {
    headers: { Authorization: `token ${revoked.token}` },
  })
  t.equal(other.status, 401)
  const ofJob = { level: 30, method: 'GET', path: listPath, request: 'job-7', status: 401, client: '127.0.0.1' }
  const found = attempts(hosted)
  t.match(found, [
    { ...ofJob, token: expired.id },
    { ...ofJob, token: revoked.id },
    ofJob,
    { token: revoked.id, path: /^\/api\/v3\//, request: other.headers.get('x-request-id') },
  ])
  t.notOk(found[2] && 'token' in found[2], 'what is no token has no id')
  for (const { token } of [expired, revoked]) t.notMatch(JSON.stringify(service.log), token)
})

function attempts({ service }: HostedCommit): Record<string, unknown>[] {
  return service.log.filter(({ msg }) => msg === 'failed authentication attempt')
}
