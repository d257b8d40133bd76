import t from 'tap'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { refused } from '../fixtures/refusal.js'

/** What a request is made of; a break of a check changes some of it. */
interface Attempt {
  readonly authorization?: string | undefined
  readonly repository: string
  readonly sha: string
  readonly body: unknown
}

/** A way to fail one check of the specification's list. */
interface Break {
  readonly check: number
  readonly what: string
  readonly with: (tokens: Tokens) => Partial<Attempt>
  readonly status: number
  readonly message: string | RegExp
}

interface Tokens {
  readonly owner: string
  readonly stranger: string
  readonly reader: string
  readonly scopeless: string
}

const wrong = { authorization: 'Bearer cst_wrong' }
const sha = 'sha must be a full 40 or 64 character hex commit id'

/** In the order of the specification ("Report a status"). */
const reportBreaks: readonly Break[] = [
  { check: 1, what: 'a wrong token', with: () => wrong, status: 401, message: 'invalid or expired token' },
  {
    check: 1,
    what: 'a token without the scope repo',
    with: ({ scopeless }) => ({ authorization: `Bearer ${scopeless}` }),
    status: 403,
    message: 'the token lacks the scope repo',
  },
  {
    check: 2,
    what: 'a missing repository',
    with: ({ owner }) => ({ authorization: `Bearer ${owner}`, repository: 'alice/missing' }),
    status: 404,
    message: 'repository not found',
  },
  {
    check: 2,
    what: 'a private repository of others',
    with: ({ stranger }) => ({ authorization: `Bearer ${stranger}`, repository: 'alice/private' }),
    status: 404,
    message: 'repository not found',
  },
  {
    check: 2,
    what: 'read-only access',
    with: ({ reader }) => ({ authorization: `Bearer ${reader}` }),
    status: 403,
    message: 'write access to the repository is required',
  },
  {
    check: 3,
    what: 'no signed-in user',
    with: () => ({ authorization: undefined }),
    status: 401,
    message: 'authentication required',
  },
  { check: 4, what: 'a short sha', with: () => ({ sha: 'abcdef0' }), status: 422, message: sha },
  {
    check: 5,
    what: 'a body of 16385 bytes',
    with: () => ({ body: `{"state":1,${' '.repeat(16_373)}}` }),
    status: 413,
    message: 'request body larger than 16384 bytes',
  },
  {
    check: 6,
    what: 'no JSON',
    with: () => ({ body: '{"state":"bogus","context":""' }),
    status: 400,
    message: /^invalid JSON body/,
  },
  {
    check: 6,
    what: 'a state that is no string',
    with: () => ({ body: { state: 1, context: '' } }),
    status: 400,
    message: /^invalid JSON body/,
  },
  {
    check: 7,
    what: 'a state that is not allowed',
    with: () => ({ body: { state: 'bogus', context: '' } }),
    status: 422,
    message: 'state must be one of pending, success, failure, error',
  },
  {
    check: 8,
    what: 'an unknown commit',
    with: () => ({ sha: 'e'.repeat(40) }),
    status: 404,
    message: 'commit not found',
  },
  {
    check: 9,
    what: 'an empty context',
    with: () => ({ body: { state: 'success', context: '' } }),
    status: 422,
    message: /^context /,
  },
]

/** In the order of the specification ("List the statuses of a commit"). */
const listBreaks: readonly Break[] = [
  { check: 1, what: 'a wrong token', with: () => wrong, status: 401, message: 'invalid or expired token' },
  {
    check: 1,
    what: 'a token without the scope repo',
    with: ({ scopeless }) => ({ authorization: `Bearer ${scopeless}` }),
    status: 403,
    message: 'the token lacks the scope repo',
  },
  {
    check: 2,
    what: 'a missing repository',
    with: () => ({ repository: 'alice/missing' }),
    status: 404,
    message: 'repository not found',
  },
  {
    check: 2,
    what: 'a private repository of others',
    with: ({ stranger }) => ({ authorization: `Bearer ${stranger}`, repository: 'alice/private' }),
    status: 404,
    message: 'repository not found',
  },
  {
    check: 2,
    what: 'a private repository, anonymously',
    with: () => ({ authorization: undefined, repository: 'alice/private' }),
    status: 401,
    message: 'authentication required',
  },
  { check: 3, what: 'a short sha', with: () => ({ sha: 'abcdef0' }), status: 422, message: sha },
  {
    check: 4,
    what: 'an unknown commit',
    with: () => ({ sha: 'e'.repeat(40) }),
    status: 404,
    message: 'commit not found',
  },
]

