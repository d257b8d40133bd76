import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { STATES } from '../../lib/domain/commit-status.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { refused } from '../fixtures/refusal.js'
import { bodies, modelOf } from '../fixtures/report-model.js'

const ASTRAL = '\u{1f600}'

t.test('state is one of pending, success, failure, error', async (t) => {
  const { report } = await hostCommit(t)
  for (const state of STATES) t.match(await report({ state }), { status: 201, body: { state } })
})

t.test('Any other state gives 422', async (t) => {
  const { report, stored } = await hostCommit(t)
  for (const state of [
    'Success',
    'SUCCESS',
    '',
    ' success',
    'success ',
    'success\n',
    'succes',
    'cancelled',
    'null',
    'constructor',
    '__proto__',
    '\ud800',
    '\0',
  ]) {
    refused(
      t,
      await report({ state }),
      422,
      'state must be one of pending, success, failure, error',
      JSON.stringify(state),
    )
  }
  t.strictSame(await stored(), [])
})

t.test(
  'Not valid JSON, not an object, without state, or a member of the wrong type: 400, and the message begins ' +
    'invalid JSON body',
  async (t) => {
    const { report, stored } = await hostCommit(t)
    const texts = [
      '',
      ' ',
      '{',
      '{"state":"success"',
      '{"state":"success"}}',
      '{"state":"success",}',
      "{'state':'success'}",
      '{state:"success"}',
      'state=success',
      '{"state":"suc\ncess"}',
      '{"state":"\\x"}',
      '['.repeat(16_384),
      'NaN',
    ]
    const values = [null, true, 1, 'success', [], [{ state: 'success' }], {}, { State: 'success' }, { context: 'ci' }]
    const wrongTypes = [
      ...[null, 1, true, [], ['success'], {}].map((state) => ({ state })),
      ...[null, 1, false, [], ['ci'], {}].map((context) => ({ state: 'success', context })),
      ...[1, false, [], {}].flatMap((value) => [
        { state: 'success', description: value },
        { state: 'success', target_url: value },
      ]),
    ]
    for (const body of [...texts, ...[...values, ...wrongTypes].map((value) => JSON.stringify(value))]) {
      refused(t, await report(body), 400, /^invalid JSON body/, body.slice(0, 60))
    }
    t.strictSame(await stored(), [])
  },
)

t.test('The body is UTF-8: a byte order mark or bad UTF-8 gives 400', async (t) => {
  const { report, stored } = await hostCommit(t)
  const within = (...bytes: number[]) =>
    Buffer.concat([Buffer.from('{"state":"success","context":"'), Buffer.from(bytes), Buffer.from('"}')])
  const good = JSON.stringify({ state: 'success' })
  const bad = {
    'a UTF-8 byte order mark': Buffer.from(`\ufeff${good}`),
    'UTF-16': Buffer.from(good, 'utf16le'),
    'UTF-16 with a byte order mark': Buffer.from(`\ufeff${good}`, 'utf16le'),
    'Latin-1': within(0xe9),
    'a lone continuation byte': within(0x80),
    'a cut sequence': within(0xe2, 0x82),
    'an overlong slash': within(0xc0, 0xaf),
    'a surrogate in UTF-8': within(0xed, 0xa0, 0x80),
    'beyond U+10FFFF': within(0xf4, 0x90, 0x80, 0x80),
    'bad bytes after the object': Buffer.concat([Buffer.from(good), Buffer.from([0xff])]),
  }
  for (const [what, body] of Object.entries(bad)) refused(t, await report(body), 400, /^invalid JSON body/, what)
  t.strictSame(await stored(), [])
  t.match(await report(within(0xf0, 0x9f, 0x98, 0x80)), { status: 201, body: { context: ASTRAL } })
})

