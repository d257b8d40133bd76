import fc from 'fast-check'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parseObjectId } from '../../lib/domain/object-id.js'
import { parseFields, parseShape, parseState } from '../../lib/domain/report.js'
import { HOST_USER, isUserName } from '../../lib/domain/repository-name.js'
import { DURATION } from '../../lib/domain/verdict/duration.js'
import { MAX_REQUIRED, verdictRule, type VerdictQuery } from '../../lib/domain/verdict/rule.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { validatorOf } from '../fixtures/openapi-answers.js'
import {
  addressOf,
  headersOf,
  operations,
  requestsTo,
  resolved,
  valuesOf,
  type MadeRequest,
  type Operation,
  type Schema,
} from '../fixtures/openapi-requests.js'
import { chapter, codeBlocks } from '../fixtures/page.js'
import { bodies, texts } from '../fixtures/report-model.js'
import { startService } from '../fixtures/service.js'

const operation = (id: string) => {
  const found = operations.find(({ operationId }) => operationId === id)
  if (!found) throw new Error(`the document has no operation ${id}`)
  return found
}

/** The schema of a parameter, of its items where it is a list. */
function schemaOf(id: string, name: string): Schema {
  const { schema } = operation(id).parameters.find((one) => one.name === name) ?? {}
  return schema?.items ?? schema ?? {}
}

const report = resolved<Schema>({ $ref: '#/components/schemas/Report' })

function accepts(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}

function isReport(body: unknown): boolean {
  return accepts(() => {
    const shape = parseShape(body)
    return parseFields(parseState(shape.state), shape)
  })
}

const isRule = (query: VerdictQuery) => accepts(() => verdictRule(query))

/** Half of a pair of surrogates is no text, and a label that says it is punycode may be none: no pattern says so. */
const isExpressible = (value: unknown) => !/\\ud[89a-f]|xn--/i.test(JSON.stringify(value))

t.test('A body that the document allows is a report, and a report is one that it allows', (t) => {
  const isAllowed = validatorOf(report)
  const counts = { allowed: 0, refused: 0 }
  const alike = fc.property(fc.oneof(bodies, valuesOf(report)), (body) => {
    fc.pre(isExpressible(body))
    const allowed = isAllowed(body)
    counts[allowed ? 'allowed' : 'refused']++
    const { target_url } = Object(body) as { target_url?: unknown }
    return isReport(body) === allowed || (!allowed && /[^\0-\x7f]/.test(String(target_url)))
  })
  fc.assert(alike, { numRuns: 5000 })
  t.ok(counts.allowed > 500 && counts.refused > 500, 'of both')
  t.end()
})

