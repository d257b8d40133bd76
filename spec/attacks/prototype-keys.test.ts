// Prototype pollution: members called `__proto__`, `constructor` or `toString` in a body, or such names of users,
// repositories and contexts, reach what every object inherits. Past victims: lodash, jQuery, Ajv, Kibana, Parse Server.
import t from 'tap'
import { parseFields, parseShape } from '../../lib/domain/report.js'
import { makeCommit, makeRepository } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'

/** What plain objects have without anybody having put it there. */
const INHERITED = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  'toJSON',
  'then',
  '__defineGetter__',
  '__lookupSetter__',
]

/** Everything that objects inherit, by name: pollution would add to it. */
const inherited = (): string =>
  [Object.prototype, Array.prototype, Function.prototype, String.prototype]
    .map((prototype) => Object.getOwnPropertyNames(prototype).join())
    .join('\n')

t.test('A state that only a prototype would have is no state', async (t) => {
  const hosted = await hostCommit(t)
  const before = inherited()
  const bodies = [
    '{"__proto__":{"state":"success"}}',
    '{"constructor":{"prototype":{"state":"success"}}}',
    '{"prototype":{"state":"success"}}',
    '{"__proto__":{"__proto__":{"state":"success"}},"context":"attack"}',
    '[{"state":"success"}]',
    '{"__proto__":[],"length":1,"0":{"state":"success"}}',
  ]
  for (const body of bodies) refused(t, await hosted.report(body), 400, /^invalid JSON body/, body)
  for (const state of INHERITED)
    refused(
      t,
      await hosted.report({ state }),
      422,
      'state must be one of pending, success, failure, error',
      `state ${state}`,
    )
  t.strictSame(await hosted.stored(), [], 'nothing was stored')
  t.equal(inherited(), before, 'nothing was added to what objects inherit')
})

t.test('Of a report that a host hands over, only its own members count', async (t) => {
  t.throws(() => parseShape(Object.create({ state: 'success' })), { code: 'invalid_body' })
  t.throws(() => parseShape(Object.create(null)), { code: 'invalid_body' })
  const report = parseFields(
    'success',
    parseShape({ __proto__: { context: 'attack', description: 1, target_url: 'javascript:attack' }, state: 'success' }),
  )
  t.strictSame(report, { state: 'success', context: 'default', description: null, target_url: null })
})

t.test(
  'Members called like what objects inherit are unknown members: they are ignored, and so is all that is in them',
  async (t) => {
    const hosted = await hostCommit(t)
    const before = inherited()
    const fields =
      '{"state":"failure","context":"attack","description":"attack","target_url":"javascript:attack",' +
      '"id":"attack","sha":"attack","created_at":"attack"}'
    for (const name of INHERITED) {
      const answer = await hosted.report(
        `{"state":"success","${name}":${fields},"\\u005f\\u005fproto\\u005f\\u005f":${fields}}`,
      )
      t.match(
        answer,
        {
          status: 201,
          body: { state: 'success', context: 'default', description: null, target_url: null, sha: hosted.sha },
        },
        name,
      )
      t.notMatch(answer.text, 'attack')
    }
    t.notMatch((await hosted.list()).text, 'attack')
    t.equal((await hosted.stored()).length, 1)
    t.equal(inherited(), before, 'nothing was added to what objects inherit')
  },
)

t.test('Contexts called like what objects inherit are contexts like any other', async (t) => {
  const hosted = await hostCommit(t)
  for (const context of INHERITED) {
    t.equal((await hosted.report({ state: 'pending', context })).status, 201)
    t.match(
      await hosted.report({ state: 'success', context, description: context }),
      { status: 201, body: { context, description: context } },
      context,
    )
  }
  const listed = await hosted.list()
  t.equal(listed.body['state'], 'success')
  const contexts = (await hosted.stored()).map(({ context }) => context)
  t.strictSame(contexts, INHERITED.toSorted(), 'each once, in the order of their bytes')
})

t.test('Users and repositories called like what objects inherit have the rights that they were given', async (t) => {
  const { service } = await hostCommit(t)
  for (const name of INHERITED) {
    const repository = `${name}/${name}`
    const sha = await makeCommit(await makeRepository(service.repositories, repository), name)
    t.equal((await service.list(repository, sha)).status, 401, `${repository} is private`)
    refused(
      t,
      await service.report(repository, sha, await service.tokenOf(`${name}1`), { state: 'success' }),
      404,
      'repository not found',
    )
    t.equal(
      (await service.report(repository, sha, await service.tokenOf(name), { state: 'success' })).status,
      201,
      'its owner may write',
    )
    refused(
      t,
      await service.report('alice/hello', sha, await service.tokenOf(name), { state: 'success' }),
      403,
      'write access to the repository is required',
      'and nowhere else',
    )
    refused(t, await service.list(`${name}/missing`, sha), 401, 'authentication required')
    refused(t, await service.call('GET', `/api/v1/${name}`), 404, 'not found')
    refused(t, await service.call('GET', `/${name}`), 404, 'not found')
  }
})

t.test('Headers and query members called like what objects inherit change nothing', async (t) => {
  const { service, listPath, reportPath } = await hostCommit(t)
  for (const name of INHERITED) {
    const answer = await service.call('GET', `${listPath}?${name}=x&${name}[state]=x&params[owner]=bob`, {
      headers: { [name]: 'x', 'X-Request-Id': name },
    })
    t.strictSame(
      [answer.status, answer.text, answer.headers.get('x-request-id')],
      [200, '{"state":null,"statuses":[]}\n', name],
    )
    refused(
      t,
      await service.call('POST', reportPath, { headers: { Authorization: name }, body: { state: 'success' } }),
      401,
      'invalid or expired token',
    )
  }
})
