import fc from 'fast-check'
import t from 'tap'
import { STATES, type StoredStatus } from '../../../lib/domain/commit-status.js'
import { milliseconds } from '../../../lib/domain/verdict/duration.js'
import { parseVerdictQuery, verdictRule, type VerdictQuery } from '../../../lib/domain/verdict/rule.js'
import { VerdictBuilder } from '../../../lib/domain/verdict/verdict.js'
import { modelVerdict } from '../../fixtures/verdict-model.js'

const NOON = Date.parse('2026-01-31T12:00:00.000Z')
const HOUR = 60 * 60 * 1000

type Judged = Pick<StoredStatus, 'context' | 'state' | 'updated_at' | 'reporter'>

function status(context: string, state: StoredStatus['state'], user?: string, age = 0): Judged {
  const updated_at = new Date(NOON - age).toISOString()
  return { context, state, updated_at, ...(user !== undefined && { reporter: { user, token: null } }) }
}

function judge(statuses: readonly Judged[], query: VerdictQuery, now = NOON, maxContexts = Infinity) {
  const evaluation = new VerdictBuilder(verdictRule(query), now, maxContexts)
  for (const each of statuses) evaluation.add(each)
  return evaluation
}

t.test('Each requirement must match something, and all that it matches counts', async (t) => {
  const statuses = [status('build', 'success'), status('test/a', 'success'), status('test/b', 'pending')]
  t.strictSame(judge(statuses, { require: ['build', 'test/*', 'lint'] }).verdict(), {
    verdict: 'pending',
    required: [
      { require: 'build', state: 'success' },
      { require: 'test/*', state: 'pending' },
      { require: 'lint', state: null },
    ],
  })
  const cases: [string[], readonly Judged[], string][] = [
    [['build'], statuses, 'success'],
    [['build', 'build'], statuses, 'success'],
    [['test/*'], statuses, 'pending'],
    [['lint'], statuses, 'pending'],
    [['test/*'], [...statuses, status('test/c', 'error')], 'failure'],
    [['lint', 'test/*'], [...statuses, status('test/c', 'failure')], 'failure'],
    [['build'], [...statuses, status('other', 'failure')], 'success'],
    [[], statuses, 'pending'],
    [[], statuses.slice(0, 2), 'success'],
    [[], [status('x', 'error')], 'failure'],
    [[], [], 'pending'],
    [['*'], [], 'pending'],
  ]
  for (const [require, given, verdict] of cases)
    t.equal(judge(given, { require }).verdict().verdict, verdict, require.join())
  t.strictSame(judge(statuses, {}).verdict().required, [])
})

t.test('With by, what somebody else reported last is pending, never absent, and is named', async (t) => {
  const statuses = [status('build', 'success', 'ci'), status('test', 'failure', 'mallory'), status('old', 'failure')]
  const byOthers = [
    'test was reported last by mallory, not by ci',
    'old was reported last by an unknown user, not by ci',
  ]
  t.strictSame(judge(statuses, { by: ['ci'] }).verdict(), { verdict: 'pending', required: [], reasons: byOthers })
  t.equal(judge(statuses, { by: ['ci', 'mallory'] }).verdict().verdict, 'failure')
  t.equal(judge(statuses, { by: ['CI'] }).verdict().verdict, 'pending')
  t.strictSame(judge(statuses, { by: ['ci', 'bob'], require: ['t*', 'build'] }).verdict(), {
    verdict: 'pending',
    required: [
      { require: 't*', state: 'pending' },
      { require: 'build', state: 'success' },
    ],
    reasons: ['test was reported last by mallory, not by ci or bob'],
  })
  t.strictSame(
    judge(statuses, { by: ['ci'], require: ['build'] }).verdict(),
    { verdict: 'success', required: [{ require: 'build', state: 'success' }] },
    'an exact name that is green by the right user goes through, whatever others say of other contexts',
  )
  const failed = [...statuses, status('test/b', 'error', 'ci')]
  t.equal(judge(failed, { by: ['ci'], require: ['test*'] }).verdict().verdict, 'failure')
  const stale = judge([status('a', 'pending', 'mallory', 9 * HOUR)], { by: ['ci'], require: ['a'], stale: '1h' })
  t.strictSame([stale.verdict().verdict, stale.expiresAt], ['pending', Infinity], 'the time of others does not count')
  const many = Array.from({ length: 25 }, (_, index) => status(`c${index}`, 'success', 'mallory'))
  const { reasons } = judge(many, { by: ['ci'] }).verdict()
  t.strictSame([reasons?.length, reasons?.at(-1)], [21, '5 more contexts were reported last by others'])
})

t.test('By host counts what the program itself reported, and no token of a user of that name', async (t) => {
  const own = status('build', 'success', 'host')
  t.equal(judge([own], { by: ['host'] }).verdict().verdict, 'success')
  const byToken = { ...own, reporter: { user: 'host', token: 'ab12' } }
  t.equal(judge([byToken], { by: ['host'] }).verdict().verdict, 'pending')
})

t.test('With by, a commit that is full is pending for whatever has a * in it, or no require', async (t) => {
  const statuses = [status('build', 'success', 'ci'), status('test/a', 'success', 'ci')]
  const reasons = ['the commit has 2 contexts, as many as it may: another report may have been refused']
  const cases: [VerdictQuery, string, string[] | undefined][] = [
    [{ by: ['ci'], require: ['build', 'test/*'] }, 'pending', reasons],
    [{ by: ['ci'] }, 'pending', reasons],
    [{ by: ['ci'], require: ['build', 'test/a'] }, 'success', undefined],
    [{ require: ['build', 'test/*'] }, 'success', undefined],
  ]
  for (const [query, verdict, why] of cases) {
    const judged = judge(statuses, query, NOON, 2).verdict()
    t.strictSame([judged.verdict, judged.reasons], [verdict, why], JSON.stringify(query))
    t.equal(judge(statuses, query, NOON, 3).verdict().verdict, 'success', 'not full')
  }
})

