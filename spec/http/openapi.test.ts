import { Validator } from '@seriousme/openapi-schema-validator'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import openapiTypescript, { astToString } from 'openapi-typescript'
import t from 'tap'
import { recordSchema, statusMembers } from '../../lib/contracts/records.js'
import { MAX_FAILED, MAX_STATES, STATES } from '../../lib/domain/commit-status.js'
import {
  CONTEXT_CHARACTERS,
  DEFAULT_CONTEXT,
  DESCRIPTION_CHARACTERS,
  reportSchema,
  TARGET_URL_BYTES,
} from '../../lib/domain/report.js'
import { PATTERN_CHARACTERS } from '../../lib/domain/verdict/pattern.js'
import { MAX_REQUIRED, MAX_USERS, MAX_WILDCARDS } from '../../lib/domain/verdict/rule.js'
import { catalogue, ERROR_CODES, ServiceError, type ErrorCode } from '../../lib/errors.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { checkAnswer, openApi, validatorOf } from '../fixtures/openapi-answers.js'

interface Schema {
  readonly minItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly items?: Schema
}

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly schema: Schema }[]
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly headers?: object; readonly content?: object }>
  >
}

const document = openApi as {
  readonly paths: Readonly<Record<string, { readonly get?: Described; readonly post?: Described }>>
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: object }>> }
}
const at = '/api/v1/repos/{owner}/{repo}'
const { schemas } = document.components
/** The schema of a parameter. */
const schemaOf = (path: string, name: string) =>
  document.paths[at + path]?.get?.parameters?.find((one) => one.name === name)?.schema ?? {}

const WITHOUT_NUL = '^[^\\x00]*$'

/** What no pattern says of an address. */
const BEYOND_THE_PATTERN =
  'taken as well with characters besides ASCII, but white space and control characters, ' +
  'and with an IPv6 address, a number or escapes for a host'

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
  const { service } = await hostCommit(t)
  t.strictSame((await service.call('GET', '/api/v1/openapi.json')).body, openApi)
})

t.test('Its schemas are those that check requests and what is stored', async (t) => {
  const { state, context, description, target_url } = reportSchema.properties
  t.match(schemas, {
    State: { type: 'string', enum: STATES },
    CombinedState: { enum: ['failure', 'pending', 'success', null] },
    Verdict: { properties: { verdict: { enum: ['failure', 'pending', 'success'] } } },
  })
  t.strictSame(schemas['Status'], recordSchema({ ...statusMembers, state: { $ref: '#/components/schemas/State' } }))
  // What the patterns allow is what is taken: openapi-requests.test.ts.
  const { pattern } = (schemas['Report']?.properties as { readonly target_url: Schema }).target_url
  t.strictSame(schemas['Report'], {
    ...reportSchema,
    properties: {
      state: { ...state, enum: STATES },
      // No `default`: generators of clients take it for a member that is always there, and demand it.
      context: {
        ...context,
        minLength: 1,
        maxLength: CONTEXT_CHARACTERS,
        pattern: WITHOUT_NUL,
        description: `what was checked; without it, ${DEFAULT_CONTEXT}`,
      },
      description: { ...description, maxLength: DESCRIPTION_CHARACTERS, pattern: WITHOUT_NUL },
      target_url: {
        ...target_url,
        maxLength: TARGET_URL_BYTES,
        pattern,
        description: `absolute http or https URL with a host, at most ${TARGET_URL_BYTES} bytes; ${BEYOND_THE_PATTERN}`,
      },
    },
  })
})

