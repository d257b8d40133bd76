import { Validator } from '@seriousme/openapi-schema-validator'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTypescript, { astToString } from 'openapi-typescript'
import t from 'tap'
import { ERROR_CODES } from '../../lib/errors.js'
import { openApi } from '../../lib/http/openapi.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { checkAnswer } from '../fixtures/openapi-answers.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('GET /api/v1/openapi.json is a valid OpenAPI 3.1 document, for everybody', async (t) => {
  const { service } = await hostCommit(t, { private: true })
  const { status, body, headers } = await service.call('GET', '/api/v1/openapi.json')
  t.equal(status, 200)
  t.strictSame(await new Validator().validate(body), { valid: true })
  t.equal(body['openapi'], '3.1.0')
  const conditional = { headers: { 'If-None-Match': headers.get('etag') ?? '' } }
  t.equal((await service.call('GET', '/api/v1/openapi.json', conditional)).status, 304)
  t.equal((await service.call('POST', '/api/v1/openapi.json')).status, 405)
})

t.test('The document in the package is the one that is served', async (t) => {
  const file: unknown = JSON.parse(readFileSync(join(root, 'lib/http/openapi.json'), 'utf8'))
  t.strictSame(file, JSON.parse(JSON.stringify(openApi())), 'npm run openapi writes it anew')
})

t.test('The document tells of every error of the operations', async (t) => {
  const told = JSON.stringify(openApi())
  t.ok(ERROR_CODES.length > 20)
  for (const status of [400, 401, 403, 404, 408, 413, 422, 429, 431, 500, 501, 503]) t.match(told, `"${status}":`)
})

t.test('An answer that the document does not tell of is found', async (t) => {
  const path = `/api/v1/repos/alice/hello/commits/${'a'.repeat(40)}/statuses`
  t.throws(() => checkAnswer('GET', path, 418, {}), { message: /418 is not in the OpenAPI document/ })
  t.throws(() => checkAnswer('GET', path, 200, { state: 'x', statuses: [] }), { message: /another form/ })
  t.throws(() => checkAnswer('GET', path, 404, { error: 'x', stack: 'y' }), { message: /another form/ })
  t.doesNotThrow(() => checkAnswer('GET', path, 200, { state: null, statuses: [] }))
})

t.test('A client that is generated from the document works, with its types', async (t) => {
  const { service, sha, token } = await hostCommit(t, { private: true })
  // Below the checkout, where its packages are found.
  const folder = mkdtempSync(join(root, '.tap/client-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const types = astToString(await openapiTypescript(JSON.stringify(openApi())))
  writeFileSync(join(folder, 'api.ts'), types)
  writeFileSync(join(folder, 'client.ts'), CLIENT)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node']
  await promisify(execFile)(process.execPath, [tsc, ...options, join(folder, 'client.ts')], { cwd: root })
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'client.js'), service.url, token, sha])
  t.strictSame(stdout.trimEnd().split('\n'), ['201 pending', '200 pending 1', '422 state must be one of'])
})

const CLIENT = `import createClient from 'openapi-fetch'
import type { paths } from './api.js'
const [, , baseUrl = '', token, sha = ''] = process.argv
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } })
const params = { path: { owner: 'alice', repo: 'hello', sha } }
const report = '/api/v1/repos/{owner}/{repo}/statuses/{sha}'
const saved = await client.POST(report, { params, body: { state: 'pending', context: 'build' } })
console.log(saved.response.status, saved.data?.state)
const list = await client.GET('/api/v1/repos/{owner}/{repo}/commits/{sha}/statuses', { params })
console.log(list.response.status, list.data?.state, list.data?.statuses.length)
// @ts-expect-error -- the types know the states
const refused = await client.POST(report, { params, body: { state: 'bogus', context: 'build' } })
console.log(refused.response.status, refused.error?.error.slice(0, 20))
`