t.test('Checks of a report run in this order; the first failing check decides the response', async (t) => {
  const hosted = await hostCommit(t)
  const tokens = await otherTokens(hosted)
  const good = {
    authorization: `Bearer ${hosted.token}`,
    repository: hosted.repository,
    sha: hosted.sha,
    body: { state: 'success' },
  }
  for (const broken of reportBreaks) {
    const { authorization, repository, sha, body } = attempt(good, reportBreaks, broken, tokens)
    const path = `/api/v1/repos/${repository}/statuses/${sha}`
    const answer = await hosted.service.call('POST', path, {
      body,
      headers: authorization === undefined ? {} : { Authorization: authorization },
    })
    refused(t, answer, broken.status, broken.message, `check ${broken.check}: ${broken.what}, and all later ones`)
  }
  t.strictSame(await hosted.stored(), [], 'nothing was saved')
  t.equal(
    (
      await hosted.service.call('POST', hosted.reportPath, {
        body: good.body,
        headers: { Authorization: good.authorization },
      })
    ).status,
    201,
    'none of them broken',
  )
})

t.test('Checks of a list run in this order', async (t) => {
  const hosted = await hostCommit(t)
  const tokens = await otherTokens(hosted)
  const good = {
    authorization: `Bearer ${hosted.token}`,
    repository: hosted.repository,
    sha: hosted.sha,
    body: undefined,
  }
  for (const broken of listBreaks) {
    const { authorization, repository, sha } = attempt(good, listBreaks, broken, tokens)
    const path = `/api/v1/repos/${repository}/commits/${sha}/statuses`
    const answer = await hosted.service.call('GET', path, {
      headers: authorization === undefined ? {} : { Authorization: authorization },
    })
    refused(t, answer, broken.status, broken.message, `check ${broken.check}: ${broken.what}, and all later ones`)
  }
  t.equal((await hosted.list()).status, 200, 'none of them broken')
})

t.test('429 comes before every other check, for both operations', async (t) => {
  const { service, token } = await hostCommit(t, { settings: { authFailures: { limit: 1, windowSeconds: 60 } } })
  refused(t, await service.list('alice/hello', 'short', 'wrong'), 401, 'invalid or expired token')
  const scopeless = (await service.admin.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })).token
  for (const sent of ['wrong', scopeless, token]) {
    refused(
      t,
      await service.report('alice/missing', 'short', sent, 'no JSON'),
      429,
      'too many failed authentication attempts',
    )
    refused(t, await service.list('alice/missing', 'short', sent), 429, 'too many failed authentication attempts')
  }
})

t.test('The body is not read before the checks before it have passed', async (t) => {
  const hosted = await hostCommit(t)
  const tokens = await otherTokens(hosted)
  const good = {
    authorization: `Bearer ${hosted.token}`,
    repository: hosted.repository,
    sha: hosted.sha,
    body: undefined,
  }
  for (const broken of reportBreaks.filter(({ check }) => check <= 4)) {
    const { authorization, repository, sha } = { ...good, ...broken.with(tokens) }
    for (const framing of [{ 'Content-Length': '19' }, { 'Transfer-Encoding': 'chunked' }]) {
      const socket = await RawSocket.open(t, hosted.service.url)
      await socket.send(
        requestHead('POST', `/api/v1/repos/${repository}/statuses/${sha}`, {
          Authorization: authorization,
          ...framing,
        }),
      )
      refused(
        t,
        await socket.answer(),
        broken.status,
        broken.message,
        `${broken.what}: answered without a body, ${Object.keys(framing).join()}`,
      )
    }
  }
  const socket = await RawSocket.open(t, hosted.service.url)
  await socket.send(
    requestHead('POST', hosted.reportPath, { Authorization: good.authorization, 'Content-Length': '16385' }),
  )
  refused(
    t,
    await socket.answer(),
    413,
    'request body larger than 16384 bytes',
    'a body that is declared too large is not waited for',
  )
  t.strictSame(await hosted.stored(), [])
})

t.test('A body that arrives in pieces is waited for', async (t) => {
  const { service, token, reportPath } = await hostCommit(t)
  const socket = await RawSocket.open(t, service.url)
  await socket.send(requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Content-Length': '19' }))
  await service.call('GET', '/healthz')
  await socket.send('{"state":')
  await service.call('GET', '/healthz')
  await socket.send('"success"}')
  t.match(await socket.answer(), { status: 201, body: { state: 'success' } })
})

/** The good request with the given check broken, and every later one too. */
function attempt(good: Attempt, breaks: readonly Break[], broken: Break, tokens: Tokens): Attempt {
  const later = breaks.filter(({ check }) => check > broken.check).reverse()
  return [...later, broken].reduce((built, each) => ({ ...built, ...each.with(tokens) }), good)
}

async function otherTokens({ service, repository, token }: HostedCommit): Promise<Tokens> {
  await makeRepositoryWithCommit(service.repositories, 'alice/private')
  await service.admin.grantAccess(repository, 'reader', 'read')
  return {
    owner: token,
    stranger: await service.tokenOf('stranger'),
    reader: await service.tokenOf('reader'),
    scopeless: (await service.admin.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })).token,
  }
}
