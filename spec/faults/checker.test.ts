// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { STATES, type CommitStatus } from '../../lib/domain/commit-status.js'
import { judge } from './checker.js'
import type { History, Read, Write } from './history.js'

const sha = 'c0ffee'.padEnd(40, '0')
const commit = `alice/hello ${sha}`

/** A report of a value, acknowledged if nothing else is said. */
function wrote(
  value: number,
  from: number,
  to: number,
  outcome: Write['outcome'] = 'acknowledged',
  context = 'ci',
): Write {
  const report = {
    context,
    state: STATES[value % 4] ?? 'error',
    description: String(value),
    target_url: `https://ci.example/${value}`,
  }
  return { commit, report, from, to, outcome, ...(outcome === 'acknowledged' && { answer: statusOf(value, context) }) }
}

/** A list with values, each by its context; a number alone is that of `ci`. */
function read(values: number | undefined | Record<string, number>, from: number, to: number): Read {
  const shown = typeof values === 'object' ? values : values === undefined ? {} : { ci: values }
  const statuses = Object.entries(shown).map(([context, value]) => statusOf(value, context))
  return { commit, from, to, answer: { state: combined(statuses), statuses } }
}

function combined(statuses: readonly CommitStatus[]): string | null {
  const states = new Set(statuses.map(({ state }) => state))
  if (states.has('failure') || states.has('error')) return 'failure'
  return states.has('pending') ? 'pending' : states.has('success') ? 'success' : null
}

function statusOf(value: number, context = 'ci'): CommitStatus {
  const time = '2026-01-31T12:00:00.000Z'
  const { report } = wrote(value, 0, 0, 'unknown', context)
  return { id: `id of ${context}`, sha, ...report, created_at: time, updated_at: time }
}

/** How many findings of each kind. */
function counts(...events: (Write | Read)[]): { lost: number; wrong: number } {
  const { lost, wrong } = judge(historyOf(events))
  return { lost: lost.length, wrong: wrong.length }
}

function historyOf(events: readonly (Write | Read)[]): History {
  return {
    writes: events.filter((event) => 'report' in event),
    reads: events.filter((event): event is Read => !('report' in event)),
  }
}

const fine = { lost: 0, wrong: 0 }
const oneLost = { lost: 1, wrong: 0 }
const oneWrong = { lost: 0, wrong: 1 }

const right: Record<string, (Write | Read)[]> = {
  'nothing at all': [],
  'a list of nothing before anything was reported': [read(undefined, 0, 1)],
  'a report that is in the next list': [wrote(1, 0, 1), read(1, 2, 3)],
  'a report that replaces another one': [wrote(1, 0, 1), wrote(2, 2, 3), read(2, 4, 5)],
  'a report that was never answered, and is there': [wrote(1, 0, Infinity, 'unknown'), read(1, 2, 3), read(1, 4, 5)],
  'a report that was never answered, and is not there': [
    wrote(1, 0, Infinity, 'unknown'),
    read(undefined, 2, 3),
    read(undefined, 4, 5),
  ],
  'a report that was never answered, and is there later': [
    wrote(1, 0, Infinity, 'unknown'),
    read(undefined, 2, 3),
    read(1, 4, 5),
  ],
  'a report that was answered with 503, and is not there after another one': [
    wrote(1, 0, 1),
    wrote(2, 2, Infinity, 'unknown'),
    read(1, 4, 5),
  ],
  'a report that was answered with 503, and is there after another one': [
    wrote(2, 2, Infinity, 'unknown'),
    wrote(1, 3, 4),
    read(1, 5, 6),
    read(2, 7, 8),
  ],
  'a list during a report, with it': [wrote(1, 0, 9), read(1, 2, 3)],
  'a list during a report, without it': [wrote(1, 0, 9), read(undefined, 2, 3)],
  'two reports at once, the first wins': [wrote(1, 0, 9), wrote(2, 1, 8), read(1, 10, 11)],
  'two reports at once, the second wins': [wrote(1, 0, 9), wrote(2, 1, 8), read(2, 10, 11)],
  'two lists at once during a report, the later answer without it': [
    wrote(1, 0, 1),
    wrote(2, 2, 9),
    read(2, 3, 6),
    read(1, 4, 7),
  ],
  'a report that was refused, and is not there': [wrote(1, 0, 1, 'refused'), read(undefined, 2, 3)],
  'contexts ordered by their bytes': [
    wrote(1, 0, 1, 'acknowledged', '\uffff'),
    wrote(2, 0, 1, 'acknowledged', '\u{1f600}'),
    read({ '\uffff': 1, '\u{1f600}': 2 }, 2, 3),
  ],
}

