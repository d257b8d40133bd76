import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { ServiceError } from '../../lib/errors.js'
import { invalidBody, parseFields, parseShape, parseState } from '../../lib/domain/report.js'
import { bodies, modelOf, type Verdict } from '../fixtures/report-model.js'

/** What lib/domain/report.ts makes of a body; its checks run in the order of the specification. */
function judge(body: unknown): Verdict {
  try {
    const shape = parseShape(body)
    return { status: 201, saved: { ...parseFields(parseState(shape.state), shape) } }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.code === 'invalid_body' && error.message.startsWith('invalid JSON body')) return { status: 400 }
    return { status: 422, field: error.message.split(' ')[0] ?? '' }
  }
}

t.test('Every body is judged as the specification says', async (t) => {
  const seen = new Map<string, number>()
  const judgedAlike = fc.property(bodies, (body) => {
    const verdict = modelOf(body)
    const kind = verdict.status === 422 ? verdict.field : String(verdict.status)
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
    return isDeepStrictEqual(judge(body), verdict)
  })
  t.doesNotThrow(() => fc.assert(judgedAlike, { numRuns: 3000 }))
  for (const kind of ['201', '400', 'state', 'context', 'description', 'target_url'])
    t.ok((seen.get(kind) ?? 0) > 30, `${kind} was met`)
})

t.test('A refused body is told what is wrong with it, and nothing that it holds', async (t) => {
  const cases: [body: unknown, message: string][] = [
    [null, 'invalid JSON body: it must be object'],
    [['success'], 'invalid JSON body: it must be object'],
    [{}, "invalid JSON body: it must have required property 'state'"],
    [{ state: 1 }, 'invalid JSON body: state must be string'],
    [{ state: 'success', context: null }, 'invalid JSON body: context must be string'],
    [{ state: 'success', description: 1 }, 'invalid JSON body: description must be string,null'],
    [{ state: 'success', target_url: ['https://a/'] }, 'invalid JSON body: target_url must be string,null'],
  ]
  for (const [body, message] of cases) t.throws(() => parseShape(body), { code: 'invalid_body', status: 400, message })
  t.match(invalidBody(), { code: 'invalid_body', status: 400, message: /^invalid JSON body/ })
})

t.test('A refused field is told its rule', async (t) => {
  const cases: [fields: object, message: string][] = [
    [{ context: '' }, 'context must have 1 to 255 characters'],
    [{ context: 'x'.repeat(256) }, 'context must have 1 to 255 characters'],
    [{ context: '\ud800' }, 'context must be well-formed Unicode'],
    [{ context: 'a\0' }, 'context must not contain U+0000'],
    [{ description: 'x'.repeat(1025) }, 'description must have at most 1024 characters'],
    [{ description: '\udfff' }, 'description must be well-formed Unicode'],
    [{ description: '\0' }, 'description must not contain U+0000'],
    [{ target_url: '' }, 'target_url must be an absolute http or https URL'],
    [{ target_url: 'javascript:alert(1)' }, 'target_url must be an absolute http or https URL'],
    [{ target_url: `http://a/${'x'.repeat(2040)}` }, 'target_url must have at most 2048 bytes'],
    [{ target_url: 'http://a/ ' }, 'target_url must not contain white space or control characters'],
    [{ target_url: 'http://a/\ud800' }, 'target_url must be well-formed Unicode'],
  ]
  for (const [fields, message] of cases) {
    t.throws(() => parseFields('success', { state: 'success', ...fields }), {
      code: 'field_invalid',
      status: 422,
      message,
    })
  }
})

t.test('Of several broken fields the first one decides: context, description, target_url', async (t) => {
  const broken = { state: 'success', context: '', description: '\0', target_url: '' }
  t.throws(() => parseFields('success', broken), { message: /^context / })
  t.throws(() => parseFields('success', { ...broken, context: 'ci' }), { message: /^description / })
  t.throws(() => parseFields('success', { ...broken, context: 'ci', description: '' }), { message: /^target_url / })
})