t.test('Its limits of parameters are those of the rules', async (t) => {
  const pattern = { type: 'string', minLength: 1, maxLength: PATTERN_CHARACTERS }
  const wildcards = `^[^*\\x00]*(?:\\*[^*\\x00]*){0,${MAX_WILDCARDS / MAX_REQUIRED}}$`
  t.strictSame(
    ['require', 'by', 'stale'].map((name) => schemaOf('/commits/{sha}/verdict', name)),
    [
      { type: 'array', items: { ...pattern, pattern: wildcards }, maxItems: MAX_REQUIRED },
      { type: 'array', items: { ...pattern, pattern: WITHOUT_NUL }, maxItems: MAX_USERS },
      { type: 'string', maxLength: 7, pattern: '^0*[1-9][0-9]*[smhdw]$' },
    ],
  )
  t.match(schemas['Verdict'], { properties: { required: { items: { properties: { require: pattern } } } } })
  t.match(schemaOf('/states', 'sha'), { minItems: 1, maxItems: MAX_STATES })
  t.strictSame(schemaOf('/states', 'failed'), { type: 'integer', minimum: 1, maximum: MAX_FAILED })
  t.match(schemas['States'], {
    properties: { states: { additionalProperties: { properties: { failed: { maxItems: MAX_FAILED } } } } },
  })
})

type Operation = 'report' | 'list' | 'verdict' | 'states' | 'events' | 'push' | 'openApi' | 'health'

const all: readonly Operation[] = ['report', 'list', 'verdict', 'states', 'events', 'push']
/** Those too that need no repository: what ends a request before anybody looks at what it asks for. */
const every: readonly Operation[] = [...all, 'openApi', 'health']
const ofOneCommit: readonly Operation[] = ['report', 'list', 'verdict']

/** Which operations an error may end; a new one has to be put somewhere. */
const ENDS: Readonly<Record<ErrorCode, readonly Operation[]>> = {
  malformed_path: all,
  malformed_request: every,
  invalid_body: ['report', 'push'],
  credentials_missing: all,
  credentials_wrong: all,
  scope_missing: all,
  sudo_denied: [],
  request_forged: [],
  user_invalid: [],
  write_denied: ['report', 'push'],
  context_denied: ['report', 'push'],
  repository_not_found: all,
  commit_not_found: ofOneCommit,
  path_unknown: [],
  method_not_allowed: [],
  request_timeout: every,
  body_too_large: ['report', 'push'],
  sha_invalid: [...ofOneCommit, 'states'],
  state_invalid: ['report'],
  field_invalid: ['report', 'push'],
  parameter_invalid: ['verdict', 'states'],
  shas_invalid: ['states'],
  too_many_contexts: ['report'],
  too_many_failures: all,
  headers_too_large: every,
  internal: all,
  transfer_coding_unknown: all,
  overloaded: every,
  repository_unreadable: all,
  rights_unavailable: all,
  part_unresponsive: all,
  store_unavailable: all,
  shutting_down: all,
}

t.test('Its refusals and failures of each operation are those of the catalogue, with their headers', async (t) => {
  const operations = {
    report: document.paths[`${at}/statuses/{sha}`]?.post,
    list: document.paths[`${at}/commits/{sha}/statuses`]?.get,
    verdict: document.paths[`${at}/commits/{sha}/verdict`]?.get,
    states: document.paths[`${at}/states`]?.get,
    events: document.paths[`${at}/events`]?.get,
    push: document.paths[`${at}/pushes`]?.post,
    openApi: document.paths['/api/v1/openapi.json']?.get,
    health: document.paths['/healthz']?.get,
  }
  for (const operation of every) {
    const errors = ERROR_CODES.filter((code) => ENDS[code].includes(operation)).map((code) => new ServiceError(code))
    const statuses = [...new Set(errors.map(({ status }) => String(status)))].sort()
    const described = Object.entries(operations[operation]?.responses ?? {}).filter(([status]) => status >= '400')
    t.strictSame(
      described.map(([status]) => status),
      statuses,
      operation,
    )
    for (const [status, { description, headers = {}, content }] of described) {
      const ending = errors.filter((error) => String(error.status) === status)
      const texts = ending.map(({ code }) => catalogue[code].text)
      const isHealth = operation === 'health' && status === '503'
      t.equal(description, [...(isHealth ? ['they are not, and why'] : []), ...texts].join('; '))
      t.strictSame(Object.keys(headers), [
        'X-Request-Id',
        ...(status === '401' ? ['WWW-Authenticate'] : []),
        ...(status === '429' || ending.some(({ retryAfter }) => retryAfter !== undefined) ? ['Retry-After'] : []),
      ])
      const error = { $ref: '#/components/schemas/Error' }
      const schema = isHealth ? { anyOf: [{ $ref: '#/components/schemas/Health' }, error] } : error
      t.strictSame(content, { 'application/json': { schema } })
    }
  }
})