for (const [words, events] of Object.entries(right)) {
  t.test(`Right: ${words}`, async (t) => {
    t.strictSame(counts(...events), fine)
  })
}

const lost: Record<string, (Write | Read)[]> = {
  'an acknowledged report that is missing': [wrote(1, 0, 1), read(undefined, 2, 3)],
  'an acknowledged report that is missing at the end only': [wrote(1, 0, 1), read(1, 2, 3), read(undefined, 4, 5)],
  'an acknowledged report in place of which the former one is there': [wrote(1, 0, 1), wrote(2, 2, 3), read(1, 4, 5)],
  'a list that is late': [wrote(1, 0, 1), wrote(2, 2, 3), read(1, 4, 5), read(2, 6, 7)],
  'lists that go back during a report': [wrote(1, 0, 1), wrote(2, 2, 9), read(2, 3, 4), read(1, 5, 6)],
  'lists that go back although nobody was answered': [
    wrote(1, 0, 1),
    wrote(2, 2, Infinity, 'unknown'),
    read(2, 3, 4),
    read(1, 5, 6),
  ],
  'two reports at once that are seen by turns': [
    wrote(1, 0, 9),
    wrote(2, 0, 9),
    read(1, 10, 11),
    read(2, 12, 13),
    read(1, 14, 15),
  ],
  'a report in one context of two': [
    wrote(1, 0, 1, 'acknowledged', 'a'),
    wrote(2, 0, 1, 'acknowledged', 'b'),
    read({ b: 2 }, 2, 3),
  ],
}

for (const [words, events] of Object.entries(lost)) {
  t.test(`Lost: ${words}`, async (t) => {
    t.strictSame(counts(...events), oneLost)
  })
}

const changed = (
  value: number,
  change: Partial<CommitStatus> & Record<string, unknown>,
  from: number,
  to: number,
): Read => {
  const status = { ...statusOf(value), ...change }
  return { commit, from, to, answer: { state: combined([status]), statuses: [status] } }
}
const listing = (answer: unknown): Read => ({ commit, from: 2, to: 3, answer })
const twice = [statusOf(1), statusOf(1)]
const unordered = [statusOf(1, 'b'), statusOf(1, 'a')]

const wrong: Record<string, (Write | Read)[]> = {
  'what nobody reported': [read(1, 2, 3)],
  'what nobody reported in this context': [wrote(1, 0, 1, 'acknowledged', 'a'), read({ a: 1, b: 1 }, 2, 3)],
  'what was refused': [wrote(1, 0, 1, 'refused'), read(1, 2, 3)],
  'what was reported later': [read(1, 0, 1), wrote(1, 2, 3)],
  'the state of another report': [wrote(1, 0, 1), wrote(2, 0, 1), changed(1, { state: 'failure' }, 2, 3)],
  'the link of another report': [
    wrote(1, 0, 1),
    wrote(2, 0, 1),
    changed(1, { target_url: 'https://ci.example/2' }, 2, 3),
  ],
  'another id': [wrote(1, 0, 1), changed(1, { id: 'another' }, 2, 3)],
  'another time of creation': [wrote(1, 0, 1), changed(1, { created_at: '2026-01-31T11:00:00.000Z' }, 2, 3)],
  'another time for the same report': [wrote(1, 0, 1), changed(1, { updated_at: '2026-01-31T13:00:00.000Z' }, 2, 3)],
  'a context twice': [wrote(1, 0, 1), listing({ state: combined(twice), statuses: twice })],
  'contexts out of order': [
    wrote(1, 0, 1, 'acknowledged', 'a'),
    wrote(1, 0, 1, 'acknowledged', 'b'),
    listing({ state: combined(unordered), statuses: unordered }),
  ],
  'another combined state': [wrote(1, 0, 1), listing({ state: 'pending', statuses: [statusOf(1)] })],
  'a combined state of nothing': [listing({ state: 'success', statuses: [] })],
  'a status with a member more': [wrote(1, 0, 1), changed(1, { more: 1 }, 2, 3)],
  'a status of another commit': [wrote(1, 0, 1), changed(1, { sha: sha.replace('c', 'd') }, 2, 3)],
  'something else than a list': [listing({ error: 'internal error' })],
  'an answer to a report that is not the report': [{ ...wrote(1, 0, 1), answer: statusOf(2) }],
}

