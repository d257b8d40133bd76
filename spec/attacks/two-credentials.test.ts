// Two Authorization headers, or one that two programs read in different ways: what a proxy or an embedding host has
// checked is then not what the service acts on. Of more than one credential none is used, and it counts as a failure.
import t from 'tap'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { comparable, sendBytes, sendRaw } from '../fixtures/raw-http.js'

const BODY = '{"state":"success","context":"attack"}'

const WRONG = `cst_${'0'.repeat(48)}`

/** Header lines around a right token: more than one credential, or something that is none. */
const credentials = (right: string): readonly (readonly string[])[] => [
  [`Authorization: Bearer ${right}`, `Authorization: Bearer ${WRONG}`],
  [`Authorization: Bearer ${WRONG}`, `Authorization: Bearer ${right}`],
  [`Authorization: Bearer ${right}`, `Authorization: Bearer ${right}`],
  [`Authorization: Bearer ${right}`, `AUTHORIZATION: token ${right}`],
  [`Authorization: Bearer ${right}`, 'X-Between: yes', 'authorization:'],
  ['Authorization:', `Authorization: Bearer ${right}`],
  ['Authorization: Basic YWxpY2U6c2VjcmV0', `Authorization: Bearer ${right}`],
  [`Authorization: Bearer ${right}, Bearer ${right}`],
  [`Authorization: Bearer ${right}, Bearer ${WRONG}`],
  [`Authorization: Bearer ${right},`],
  [`Authorization: Bearer ${right} ${right}`],
  [`Authorization: Bearer Bearer ${right}`],
  [`Authorization: Bearer token ${right}`],
  [`Authorization: Bearer\t${right}`],
  [`Authorization: Bearer${right}`],
  [`Authorization: Bearer "${right}"`],
  [`Authorization: Bearer ${right}\xa0`],
  [`Authorization: BearerX ${right}`],
  [`Authorization: ${right}`],
  [`Authorization: Basic ${Buffer.from(`alice:${right}`).toString('base64')}`],
  [`Authorization: Bearer ${right.toUpperCase()}`],
  [`Authorization: Bearer ${right}${'0'.repeat(8000)}`],
]

t.test(
  'More than one credential, or a malformed one, gives 401 and counts as a failed attempt, the right token ' +
    'in it or not',
  async (t) => {
    const limit = credentials('').length
    const { service, sha, token, reportPath, listPath } = await hostCommit(t, {
      settings: { authFailures: { limit, windowSeconds: 600 } },
    })
    const wrong = comparable(
      await sendRaw(service.url, [`POST ${reportPath} HTTP/1.1`, `Authorization: Bearer ${WRONG}`], BODY),
    )
    for (const [index, headers] of credentials(token).entries()) {
      const method = index % 2 === 0 ? `POST ${reportPath}` : `GET ${listPath}`
      const answer = await sendRaw(service.url, [`${method} HTTP/1.1`, ...headers], index % 2 === 0 ? BODY : '')
      if (index < limit - 1)
        t.equal(comparable(answer), wrong, headers.join(' + ').slice(0, 120).replaceAll(token, 'RIGHT'))
      else t.equal(answer.status, 429, 'each of them was counted')
    }
    t.equal((await service.report('alice/hello', sha, token, { state: 'success' })).status, 429)
    t.strictSame((await service.list('alice/hello', sha)).body['statuses'], [], 'nothing was stored')
    t.notOk(JSON.stringify(service.log).includes(token.slice(4)), 'no token in the log')
  },
)

t.test('A credential where none belongs is not looked at: trailer, cookie, query, other headers', async (t) => {
  const hosted = await hostCommit(t)
  const { service, sha, token, reportPath } = hosted
  const anonymous = comparable(await sendRaw(service.url, [`POST ${reportPath} HTTP/1.1`], BODY))
  const places = [
    [`POST ${reportPath} HTTP/1.1`, `Cookie: Authorization=Bearer ${token}; token=${token}; session=${token}`],
    [`POST ${reportPath}?access_token=${token}&token=${token}&private_token=${token} HTTP/1.1`],
    [`POST ${reportPath} HTTP/1.1`, `Proxy-Authorization: Bearer ${token}`, `X-Authorization: Bearer ${token}`],
    [
      `POST ${reportPath} HTTP/1.1`,
      `Private-Token: ${token}`,
      `X-Access-Token: ${token}`,
      `X-Forwarded-Authorization: Bearer ${token}`,
      'X-Remote-User: alice',
    ],
  ]
  for (const head of places)
    t.equal(
      comparable(await sendRaw(service.url, head, BODY)),
      anonymous,
      head.at(-1)?.replaceAll(token, 'RIGHT') ?? '',
    )

  const trailer =
    `POST ${reportPath} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTrailer: ` +
    `Authorization\r\nTransfer-Encoding: chunked\r\n\r\n`
  const inTrailer = await sendBytes(
    service.url,
    `${trailer}${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  t.match(inTrailer, /^HTTP\/1\.1 401 /)

  t.strictSame(await hosted.stored(), [], 'nothing was stored')
  t.notOk(JSON.stringify(service.log).includes(token.slice(4)), 'no token in the log')
  t.equal(
    (await service.report('alice/hello', sha, token, { state: 'success' })).status,
    201,
    'none of it counted as a failure',
  )
})

t.test('A header that node:http cannot parse gives 400 and never reaches the service', async (t) => {
  const hosted = await hostCommit(t)
  const { service, sha, token, reportPath } = hosted
  const headers = [
    [`Authorization : Bearer ${token}`],
    [`Authorization: Bearer ${token}\0`],
    [`Authorization: Bearer\r\n\t${token}`],
    [` Authorization: Bearer ${token}`],
    [`Author\0ization: Bearer ${token}`],
    [`Authorization: Bearer ${token}`, 'Content-Length: 1', 'Content-Length: 2'],
    [`Authorization: Bearer ${token}`, 'Content-Length: 38', 'Transfer-Encoding: chunked'],
  ]
  for (const lines of headers) {
    const answer = await sendRaw(service.url, [`POST ${reportPath} HTTP/1.1`, ...lines], lines.length > 1 ? '' : BODY)
    t.match(
      answer,
      { status: 400, body: JSON.stringify({ error: 'malformed HTTP request' }) },
      JSON.stringify(lines.map((line) => line.replace(token, 'RIGHT'))),
    )
  }
  t.strictSame(await hosted.stored(), [], 'nothing was stored')
  t.notOk(JSON.stringify(service.log).includes(token.slice(4)), 'no token in the log')
  t.equal(
    (await service.report('alice/hello', sha, token, { state: 'success' })).status,
    201,
    'the service still answers',
  )
})