t.test('An operation that needs no repository is refused as the document says, too', async (t) => {
  const { service } = await hostCommit(t)
  for (const path of ['/healthz', '/api/v1/openapi.json']) {
    // What the document does not have of an answer, the client of the tests throws.
    t.equal((await service.call('GET', path, { headers: { 'X-Long': 'x'.repeat(20_000) } })).status, 431)
    for (const described of Object.values(document.paths[path]?.get?.responses ?? {}))
      t.match(described, { headers: { 'X-Request-Id': {} } })
  }
})

t.test('The document tells of every error of the operations', async (t) => {
  const told = JSON.stringify(openApi)
  t.ok(ERROR_CODES.length > 20)
  for (const status of [400, 401, 403, 404, 408, 413, 422, 429, 431, 500, 501, 503]) t.match(told, `"${status}":`)
  const refusals = (path: string, status: number) =>
    document.paths[at + path]?.get?.responses[String(status)]?.description
  t.equal(
    refusals('/states', 422),
    [catalogue.sha_invalid, catalogue.shas_invalid, catalogue.parameter_invalid].map(({ text }) => text).join('; '),
  )
  t.equal(refusals('/states', 404), catalogue.repository_not_found.text)
  t.equal(refusals('/commits/{sha}/verdict', 422), `${catalogue.sha_invalid.text}; ${catalogue.parameter_invalid.text}`)
  t.equal(refusals('/commits/{sha}/statuses', 422), catalogue.sha_invalid.text)
})

t.test('What the document tells of parameters is what the service takes', async (t) => {
  const { service, sha, repository } = await hostCommit(t)
  const [owner, repo] = repository.split('/')
  const base = at.replace('{owner}', String(owner)).replace('{repo}', String(repo))
  const statusOf = async (path: string, name: string, values: readonly string[]) => {
    const query = values.map((value) => `${name}=${encodeURIComponent(value)}`).join('&')
    return (await service.call('GET', `${base}${path.replace('{sha}', sha)}?${query}`)).status
  }
  for (const [path, name, value] of [
    ['/commits/{sha}/verdict', 'require', 'x'],
    ['/commits/{sha}/verdict', 'by', 'x'],
    ['/states', 'sha', sha],
  ] as const) {
    const { minItems = 0, maxItems = 0, items = {} } = schemaOf(path, name)
    const times = async (count: number) => await statusOf(path, name, Array<string>(count).fill(value))
    t.ok(maxItems > 0)
    t.strictSame([await times(minItems), await times(maxItems), await times(maxItems + 1)], [200, 200, 422], name)
    if (minItems > 0) t.equal(await times(minItems - 1), 422)
    const { minLength = 0, maxLength = 0 } = items
    if (maxLength === 0) continue
    const long = async (length: number) => await statusOf(path, name, ['\u{1f600}'.repeat(length)])
    t.strictSame([await long(minLength - 1), await long(minLength)], [422, 200], name)
    t.strictSame([await long(maxLength), await long(maxLength + 1)], [200, 422], name)
  }
  const { minimum = 0, maximum = 0 } = schemaOf('/states', 'failed')
  const told = async (...values: string[]) =>
    (await service.call('GET', `${base}/states?sha=${sha}&failed=${values.join('&failed=')}`)).status
  for (const text of ['', '-1', '0', '1', '01', '1.5', '1e1', '+1', ' 1', '0x1', 'all', '20', '21', '99', '100', '999'])
    t.equal(
      await told(text),
      /^[1-9]\d*$/.test(text) && Number(text) >= minimum && Number(text) <= maximum ? 200 : 422,
      text,
    )
  t.equal(await told('1', '1'), 422)
  const isStale = validatorOf(schemaOf('/commits/{sha}/verdict', 'stale'))
  for (const text of ['6h', '30s', '999999w', '00m', '006m', '', 'h', '6', '6H', '-6h', '1.5h', '0000001s', '6h '])
    t.equal(await statusOf('/commits/{sha}/verdict', 'stale', [text]), isStale(text) ? 200 : 422, text)
})