for (const [words, events] of Object.entries(wrong)) {
  t.test(`Wrong: ${words}`, async (t) => {
    t.strictSame(counts(...events), oneWrong)
  })
}

t.test('Wrong: a time that goes back', async (t) => {
  const later = '2026-01-31T13:00:00.000Z'
  const first: Write = { ...wrote(1, 0, 1), answer: { ...statusOf(1), updated_at: later } }
  t.strictSame(counts(first, wrote(2, 2, 3)), oneWrong)
  t.strictSame(counts(first, wrote(2, 0, 3)), fine, 'not when they were reported at once')
})

/** What a caller did with a register: each takes place at its own number, from and to are around it. */
const step = fc.record({
  isWrite: fc.boolean(),
  outcome: fc.constantFrom('acknowledged', 'acknowledged', 'refused', 'applied', 'not applied'),
  before: fc.integer({ min: 0, max: 40 }),
  after: fc.integer({ min: 0, max: 40 }),
})

/** The history of a register that is one. */
function run(steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]): (Write | Read)[] {
  let current: number | undefined
  return steps.map(({ isWrite, outcome, before, after }, index) => {
    const [from, to] = [index * 10 - before - 0.5, index * 10 + after]
    if (!isWrite) return read(current, from, to)
    if (outcome === 'acknowledged' || outcome === 'applied') current = index
    if (outcome === 'acknowledged' || outcome === 'refused') return wrote(index, from, to, outcome)
    return wrote(index, from, outcome === 'applied' && after % 2 === 0 ? to : Infinity, 'unknown')
  })
}

t.test('Every history of a register is right, and wrong once its last value is taken from it', async (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const events = run(steps)
      const end = events.length * 10 + 1000
      const last = wrote(events.length, end, end + 1)
      const then = (value: number | undefined) => counts(...events, last, read(value, end + 2, end + 3))
      deepStrictEqual([counts(...events), then(events.length)], [fine, fine])
      const former = events.findLastIndex((event) => 'report' in event && event.outcome === 'acknowledged')
      for (const { lost, wrong } of [then(undefined), then(former < 0 ? undefined : former)])
        ok(lost > 0 && wrong === 0)
    }),
    { numRuns: 300 },
  )
  t.pass('so they were')
})

/** Whether there is an order of all events in which a register gives these answers: looked for in the plainest way. */
function hasOrder(events: readonly (Write | Read)[], current?: string): boolean {
  if (events.every((event) => 'report' in event && event.outcome !== 'acknowledged')) return true
  return events.some((event) => {
    if (events.some((other) => other.to < event.from)) return false
    const rest = events.filter((other) => other !== event)
    if ('report' in event)
      return (
        (event.outcome !== 'refused' && hasOrder(rest, event.report.description)) ||
        (event.outcome !== 'acknowledged' && hasOrder(rest, current))
      )
    const [status] = (event.answer as { statuses: CommitStatus[] }).statuses
    return (status?.description ?? undefined) === current && hasOrder(rest, current)
  })
}

t.test('Of any events with a register, those are right that have an order', async (t) => {
  const time = fc
    .tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 12 }))
    .map(([one, other]): [number, number] => (one < other ? [one, other + 0.5] : [other, one + 0.5]))
  const write = fc.tuple(time, fc.constantFrom('acknowledged' as const, 'acknowledged' as const, 'unknown' as const))
  const reading = fc.tuple(time, fc.integer({ min: -1, max: 3 }))
  const seen = { right: 0, wrong: 0 }
  fc.assert(
    fc.property(
      fc.array(write, { minLength: 1, maxLength: 4 }),
      fc.array(reading, { minLength: 1, maxLength: 4 }),
      (writes, reads) => {
        const written = writes.map(([[from, to], outcome], index) => wrote(index, from, to, outcome))
        const events = [
          ...written,
          ...reads.map(([[from, to], value]) =>
            read(value < 0 || value >= written.length ? undefined : value, from, to),
          ),
        ]
        const expected = hasOrder(events)
        seen[expected ? 'right' : 'wrong']++
        const { lost, wrong } = counts(...events)
        deepStrictEqual(lost + wrong === 0, expected)
      },
    ),
    { numRuns: 2000 },
  )
  t.ok(seen.right > 100 && seen.wrong > 100, JSON.stringify(seen))
})
