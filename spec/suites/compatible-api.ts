import type { Test } from 'tap'
import { ApiClient, type Dialect } from '../fixtures/api-client.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { hostCommit, type HostedCommit } from '../fixtures/hosted-commit.js'
import { comparable, sendRaw } from '../fixtures/raw-http.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import type { Answer } from '../fixtures/service.js'
import { until } from '../fixtures/within.js'

interface Scene extends HostedCommit {
  readonly api: ApiClient
}

/** What every compatible API promises: the rules of the strict one, whatever its words. */
export function compatibleApiSuite(t: Test, dialect: Dialect): void {
  const { name, context, state } = dialect
  const statusOf = (strict: number): number => dialect.statuses[strict] ?? strict

  const scene = async (t: Test, options?: Parameters<typeof hostCommit>[1]): Promise<Scene> => {
    const hosted = await hostCommit(t, options)
    return { ...hosted, api: new ApiClient(hosted.service, dialect) }
  }

  /** An error of this API: its own form, and nothing of ours. */
  const refused = (t: Test, answer: Answer, status: number, message: string): void => {
    t.equal(answer.status, status, message)
    t.type(answer.body['message'], 'string', message)
    t.notOk('error' in answer.body)
    t.notMatch(answer.text, /\.ts|\.js|node_modules|stack/)
  }

  t.test(`${name}: what is reported is in every later list, of this API and of ours`, async (t) => {
    const { api, report, list, repository, sha, token } = await scene(t)
    const sent = {
      state: 'pending',
      [context]: 'build',
      description: 'running',
      target_url: 'https://ci.example.com/1',
    }
    const answer = await api.report(repository, sha, token, { ...sent, created_at: '0001-01-01', avatar_url: 1 })
    t.match(answer, { status: 201, body: { [context]: 'build', [state]: 'pending', description: 'running' } })
    t.match((await list()).body, {
      state: 'pending',
      statuses: [{ context: 'build', description: 'running', target_url: 'https://ci.example.com/1' }],
    })
    await report({ state: 'failure', context: 'build' })
    t.match((await api.list(repository, sha, token)).body, [{ [context]: 'build', [state]: dialect.failure }])
    t.ok(Number.isSafeInteger(answer.body['id']))
  })

  t.test(`${name}: empty texts and null mean none, and the usual context`, async (t) => {
    const { api, stored, repository, sha, token } = await scene(t)
    for (const none of ['', null]) {
      const body = { state: 'success', [context]: none, description: none, target_url: none }
      t.equal((await api.report(repository, sha, token, body)).status, 201)
    }
    t.match(await stored(), [{ context: 'default', description: null, target_url: null }])
    t.equal((await stored()).length, 1)
  })

  t.test(`${name}: everybody has the rights that the strict API gives`, async (t) => {
    const settings = { authFailures: { limit: 1000, windowSeconds: 60 } }
    const { api, service, repository, sha, token, stored } = await scene(t, { settings })
    await makeRepositoryWithCommit(service.repositories, 'alice/private')
    for (const name of [repository, 'alice/private']) await service.admin.grantAccess(name, 'reader', 'read')
    await service.admin.grantAccess('alice', 'writer', 'write')
    const scopeless = await service.admin.createToken({ user: 'alice', name: '', scopes: [], expiresAt: null })
    const callers = [undefined, 'cst_wrong', scopeless.token, token]
    for (const user of ['stranger', 'reader', 'writer']) callers.push(await service.tokenOf(user))
    for (const caller of callers) {
      for (const where of [repository, 'alice/private', 'alice/missing', 'alice/.x', 'nobody/x']) {
        const [list, report] = [
          await service.list(where, sha, caller),
          await service.report(where, sha, caller, { state: 'success' }),
        ]
        const [listed, reported] = [
          await api.list(where, sha, caller),
          await api.report(where, sha, caller, { state: 'success' }),
        ]
        t.strictSame([listed.status, reported.status], [list.status, report.status], `${String(caller)} ${where}`)
        for (const answer of [listed, reported]) if (answer.status >= 400) refused(t, answer, answer.status, where)
      }
    }
    t.ok((await stored()).length > 0)
  })

  t.test(`${name}: the checks of a report run in the order of the strict API`, async (t) => {
    const { api, service, repository, sha, token, stored } = await scene(t)
    await service.admin.grantAccess(repository, 'reader', 'read')
    const reader = await service.tokenOf('reader')
    const tooLong = `{"state":1,"x":"${' '.repeat(16_400)}"}`
    const other = 'e'.repeat(40)
    const attempts: [string, number, string, string, string | undefined, unknown][] = [
      ['a wrong token', 401, 'alice/missing', 'short', 'cst_wrong', tooLong],
      ['a missing repository', 404, 'alice/missing', 'short', token, tooLong],
      ['a right to read', 403, repository, 'short', reader, tooLong],
      ['nobody', 401, repository, 'short', undefined, tooLong],
      ['a short id', statusOf(422), repository, 'short', token, tooLong],
      ['a branch', statusOf(422), repository, 'main', token, tooLong],
      ['a body of 16,385 bytes', 413, repository, other, token, `{"state":"x",${' '.repeat(16_371)}}`],
      ['no JSON', 400, repository, other, token, '{"state":"bogus"'],
      ['a state of the wrong type', statusOf(422), repository, other, token, { state: 7 }],
      ['a description of the wrong type', statusOf(422), repository, other, token, { state: 'x', description: {} }],
      ['an unknown state', statusOf(422), repository, other, token, { state: 'constructor', target_url: 'x' }],
      ['no state', statusOf(422), repository, other, token, { target_url: 'x' }],
      ['an unknown commit', dialect.missingCommit, repository, other, token, { state: 'success', target_url: 'x' }],
      ['no link', statusOf(422), repository, sha, token, { state: 'success', target_url: 'javascript:alert(1)' }],
      ['256 letters', statusOf(422), repository, sha, token, { state: 'success', [context]: 'x'.repeat(256) }],
      ['1,025', statusOf(422), repository, sha, token, { state: 'success', description: 'x'.repeat(1025) }],
    ]
    for (const [what, status, where, id, caller, body] of attempts)
      refused(t, await api.report(where, id, caller, body), status, what)
    t.strictSame(await stored(), [], 'nothing was saved')
    const most = {
      [context]: 'x'.repeat(255),
      description: 'y'.repeat(1024),
      target_url: `http://h/${'z'.repeat(2039)}`,
    }
    t.equal((await api.report(repository, sha.toUpperCase(), token, { state: 'success', ...most })).status, 201)
  })

  t.test(`${name}: wrong log-ins count in the one budget; more contexts than may be are refused`, async (t) => {
    const settings = {
      authFailures: { limit: 2, windowSeconds: 60 },
      limits: { ...(await import('../../lib/stand-alone/settings.js')).readSettings(noSettings).limits, contexts: 1 },
    }
    const { api, service, repository, sha, token } = await scene(t, { settings })
    t.equal((await api.report(repository, sha, token, { state: 'success', [context]: 'one' })).status, 201)
    refused(t, await api.report(repository, sha, token, { state: 'success', [context]: 'two' }), statusOf(422), 'two')
    refused(t, await api.list(repository, sha, 'cst_wrong'), 401, 'the first')
    t.equal((await service.list(repository, sha, 'cst_wrong')).status, 401)
    const late = await api.list(repository, sha, token)
    refused(t, late, 429, 'the third')
    t.match(late.headers.get('retry-after'), /^\d+$/)
    t.equal((await api.list(repository, sha)).status, 200, 'without credentials one goes on')
    t.equal(late.headers.get('x-ratelimit-remaining'), null)
  })

  t.test(`${name}: private and missing repositories answer alike to the byte`, async (t) => {
    const { service, sha } = await scene(t)
    await makeRepositoryWithCommit(service.repositories, 'alice/private')
    const mallory = await service.tokenOf('mallory')
    for (const token of [[], [`Authorization: Bearer ${mallory}`]]) {
      const ask = async (where: string): Promise<string[]> => {
        const { mount } = dialect
        const heads = [
          ...[sha, 'main', '0'.repeat(40)].flatMap((ref) => [
            `GET ${mount}${dialect.listPath(where, ref)} HTTP/1.1`,
            `HEAD ${mount}${dialect.listPath(where, ref)} HTTP/1.1`,
          ]),
          `POST ${mount}${dialect.reportPath(where, sha)} HTTP/1.1`,
        ]
        const answers: string[] = []
        for (const head of heads) answers.push(comparable(await sendRaw(service.url, [head, ...token])))
        return answers
      }
      t.strictSame(await ask('alice/private'), await ask('alice/missing'))
    }
  })

  t.test(`${name}: credentials in every form that clients use, and no two that differ`, async (t) => {
    const { api, service, repository, sha, token, stored } = await scene(t, { private: true })
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
    const path = dialect.listPath(repository, sha)
    const good = [`Bearer ${token}`, `token ${token}`, `bearer ${token}`]
    good.push(
      ...['x-oauth-basic:T', 'oauth2:T', 'alice:T', 'T:x-oauth-basic', 'T:'].map((t) => basic(t.replace('T', token))),
    )
    for (const Authorization of good)
      t.equal((await api.call('GET', path, { headers: { Authorization } })).status, 200, Authorization.slice(0, 20))
    const bad = ['', 'Basic', 'Basic !', basic(':'), basic(token), basic(`${token}:x`), `Digest ${token}`, token]
    for (const Authorization of bad)
      t.equal((await api.call('GET', path, { headers: { Authorization } })).status, 401, Authorization.slice(0, 20))
    for (const parameter of ['access_token', 'token', 'private_token'])
      t.equal((await api.call('GET', `${path}?${parameter}=${token}`)).status, 401, parameter)
    const twice = [`Authorization: Bearer ${token}`, `Authorization: token ${token}`]
    t.equal((await sendRaw(service.url, [`GET ${dialect.mount}${path} HTTP/1.1`, ...twice])).status, 401)
    const sudo = { token, headers: { Sudo: 'bob' }, body: { state: 'success' } }
    refused(t, await api.call('POST', dialect.reportPath(repository, sha), sudo), 403, 'for another')
    t.equal((await api.call('GET', `${path}?sudo=bob`, { token })).status, 403)
    t.equal((await api.call('POST', `${dialect.reportPath(repository, sha)}?sudo=bob`, sudo)).status, 403)
    t.strictSame(await stored(), [])
  })

  t.test(`${name}: a right that goes while the body is on its way saves nothing`, async (t) => {
    const { service, repository, sha, stored } = await scene(t)
    await service.admin.grantAccess(repository, 'bob', 'write')
    const socket = await RawSocket.open(t, service.url)
    const head = {
      Authorization: `Bearer ${await service.tokenOf('bob')}`,
      'Content-Length': '19',
      Expect: '100-continue',
    }
    await socket.send(requestHead('POST', dialect.mount + dialect.reportPath(repository, sha), head))
    t.equal((await socket.answer()).status, 100)
    await service.admin.revokeAccess(repository, 'bob')
    const since = performance.now()
    await until(() => performance.now() - since > 50)
    await socket.send('{"state":"success"}')
    refused(t, await socket.answer(), 403, 'only to read')
    t.strictSame(await stored(), [])
  })

  t.test(`${name}: of reports at the same time one whole one wins, and each is counted`, async (t) => {
    const { api, repository, sha, token, stored } = await scene(t)
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const body = { state: 'success', [context]: `check-${index % 4}`, description: `report ${index}` }
        return await api.report(repository, sha, token, body)
      }),
    )
    t.ok(answers.every(({ status }) => status === 201))
    const statuses = await stored()
    t.equal(statuses.length, 4)
    for (const { context, description } of statuses)
      t.equal(Number(/\d+/.exec(String(description))?.[0]) % 4, Number(context.slice(-1)))
  })

  t.test(`${name}: unknown addresses, other methods and malformed escapes`, async (t) => {
    const { api, service, repository, sha, token } = await scene(t)
    refused(t, await api.call('GET', '/nothing', { token }), 404, 'unknown')
    const other = await api.call('DELETE', dialect.reportPath(repository, sha), { token })
    refused(t, other, 405, 'another method')
    t.match(other.headers.get('allow'), /POST/)
    t.equal((await service.call('GET', `${dialect.mount}x`)).status, 404)
    refused(t, await api.list(repository, '%zz', token), 400, 'malformed')
    t.equal((await api.call('HEAD', dialect.listPath(repository, sha))).status, 200)
    const coding = [
      `POST ${dialect.mount}${dialect.reportPath(repository, sha)} HTTP/1.1`,
      'Transfer-Encoding: gzip, chunked',
    ]
    t.equal((await sendRaw(service.url, coding)).status, 501)
  })
}

const noSettings = { environment: {}, home: '/', directory: '/' }