t.test('Lengths are counted in Unicode code points for context and description, in bytes for target_url', async (t) => {
  const { report, list, stored } = await hostCommit(t)
  const fits = [
    { context: 'x' },
    { context: ASTRAL },
    { context: 'x'.repeat(255) },
    { context: 'é'.repeat(255) },
    { context: ASTRAL.repeat(255) },
    { context: 'e\u0301'.repeat(127) },
    { description: '' },
    { description: 'x'.repeat(1024) },
    { description: ASTRAL.repeat(1024) },
    { target_url: `https://a/${'x'.repeat(2038)}` },
    { target_url: `https://a/${'é'.repeat(1019)}` },
    { target_url: `https://a/${ASTRAL.repeat(509)}xx` },
  ]
  for (const fields of fits)
    t.match(await report({ state: 'success', ...fields }), { status: 201, body: fields }, 'returned as sent')
  const kept = await stored()
  t.strictSame(
    new Set(((await list()).body['statuses'] as { context: string }[]).map(({ context }) => context)),
    new Set(['default', ...fits.flatMap(({ context }) => context ?? [])]),
  )
  const over = [
    { context: '' },
    { context: 'x'.repeat(256) },
    { context: 'é'.repeat(256) },
    { context: ASTRAL.repeat(256) },
    { context: 'e\u0301'.repeat(128) },
    { description: 'x'.repeat(1025) },
    { description: ASTRAL.repeat(1025) },
    { target_url: `https://a/${'x'.repeat(2039)}` },
    { target_url: `https://a/x${'é'.repeat(1019)}` },
    { target_url: `https://a/${ASTRAL.repeat(510)}` },
  ]
  for (const fields of over)
    refused(
      t,
      await report({ state: 'failure', ...fields }),
      422,
      new RegExp(`^${Object.keys(fields).join()} must have `),
      JSON.stringify(fields).slice(0, 40),
    )
  t.strictSame(await stored(), kept, 'nothing was saved')
})

t.test('Text that is not well-formed Unicode breaks its field rule, U+0000 likewise: 422', async (t) => {
  const { report, stored } = await hostCommit(t)
  for (const field of ['context', 'description', 'target_url']) {
    for (const bad of ['\\ud800', '\\udc00', '\\ud800x', '\\udc00\\ud800', '\\u0000', 'a\\u0000b']) {
      refused(
        t,
        await report(`{"state":"success","${field}":"https://a/${bad}"}`),
        422,
        new RegExp(`^${field} must `),
        `${field} ${bad}`,
      )
    }
  }
  t.strictSame(await stored(), [])
  const pair = await report(
    '{"state":"success","context":"\\ud83d\\ude00 \\u0001 \\uffff","description":"\\ud83d\\ude00"}',
  )
  t.match(pair, { status: 201, body: { context: `${ASTRAL} \u0001 \uffff`, description: ASTRAL } })
})

t.test('target_url is an absolute http or https URL with a host; it is stored and returned as sent', async (t) => {
  const { report, list } = await hostCommit(t)
  const good = [
    'http://a',
    'https://ci.example/build/42?x=1&y=%20#top',
    'HTTP://CI.Example/',
    'hTTps://a/',
    'http://127.0.0.1:8080/',
    'https://[::1]/',
    'https://bücher.example/語',
    'https://user@a/',
    'http://a?x',
    'http://a/../b/./c',
    'http://a/<script>"\'',
    'http://a/%00',
    'http://a:65535/',
  ]
  for (const target_url of good) {
    const answer = await report({ state: 'success', target_url })
    t.match(answer, { status: 201, body: { target_url } })
    t.strictSame((await list()).body['statuses'], [answer.body])
  }
})