t.test('What is pending for longer than it may counts as failed, to the millisecond', async (t) => {
  const statuses = [
    status('a', 'pending', 'ci', HOUR),
    status('b', 'pending', 'ci'),
    status('c', 'success', 'ci', 99 * HOUR),
  ]
  for (const [now, verdict, changesAt] of [
    [NOON, 'pending', NOON + 1],
    [NOON + 1, 'failure', NOON + HOUR + 1],
    [NOON + HOUR + 1, 'failure', Infinity],
  ] as const) {
    const evaluation = judge(statuses, { stale: '1h' }, now)
    t.strictSame([evaluation.verdict().verdict, evaluation.expiresAt], [verdict, changesAt])
  }
  t.equal(judge(statuses, {}).expiresAt, Infinity)
  t.equal(judge(statuses, { require: ['c'], stale: '1h' }).expiresAt, Infinity, 'what is not required does not matter')
})

t.test('It agrees with the plainest way to say it, whatever the order', async (t) => {
  const context = fc.constantFrom('a', 'a/b', 'b', 'ab', 'c')
  const user = fc.option(fc.constantFrom('ci', 'bob'), { nil: undefined })
  const statuses = fc.uniqueArray(fc.tuple(context, fc.constantFrom(...STATES), user, fc.nat({ max: 3 * HOUR })), {
    selector: ([name]) => name,
  })
  const rule = fc.record({
    require: fc.array(fc.constantFrom('a', 'a*', '*', '*b', 'c', 'd'), { maxLength: 3 }),
    by: fc.uniqueArray(fc.constantFrom('ci', 'bob', 'eve'), { maxLength: 2 }),
    stale: fc.constantFrom(undefined, '1h', '2h'),
    maxContexts: fc.integer({ min: 1, max: 6 }),
  })
  fc.assert(
    fc.property(statuses, rule, (given, { require, by, stale, maxContexts }) => {
      const all = given.map((each) => status(...each))
      const query = { require, by, ...(stale !== undefined && { stale }) }
      const model = { require, by, maxContexts, ...(stale !== undefined && { stale: Number(milliseconds(stale)) }) }
      const expected = modelVerdict(all, model, NOON)
      t.equal(judge(all, query, NOON, maxContexts).verdict().verdict, expected)
      t.equal(judge(all.toReversed(), query, NOON, maxContexts).verdict().verdict, expected)
    }),
    { numRuns: 2000 },
  )
})

t.test('Parameters of an address are read, and refused when they break their rules', async (t) => {
  t.strictSame(parseVerdictQuery('require=build&require=test%2F*&by=ci&stale=6h&&'), {
    require: ['build', 'test/*'],
    by: ['ci'],
    staleMilliseconds: 6 * HOUR,
  })
  t.strictSame(parseVerdictQuery(''), { require: [] })
  t.strictSame(parseVerdictQuery('require=a+b%2Bc=d'), { require: ['a b+c=d'] })
  t.equal(parseVerdictQuery('require=x&'.repeat(50)).require.length, 50)
  t.equal(parseVerdictQuery(`require=${'*a'.repeat(60)}&require=${'*'.repeat(40)}`).require.length, 2)
  const bad: [string, RegExp][] = [
    ['require=x&'.repeat(51), /^require must be given at most 50 times$/],
    ['by=x&'.repeat(11), /^by must be given at most 10 times$/],
    ['require=', /^require must have 1 to 255 characters$/],
    ['require', /^require must have/],
    [`require=${'*a'.repeat(60)}&require=${'*'.repeat(41)}`, /^require must have at most 100 \* altogether$/],
    [`require=${'x'.repeat(256)}`, /^require must have/],
    ['by=%00', /^by must have/],
    ['stale=6h&stale=7h', /^stale must be given once$/],
    ['stale=', /^stale must be like 30s, 15m, 6h, 90d or 2w$/],
    ['stale=0s', /^stale/],
    ['stale=-1h', /^stale/],
    ['stale=1h30m', /^stale/],
    ['stale=1234567s', /^stale/],
    ['required=x', /^there is no parameter "required"$/],
    ['Require=x', /^there is no parameter "Require"$/],
    ['__proto__=x', /^there is no parameter "__proto__"$/],
    ['=x', /^there is no parameter ""$/],
    ['require=%zz', /^malformed percent-encoding in the query$/],
    ['require=%ff', /^malformed percent-encoding in the query$/],
  ]
  for (const [query, message] of bad)
    t.throws(() => parseVerdictQuery(query), { code: 'parameter_invalid', status: 422, message }, query.slice(0, 30))
  const mistakes = [{ require: 'build' }, { require: [1] }, { by: 'ci' }, { stale: 6 }] as unknown as VerdictQuery[]
  for (const mistake of mistakes) t.throws(() => verdictRule(mistake), TypeError, JSON.stringify(mistake))
  t.throws(() => verdictRule({ required: ['x'] } as VerdictQuery), { code: 'parameter_invalid' })
})

t.test('Lengths of time', async (t) => {
  t.strictSame(
    ['30s', '15m', '12h', '90d', '2w', '0s', '1', 's', '1.5h', '1H', ' 1h', '1234567s', '1y'].map(milliseconds),
    [30e3, 15 * 60e3, 12 * HOUR, 90 * 24 * HOUR, 14 * 24 * HOUR, 0, ...Array<undefined>(7).fill(undefined)],
  )
})
