// Secrets in the log: logs are copied, shipped and read by people who may not act as the users of the service. Past
// victims: soft-serve, GitHub and Twitter (plain passwords), Jenkins and Travis (tokens of agents), any access log with
// `?access_token=`. The log is taken at its most talkative level.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeToken } from '../../lib/auth/token.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { sendBytes, sendRaw } from '../fixtures/raw-http.js'
import { storeFiles } from '../fixtures/store-files.js'

/** Stands in everything that is nobody's business. */
const PRIVATE = 'Zanzibar'

t.test(
  'After right and wrong requests of every kind, no token, no Authorization value, no body and no query is in the ' +
    'log or the store',
  async (t) => {
    const hosted = await hostCommit(t, { settings: { authFailures: { limit: 60, windowSeconds: 600 } } })
    const { service, directory, token, reportPath, listPath } = hosted
    const expired = (
      await service.admin.createToken({
        user: 'alice',
        name: '',
        scopes: ['repo'],
        expiresAt: '2020-01-01T00:00:00.000Z',
      })
    ).token
    const revoked = await service.admin.createToken({ user: 'alice', name: '', scopes: ['repo'], expiresAt: null })
    await service.admin.revokeToken(revoked.id)
    const unscoped = (await service.admin.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })).token
    const right = [token, await service.tokenOf('bob'), unscoped]
    const wrong = [
      expired,
      revoked.token,
      makeToken('cst'),
      makeToken('other'),
      `${token}x`,
      token.slice(0, -1),
      token.toUpperCase(),
      `cst_${'0'.repeat(48)}`,
    ]

    const bodies = [
      { state: 'success', description: PRIVATE, target_url: `https://${PRIVATE}/` },
      { state: PRIVATE },
      { state: 'success', target_url: `javascript:${PRIVATE}` },
      { state: 'success', context: PRIVATE.repeat(100) },
      { state: 'success', description: 1, [PRIVATE]: PRIVATE },
      { state: 'success', description: PRIVATE.repeat(5000) },
      `{"state":"${PRIVATE}`,
      PRIVATE,
      Buffer.from(`{"state":"${PRIVATE}\xff"}`, 'latin1'),
    ]
    const answers: string[] = []
    const paths = [
      `${listPath}?token=${PRIVATE}#${PRIVATE}`,
      `/${PRIVATE.slice(0, 3)}?${PRIVATE}`,
      `/healthz?${PRIVATE}`,
      `${listPath}??${PRIVATE}?${PRIVATE}`,
    ]
    const headers = { Cookie: `session=${PRIVATE}`, 'X-Forwarded-For': PRIVATE }
    for (const body of bodies) {
      for (const sent of [undefined, ...right, ...wrong])
        answers.push(
          (await service.call('POST', `${reportPath}?access_token=${PRIVATE}`, { token: sent, headers, body })).text,
        )
    }
    for (const path of paths) {
      for (const sent of [undefined, ...right, ...wrong])
        answers.push((await service.call('GET', path, { token: sent, headers })).text)
    }
    for (const credential of [
      `Basic ${Buffer.from(`alice:${PRIVATE}`).toString('base64')}`,
      PRIVATE,
      `Bearer ${PRIVATE} ${token}`,
      `Digest username="${PRIVATE}"`,
    ]) {
      answers.push(
        (await sendRaw(service.url, [`GET ${listPath}?${PRIVATE} HTTP/1.1`, `Authorization: ${credential}`])).body,
      )
      answers.push(
        (
          await sendRaw(service.url, [
            `GET ${listPath} HTTP/1.1`,
            `Authorization: ${credential}`,
            `Authorization: Bearer ${token}`,
          ])
        ).body,
      )
    }
    answers.push(
      await sendBytes(service.url, `GET ${listPath}?${PRIVATE} HTTP/1.1\r\nAuthorization : Bearer ${token}\r\n\r\n`),
    )
    answers.push(await sendBytes(service.url, `${PRIVATE} ${token}\r\n\r\n`))
    answers.push(
      await sendBytes(
        service.url,
        `POST ${reportPath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: ` +
          `close\r\nTransfer-Encoding: chunked\r\n\r\n${PRIVATE}\r\n`,
      ),
    )

    // Faults are logged with their causes: they hold nothing of the request either.
    rmSync(join(directory, 'HEAD'))
    rmSync(join(directory, 'objects'), { recursive: true })
    writeFileSync(join(directory, 'objects'), '')
    answers.push((await service.call('GET', `${listPath.replace(hosted.sha, 'ab12'.repeat(10))}?${PRIVATE}`)).text)
    await service.close()

    const log = JSON.stringify(service.log)
    t.ok(service.log.length > 150, `${service.log.length} lines`)
    t.match(log, /failed authentication attempt.*request failed/, 'of everything that happened')
    const stored = storeFiles(service.store)
    t.ok(stored.includes(hosted.sha))
    for (const secret of [...right, ...wrong, revoked.token].map((text) => text.slice(4, 44))) {
      t.notOk(log.toLowerCase().includes(secret.toLowerCase()), 'no token in the log')
      t.notOk(stored.includes(secret), 'no token in the store')
      t.notOk(answers.join().includes(secret), 'no token in an answer')
    }
    for (const text of [
      PRIVATE,
      'alice:',
      Buffer.from(`alice:${PRIVATE}`).toString('base64').slice(0, 16),
      'Bearer ',
      'Basic ',
      'Digest ',
      'access_token',
      'session=',
      '?',
      'javascript:',
    ]) {
      t.notOk(log.includes(text), `nothing like ${text} in the log`)
    }
  },
)

t.test('A token that is made is in one place: the answer to whom it was made for', async (t) => {
  const { service } = await hostCommit(t)
  const { token, id } = await service.admin.createToken({
    user: 'bob',
    name: 'agent',
    scopes: ['repo'],
    expiresAt: null,
  })
  const listed = JSON.stringify(await service.admin.listTokens(null))
  t.match(listed, id)
  await t.rejects(service.admin.createToken({ user: PRIVATE, name: PRIVATE, scopes: [PRIVATE], expiresAt: PRIVATE }), {
    name: 'ArgumentError',
  })
  for (const text of [listed, JSON.stringify(service.log), storeFiles(service.store).toString('latin1')])
    t.notOk(text.includes(token.slice(4)))
  t.notMatch(listed, 'digest')
  t.notMatch(JSON.stringify(service.log), PRIVATE)
})