t.test('Any other target_url gives 422', async (t) => {
  const { report, stored } = await hostCommit(t)
  const schemes = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'ftp://a/',
    'file:///etc/passwd',
    'ws://a/',
    'mailto:a@b',
    'view-source:http://a/',
    'httpx://a/',
    'http+unix://a/',
    'blob:http://a/x',
  ]
  const relative = [
    '',
    'a',
    '/a',
    '//a/b',
    '?x',
    '#x',
    'a.example/b',
    'http',
    'http:',
    'http:/',
    'http://',
    'http:a',
    'http:/a',
    'http:///a',
    'https:\\\\a',
    'http:\\a',
    'http://?x',
    'http://#x',
    'http://:80/',
    'http://@/',
    'http://a:99999/',
    'http://[::1/',
    'http://a\\b',
  ]
  const spaces = [
    ' http://a/',
    'http://a/ ',
    'http://a/b c',
    'http://a/\t',
    'http://a/\n',
    'http://a/\r\nX: y',
    '\u0001http://a/',
    'http://a/\u007f',
    'http://a/\u0085',
    'http://a/\u00a0',
    'http://a/\u2028',
    'http://a/\u3000',
    'http://a/\ufeff',
    'http://a/\u202e',
    'http://a\u2066/',
    'ht\ttp://a/',
  ]
  for (const target_url of [...schemes, ...relative, ...spaces])
    refused(t, await report({ state: 'success', target_url }), 422, /^target_url must /, encodeURIComponent(target_url))
  t.strictSame(await stored(), [])
})

t.test('Unknown members are ignored, and prototype keys are harmless', async (t) => {
  const { report, sha } = await hostCommit(t)
  const own = { sha, context: 'default', state: 'success', description: null, target_url: null }
  const unknown = {
    id: 'mine',
    sha: 'f'.repeat(40),
    created_at: 'never',
    updated_at: 1,
    combined: 'failure',
    State: 'error',
    constructor: { prototype: { context: 'x' } },
    toString: 1,
    hasOwnProperty: null,
    '': {},
  }
  const first = await report({ state: 'success', ...unknown })
  t.match(first, { status: 201, body: own })
  t.not(first.body['id'], 'mine')
  t.match(
    await report(
      '{"__proto__":{"context":"evil","description":"evil"},"state":"success",' +
        '"constructor":{"prototype":{"target_url":"evil"}}}',
    ),
    { status: 201, body: { ...own, id: first.body['id'] } },
  )
  refused(
    t,
    await report('{"__proto__":{"state":"success"}}'),
    400,
    /^invalid JSON body/,
    'a state that is not an own member',
  )
  t.strictSame(Object.keys((await report({ state: 'success', ...unknown })).body), Object.keys(first.body))
  t.notOk('context' in {}, 'no prototype was touched')
})

t.test('The Content-Type of the request is not looked at', async (t) => {
  const { service, token, reportPath } = await hostCommit(t)
  for (const type of [
    'application/json',
    'application/json; charset=iso-8859-1',
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    '',
  ]) {
    const answer = await service.call('POST', reportPath, {
      token,
      headers: { 'Content-Type': type },
      body: '{"state":"success","description":"é"}',
    })
    t.match(answer, { status: 201, body: { description: 'é' } }, type)
  }
})

t.test('Every body is answered as the specification says, and the list holds what was answered 201', async (t) => {
  const { report, list } = await hostCommit(t)
  const expected = new Map<unknown, unknown>()
  const answeredAlike = fc.asyncProperty(bodies, async (body) => {
    const verdict = modelOf(body)
    const { status, body: told } = await report(JSON.stringify(body))
    if (status !== verdict.status) return false
    if (verdict.status === 400) return String(told['error']).startsWith('invalid JSON body')
    if (verdict.status === 422) return String(told['error']).startsWith(`${verdict.field} must`)
    const { context, state, description, target_url } = told
    expected.set(context, told)
    return isDeepStrictEqual({ state, context, description, target_url }, verdict.saved)
  })
  await t.resolves(fc.assert(answeredAlike, { numRuns: 300 }))
  const { statuses } = (await list()).body as { statuses: { context: string }[] }
  t.ok(expected.size > 10)
  t.strictSame(new Map(statuses.map((status) => [status.context, status])), expected)
})