t.test('An address that the document allows is one, and usual ones are allowed', (t) => {
  const { target_url = {} } = report.properties ?? {}
  const isAllowed = validatorOf(target_url)
  const isAddress = (text: string | null) => isReport({ state: 'success', target_url: text })
  const addresses = fc.webUrl({
    validSchemes: ['http', 'https'],
    authoritySettings: { withUserInfo: true, withPort: true, withIPv4: true },
    withQueryParameters: true,
    withFragments: true,
  })
  const cut = fc.tuple(addresses, fc.nat(), fc.string({ maxLength: 1 })).map(([address, at, instead]) => {
    const place = at % address.length
    return address.slice(0, place) + instead + address.slice(place + 1)
  })
  const onlyAddresses = fc.property(fc.oneof(cut, valuesOf(target_url).map(String)), (text) => {
    fc.pre(isExpressible(text))
    return isAddress(text) || !isAllowed(text)
  })
  fc.assert(onlyAddresses, { numRuns: 5000 })
  fc.assert(
    fc.property(addresses, (text) => !isExpressible(text) || isAllowed(text) === isAddress(text)),
    { numRuns: 2000 },
  )
  const hosts = fc.stringMatching(/^[019afxXz.*!_~{@:%[-]{1,8}$/)
  const named = fc.property(hosts, (text) => {
    const address = `http://${text}`
    fc.pre(isExpressible(address))
    // A host of numbers has forms that no pattern names, and an escape may stand for anything.
    const isBeyond = /%|(?:^|[.@])(?:\d+|0x[0-9a-f]*)?\.*(?::\d*)?$/i.test(text)
    return isAllowed(address) === isAddress(address) || (isAddress(address) && isBeyond)
  })
  fc.assert(named, { numRuns: 5000 })
  for (const text of ['https://ci.example/1', 'HTTP://a', 'http://a.example:65535?x', 'https://pr-1--site.example/#x'])
    t.ok(isAllowed(text) && isAddress(text), text)
  for (const text of ['', 'a', '//a/', 'ftp://a/', 'http://', 'http://a:65536/', 'http://1.2.3.256/', 'http://a/ '])
    t.notOk(isAllowed(text) || isAddress(text), text)
  t.ok(isAllowed(null) && isAddress(null))
  for (const text of ['https://bücher.example/語', 'http://[::1]/', 'http://127.1/'])
    t.ok(!isAllowed(text) && isAddress(text), `${text} is taken as well`)
  t.end()
})

const isName = (text: string): boolean => text === HOST_USER || isUserName(text)

t.test('A parameter that the document allows keeps the rule, and breaks it where the document does not', (t) => {
  const many = fc.array(fc.constantFrom('*', 'a', ' '), { maxLength: 260 }).map((parts) => parts.join(''))
  const length = fc.oneof(fc.stringMatching(DURATION), fc.stringMatching(/^0*\d{0,7}[smhdw]?$/), fc.string())
  const name = fc.oneof(
    fc.stringMatching(/^[\w.+@~,=-]{0,102}$/),
    fc.stringMatching(/^\w{1,3}\.(?:git|lock|x)$/),
    fc.string(),
  )
  const repository = fc
    .array(fc.oneof(name, fc.constantFrom('a', 'sub', '')), { maxLength: 9 })
    .map((parts) => parts.join('/'))
  const hex = fc.stringMatching(/^[0-9a-fA-F]*$/)
  const id = fc
    .tuple(hex, fc.constantFrom(39, 40, 41, 63, 64, 65))
    .map(([text, at]) => text.padEnd(at, 'A').slice(0, at))
  const rules: readonly [string, string, fc.Arbitrary<string>, (text: string) => boolean][] = [
    ['getVerdict', 'stale', length, (stale) => isRule({ stale })],
    // Given as often as it may be: the wildcards of all are counted together.
    [
      'getVerdict',
      'require',
      fc.oneof(texts(255), many),
      (text) => isRule({ require: Array<string>(MAX_REQUIRED).fill(text) }),
    ],
    ['getVerdict', 'by', texts(255), (text) => isRule({ by: [text] })],
    // What ends in `.git` or `.lock` is allowed, and owns nothing.
    ['listStatuses', 'owner', name, isName],
    ['listStatuses', 'repo', repository, (text) => text.split('/').length <= 7 && text.split('/').every(isName)],
    ['listStatuses', 'sha', fc.oneof(id, hex), (text) => parseObjectId(text) !== undefined],
    ['listStates', 'sha', fc.oneof(id, hex), (text) => parseObjectId(text) !== undefined],
  ]
  for (const [id, parameter, random, keeps] of rules) {
    const schema = schemaOf(id, parameter)
    const isAllowed = validatorOf(schema)
    const alike = fc.property(fc.oneof(random, valuesOf(schema).map(String)), (text) => {
      fc.pre(text.isWellFormed())
      return isAllowed(text) === keeps(text)
    })
    t.doesNotThrow(() => fc.assert(alike, { numRuns: 1000 }), `${id} ${parameter}`)
  }
  t.end()
})

t.test('The service takes each request that is made from the document', async (t) => {
  const { service, sha, token } = await hostCommit(t)
  for (const one of operations) {
    const taken = fc.asyncProperty(requestsTo(one, { owner: 'alice', repo: 'hello', sha }), async (request) => {
      // An address that is longer than a request may be is 431.
      fc.pre(isExpressible(request) && addressOf(one, request).length < 10_000)
      const { body } = request
      const answer = await service.call(one.method, addressOf(one, request), {
        ...{ token, headers: headersOf(one, request) },
        ...(body !== undefined && { body }),
      })
      return answer.status < 400
    })
    await t.resolves(fc.assert(taken, { numRuns: 100 }), one.operationId)
  }
})

/** The README's repository, made by what it says there. */
async function makeReadmeRepository(t: Test, repositories: string): Promise<void> {
  const [blocks = ''] = codeBlocks(chapter('README.md', '## Try it'), 'sh')
  const folder = mkdtempSync(join(tmpdir(), 'hello-'))
  t.teardown(() => {
    rmSync(folder, { recursive: true })
  })
  const pasted = blocks
    .replaceAll('$PWD/data/repositories', repositories)
    .replaceAll('data/repositories', repositories)
    .replaceAll('/tmp/hello', join(folder, 'hello'))
  const variables = [`PATH=${process.env['PATH'] ?? ''}`, 'HOME=/nonexistent']
  await promisify(execFile)('env', ['-i', ...variables, 'bash', '-euc', pasted])
}

t.test("Its examples work on a service with the README's repository, and are those of the README", async (t) => {
  const service = await startService(t)
  await makeReadmeRepository(t, service.repositories)
  const token = await service.tokenOf('alice')
  const bodiesOf = ({ requestBody }: Operation) =>
    Object.values(requestBody?.content['application/json'].examples ?? {}).map(({ value }) => value)
  for (const one of operations) {
    const shown = one.parameters.filter(({ example }) => example !== undefined)
    const required = one.parameters.filter((parameter) => parameter.required)
    t.strictSame(
      required.filter((parameter) => !shown.includes(parameter)),
      [],
      `${one.operationId}: what is required has an example`,
    )
    const optional = shown.filter((parameter) => !parameter.required)
    for (const chosen of [[], optional, ...optional.map((parameter) => [parameter])])
      for (const body of one.requestBody ? bodiesOf(one) : [undefined]) {
        const request = {
          parameters: Object.fromEntries([...required, ...chosen].map(({ name, example }) => [name, example])),
        }
        for (const { name, example, schema } of chosen) t.ok(validatorOf(schema)(example), name)
        const options = { token, headers: headersOf(one, request), ...(body !== undefined && { body }) }
        const answer = await service.call(one.method, addressOf(one, request), options)
        t.ok(answer.status < 300, `${one.method} ${addressOf(one, request)} ${JSON.stringify(body)}`)
      }
  }
  const told = [...chapter('README.md', '## Try it').matchAll(/ -d '(.*?)'/g)].map(([, body = '']): unknown =>
    JSON.parse(body),
  )
  t.strictSame(bodiesOf(operation('reportStatus')), told)
})

/** What a runtime expression of a link stands for. */
function valueIn(expression: string, { parameters }: MadeRequest, answer: unknown): unknown {
  const [, name] = /^\$request\.(?:path|query)\.(\w+)$/.exec(expression) ?? []
  if (name !== undefined) return parameters[name]
  const [, member = ''] = /^\$response\.body#\/(\w+)$/.exec(expression) ?? []
  return (answer as Readonly<Record<string, unknown>>)[member]
}

t.test('Each answer about a commit leads to the other operations, by links that can be followed', async (t) => {
  const { service, sha, token } = await hostCommit(t)
  const call = async (one: Operation, request: MadeRequest) => {
    const body = one.requestBody && { state: 'success', context: 'build' }
    return await service.call(one.method, addressOf(one, request), { token, ...(body && { body }) })
  }
  const led: string[] = []
  for (const source of operations)
    for (const [status, { links = {} }] of Object.entries(source.responses))
      for (const [name, link] of Object.entries(links)) {
        const { operationId, parameters } = resolved(link)
        const target = operation(operationId)
        const given = Object.keys(parameters)
        t.strictSame(
          target.parameters.filter((one) => one.required).map((one) => one.name),
          given,
          `${source.operationId} ${name}: what is required, and nothing else`,
        )
        const request = { parameters: { owner: 'alice', repo: 'hello', sha: sha.toUpperCase() } }
        const answer = await call(source, request)
        t.equal(String(answer.status), status)
        const values = Object.entries(parameters).map(([key, text]) => [key, valueIn(text, request, answer.body)])
        const following = { parameters: Object.fromEntries(values) as Record<string, unknown> }
        t.notOk(Object.values(following.parameters).includes(undefined), 'each stands for something')
        const followed = await call(target, following)
        t.ok(followed.status < 300, `${source.operationId} leads to ${operationId}`)
        led.push(`${source.operationId} ${operationId}`)
      }
  t.strictSame(led, [
    'reportStatus listStatuses',
    'reportStatus getVerdict',
    'reportStatus listStates',
    'listStatuses reportStatus',
    'listStatuses getVerdict',
    'getVerdict reportStatus',
    'getVerdict listStatuses',
  ])
})