t.test('An answer that the document does not tell of is found', async (t) => {
  const path = `/api/v1/repos/alice/hello/commits/${'a'.repeat(40)}/statuses`
  t.throws(() => checkAnswer('GET', path, { status: 418, body: {} }), { message: /418 is not in the OpenAPI document/ })
  t.throws(() => checkAnswer('GET', path, { status: 200, body: { state: 'x', statuses: [] } }), {
    message: /another form/,
  })
  t.throws(() => checkAnswer('GET', path, { status: 404, body: { error: 'x', stack: 'y' } }), {
    message: /another form/,
  })
  t.doesNotThrow(() => checkAnswer('GET', path, { status: 200, body: { state: null, statuses: [] } }))
  const headers = new Headers({ 'Retry-After': '1' })
  t.throws(() => checkAnswer('GET', path, { status: 404, body: { error: 'x' }, headers }), { message: /retry-after/ })
  const [verdict, states] = [`/api/v1/repos/alice/hello/commits/${'a'.repeat(40)}/verdict`, '/api/v1/repos/a/b/states']
  t.throws(() => checkAnswer('GET', verdict, { status: 200, body: { verdict: null, required: [] } }), {
    message: /another form/,
  })
  t.throws(
    () => checkAnswer('GET', states, { status: 200, body: { states: { main: { state: null, statuses: 0 } } } }),
    {
      message: /another form/,
    },
  )
})

t.test('A client that is generated from the document works, with its types', async (t) => {
  const { service, sha, token } = await hostCommit(t, { private: true })
  // Below the checkout, where its packages are found.
  const folder = mkdtempSync(join(root, '.tap/client-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const types = astToString(await openapiTypescript(JSON.stringify(openApi)))
  writeFileSync(join(folder, 'api.ts'), types)
  writeFileSync(join(folder, 'client.ts'), CLIENT)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node']
  await promisify(execFile)(process.execPath, [tsc, ...options, join(folder, 'client.ts')], { cwd: root })
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'client.js'), service.url, token, sha])
  t.strictSame(stdout.trimEnd().split('\n'), [
    '201 pending',
    '201 default',
    '200 pending 2',
    '200 pending build pending,test/* null',
    '200 pending 1',
    '422 invalid parameter',
    '422 state must be one of',
  ])
})

const CLIENT = `import createClient from 'openapi-fetch'
import type { paths } from './api.js'
const [, , baseUrl = '', token, sha = ''] = process.argv
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } })
const params = { path: { owner: 'alice', repo: 'hello', sha } }
const report = '/api/v1/repos/{owner}/{repo}/statuses/{sha}'
const saved = await client.POST(report, { params, body: { state: 'pending', context: 'build' } })
console.log(saved.response.status, saved.data?.state)
const short = await client.POST(report, { params, body: { state: 'success' } })
console.log(short.response.status, short.data?.context)
const list = await client.GET('/api/v1/repos/{owner}/{repo}/commits/{sha}/statuses', { params })
console.log(list.response.status, list.data?.state, list.data?.statuses.length)
const judging = '/api/v1/repos/{owner}/{repo}/commits/{sha}/verdict'
const query = { require: ['build', 'test/*'], stale: '6h' }
const judged = await client.GET(judging, { params: { ...params, query, header: { Prefer: 'wait=0' } } })
const required = judged.data?.required.map(({ require, state }) => \`\${require} \${state}\`).join()
console.log(judged.response.status, judged.data?.verdict, required)
const { owner, repo } = params.path
const many = await client.GET('/api/v1/repos/{owner}/{repo}/states', {
  params: { path: { owner, repo }, query: { sha: [sha, '0'.repeat(40)] } },
})
console.log(many.response.status, many.data?.states[sha]?.state, Object.keys(many.data?.states ?? {}).length)
const wrong = await client.GET(judging, { params: { ...params, query: { stale: 'soon' } } })
console.log(wrong.response.status, wrong.error?.error.replace(/^stale must.*/, 'invalid parameter'))
// @ts-expect-error -- the types know the states
const refused = await client.POST(report, { params, body: { state: 'bogus', context: 'build' } })
console.log(refused.response.status, refused.error?.error.slice(0, 20))
`
