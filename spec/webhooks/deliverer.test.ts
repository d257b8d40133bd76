import { setMaxListeners } from 'node:events'
import { join } from 'node:path'
import { mkdtempSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import type { Delivery, DeliveryResult, HookRecord } from '../../lib/contracts/hooks.js'
import { noopMeter } from '../../lib/contracts/meter.js'
import type { State } from '../../lib/domain/commit-status.js'
import { StoreUnavailable } from '../../lib/errors.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { Deliverer, type DelivererDependencies } from '../../lib/webhooks/deliverer.js'
import { hookOf } from '../fixtures/hooks.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'

const hello = repositoryNamed('alice/hello')
const NOON = Date.UTC(2031, 0, 31, 12)
const [SECOND, HOUR, DAY] = [1000, 3_600_000, 86_400_000]

const OK: DeliveryResult = { kind: 'ok', status: 200, milliseconds: 5, reason: 'the answer was 200' }
const DOWN: DeliveryResult = { kind: 'failed', milliseconds: 5, reason: 'connect ECONNREFUSED' }
const answered = (status: number, more: Partial<DeliveryResult> = {}): DeliveryResult => ({
  ...{ kind: status === 410 ? 'gone' : 'failed', status, milliseconds: 5, reason: `the answer was ${status}` },
  ...more,
})

/** What may wait for one hook, and how much of it is sent: in `npm run faults` and its like all. */
const MOST = 10_000
const DRAINED = process.env['COMMIT_STATUS_FAULTS'] === 'long' ? MOST : 300

interface Sent {
  readonly delivery: Delivery
  answer(result: DeliveryResult): void
}

type Line = Record<string, unknown>

/** A deliverer on a store, with a receiver whose answers the test gives and a clock that it sets. */
async function world(t: Test, hooks: readonly HookRecord[] = [hookOf('a')], more: Partial<DelivererDependencies> = {}) {
  const folder = mkdtempSync(join(t.testdir({}), 'store-'))
  let store = await LevelStore.open(folder)
  for (const hook of hooks) await store.hooks.add(hook)
  const clock = { time: NOON, now: () => clock.time }
  const timers = new Set<{ at: number; work: () => void }>()
  const sent: Sent[] = []
  const lines: Line[] = []
  const outcomes: string[] = []
  const gauges = new Map<string, () => unknown>()
  const note = (facts: object, msg: string): void => void lines.push({ ...facts, msg })
  let automatic: DeliveryResult | undefined = OK
  const make = () =>
    new Deliverer({
      hooks: store.hooks,
      sender: {
        send: async (delivery, signal) =>
          await new Promise<DeliveryResult>((resolve) => {
            sent.push({ delivery, answer: resolve })
            if (automatic) resolve(automatic)
            setMaxListeners(0, signal)
            signal.addEventListener('abort', () => resolve(DOWN))
          }),
      },
      contentOf: async (hook, { repository, subject, delivery: id, from }) => {
        const [sha = '', context = ''] = subject.split('/')
        const status = await store.statuses.status(repository, commitId(sha), context)
        if (!status) return { deliveries: [], told: null }
        const said = { repository, status, previous_state: from, branches: [] }
        return { deliveries: [{ id, event: 'status', hook, ...said }], told: status.state }
      },
      clock,
      logger: { debug: note, info: note, warn: note, error: note },
      meter: {
        ...noopMeter,
        deliveryTried: (result) => void outcomes.push(result),
        gauge: (name, read) => void gauges.set(name, read),
        hookStates: (read) => void gauges.set('states', read),
      },
      later(milliseconds, work) {
        const timer = { at: clock.time + milliseconds, work }
        timers.add(timer)
        return () => timers.delete(timer)
      },
      random: () => 1,
      ...more,
    })
  let deliverer = make()
  await deliverer.start()
  t.teardown(async () => {
    automatic = OK
    for (const { answer } of sent) answer(OK)
    await deliverer.close()
    await store.close()
  })
  return {
    ...{ clock, sent, lines, outcomes, gauges, timers },
    store: () => store,
    deliverer: () => deliverer,
    /** What every delivery is answered with, `undefined`: nothing yet. */
    answers(result: DeliveryResult | undefined) {
      automatic = result
    },
    async report(context: string, state: State = 'success', commit = commitId('1')) {
      await store.statuses.save(hello, commit, reportOf(context, { state }), clock.time)
    },
    /** Lets time go by, up to the next timer. @returns how long */
    async pass(): Promise<number> {
      await until(() => timers.size > 0)
      const next = [...timers].sort((one, other) => one.at - other.at)[0]
      if (!next) return 0
      timers.delete(next)
      const passed = next.at - clock.time
      clock.time = Math.max(clock.time, next.at)
      next.work()
      return passed
    },
    /** Waits until so much was sent. */
    sending: async (count: number) => await until(() => sent.length >= count),
    /** Waits until nothing waits any more. */
    idle: async () => await until(async () => (await store.hooks.outbox.waiting()).size === 0),
    hook: async (id = 'a') => {
      const hook = await store.hooks.get(id)
      if (!hook) throw new Error(`there is no hook ${id}`)
      return hook
    },
    async restart() {
      await deliverer.close()
      await store.close()
      timers.clear()
      store = await LevelStore.open(folder)
      deliverer = make()
      await deliverer.start()
    },
  }
}

function told({ delivery }: Sent): string {
  return delivery.event === 'status' ? `${delivery.status.context} ${delivery.status.state}` : delivery.event
}

t.test('A status is delivered as it is, with what was told before', async (t) => {
  const { report, idle, sent, deliverer, outcomes, hook } = await world(t)
  await report('ci', 'pending')
  await idle()
  await report('ci', 'failure')
  await idle()
  t.match(sent, [
    { delivery: { event: 'status', previous_state: null, status: { state: 'pending' }, hook: { id: 'a' } } },
    { delivery: { event: 'status', previous_state: 'pending', status: { state: 'failure' } } },
  ])
  t.strictSame(outcomes, ['ok', 'ok'])
  const log = deliverer().log('a')
  t.match(log[0], { event: 'status', result: 'ok', status: 200, milliseconds: 5, delivery: sent[1]?.delivery.id })
  t.equal(log.length, 2)
  await until(async () => (await hook()).last !== undefined)
  t.equal((await hook()).last?.delivery, sent[0]?.delivery.id, 'one in a while is written down')
  t.strictSame(deliverer().log('b'), [])
})

t.test('What there is nothing to say of any more is not sent', async (t) => {
  const { report, store, idle, sent } = await world(t, [hookOf('a', { state: 'paused' })])
  await report('ci')
  await store().statuses.remove(hello, commitId('1'), 'ci')
  await store().hooks.update('a', (hook) => ({ ...hook, state: 'active' }))
  await report('lint')
  await idle()
  t.strictSame(sent.map(told), ['lint success'])
})

t.test('What waits for a receiver that fails is tried one at a time, after longer and longer pauses', async (t) => {
  const { report, sent, answers, sending, pass, hook, lines, idle, clock } = await world(t)
  answers(DOWN)
  const second = commitId('2')
  await report('first')
  await sending(1)
  await until(async () => (await hook()).attempts === 1)
  for (const context of ['x', 'y', 'z']) await report(context, 'success', second)
  const pauses = []
  for (let attempt = 2; attempt <= 10; attempt++) {
    pauses.push(await pass())
    await sending(attempt)
    await until(async () => (await hook()).attempts === attempt)
  }
  t.strictSame(
    pauses,
    [5, 30, 120, 600, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 24 * 3600].map((s) => s * SECOND),
  )
  t.same(new Set(sent.map(told)), new Set(['first success']), 'the oldest, and nothing else')
  t.equal(new Set(sent.map(({ delivery }) => delivery.id)).size, 1, 'as the same delivery')
  t.match(await hook(), {
    state: 'active',
    failing_since: new Date(NOON).toISOString(),
    last: { result: 'failed', reason: 'connect ECONNREFUSED' },
  })
  const failures = lines.filter(({ msg }) => msg === 'deliveries to a hook fail: they are tried again')
  t.match(failures, [{ hook: 'a', receiver: 'receiver.example', reason: 'connect ECONNREFUSED' }])
  answers(OK)
  await pass()
  await idle()
  t.strictSame(sent.slice(10).map(told).toSorted(), ['first success', 'x success', 'y success', 'z success'])
  await until(async () => (await hook()).failing_since === undefined)
  t.match(await hook(), { attempts: undefined, next_attempt_at: undefined, last: { result: 'ok' } })
  t.ok(lines.some(({ msg }) => msg === 'deliveries to a hook succeed again'))
  t.notMatch(JSON.stringify(lines), 'secret', 'no line shows the path of an address')
  t.ok(clock.time > NOON)
})

t.test('A receiver is given the time that it asks for, and one that was set back makes it no longer', async (t) => {
  const { report, answers, sending, pass, hook, clock, timers, store, deliverer } = await world(t)
  answers(answered(429, { retryAfterSeconds: 1800 }))
  await report('ci')
  await sending(1)
  await until(async () => (await hook()).attempts === 1)
  t.equal(await pass(), 1800 * SECOND)
  await sending(2)
  await until(async () => (await hook()).attempts === 2)
  clock.time -= 365 * DAY
  timers.clear()
  await store().hooks.update('a', (hook) => hook)
  deliverer().wake('a')
  await sending(3)
})

t.test('Of several that were on their way when it began to fail, one counts', async (t) => {
  const { report, answers, sent, sending, hook, outcomes } = await world(t)
  answers(undefined)
  for (const digit of ['1', '2', '3', '4', '5']) await report('ci', 'success', commitId(digit))
  await sending(4)
  t.equal(sent.length, 4, 'four at a time')
  for (const { answer } of sent) answer(DOWN)
  await until(() => outcomes.length === 4)
  await until(async () => (await hook()).attempts !== undefined)
  t.equal((await hook()).attempts, 1)
})

t.test('A failure long ago and one now are no three days without success', async (t) => {
  const { report, answers, sending, hook, clock, timers, store, idle, deliverer } = await world(t)
  answers(DOWN)
  await report('ci')
  await sending(1)
  await until(async () => (await hook()).attempts === 1)
  await store().statuses.remove(hello, commitId('1'), undefined)
  clock.time += 10 * SECOND
  deliverer().wake('a')
  await idle()
  clock.time += 10 * DAY
  timers.clear()
  await report('ci')
  await sending(2)
  await until(async () => (await hook()).attempts === 2)
  t.equal((await hook()).state, 'active')
})

t.test('A receiver that wants no more is stopped at once, one that fails for three days then', async (t) => {
  const { report, answers, sending, hook, lines, store, pass, sent } = await world(t)
  answers(answered(410))
  await report('ci')
  await sending(1)
  await until(() => lines.length > 0)
  t.match(await hook(), {
    ...{ state: 'stopped', stopped_because: /410/, behind_since: new Date(NOON).toISOString() },
    last: { result: 'gone', status: 410 },
  })
  t.match(lines, [{ hook: 'a', msg: 'a hook was stopped: what waited for it is dropped' }])
  t.equal((await store().hooks.outbox.waiting()).size, 0)
  await report('lint')
  t.equal((await store().hooks.outbox.waiting()).size, 0, 'nothing more is kept for it')

  answers(DOWN)
  await store().hooks.add(hookOf('b'))
  const before = sent.length
  await report('late')
  await sending(before + 1)
  for (let attempts = 1; (await hook('b')).state === 'active'; attempts++) {
    await until(async () => (await hook('b')).attempts === attempts)
    await pass()
    await until(async () => (await hook('b')).attempts !== attempts)
  }
  t.match(await hook('b'), { state: 'stopped', stopped_because: /three days/, attempts: 12 })
})

t.test('Of several on their way to a receiver that wants no more, one stops it', async (t) => {
  const behind_since = '2031-01-30T12:00:00.000Z'
  const { report, answers, sent, sending, lines, outcomes, hook } = await world(t, [hookOf('a', { behind_since })])
  answers(undefined)
  for (const digit of ['1', '2']) await report('ci', 'success', commitId(digit))
  await sending(2)
  for (const { answer } of sent) answer(answered(410))
  await until(() => outcomes.length === 2 && lines.length === 2)
  t.same(new Set(lines.map(({ reason }) => reason)).size, 1)
  t.equal((await hook()).behind_since, behind_since, 'what was missed before is missed still')
})

t.test('What a receiver does not take is given up after five tries, and the rest is delivered', async (t) => {
  const { report, sent, answers, sending, pass, hook, lines, idle, outcomes } = await world(t)
  answers(answered(413))
  await report('huge')
  for (let tries = 1; tries < 5; tries++) {
    await sending(tries)
    await until(async () => (await hook()).attempts === tries)
    await pass()
  }
  await sending(5)
  await until(() => outcomes.includes('dropped'))
  t.match(lines, [{}, { msg: 'a delivery is given up: its receiver does not take it', repository: 'alice/hello' }])
  await idle()
  answers(OK)
  await report('small')
  await until(async () => (await hook()).attempts === 5)
  await pass()
  await idle()
  t.strictSame(sent.map(told).slice(5), ['small success'])
})

t.test('Ten a second go to a hook, and what comes meanwhile is told as it is then', async (t) => {
  const { report, sent, sending, pass, idle, clock } = await world(t)
  for (let index = 0; index < 12; index++) await report(`c${index}`, 'pending')
  await sending(10)
  await report('c11', 'success')
  t.equal(sent.length, 10)
  const begun = clock.time
  await pass()
  await idle()
  t.strictSame([sent.slice(10).map(told), clock.time - begun], [['c10 pending', 'c11 success'], SECOND])
})

t.test('Where much waits for a receiver that takes it, it goes as fast as it is taken, four at a time', async (t) => {
  const { store, report, sent, answers, sending, idle, clock, deliverer } = await world(t, [
    hookOf('a', { state: 'paused' }),
  ])
  for (let index = 0; index < 200; index++) await report(`c${index}`, 'success', commitId(String(index)))
  answers(undefined)
  await store().hooks.update('a', (hook) => ({ ...hook, state: 'active' }))
  deliverer().wake('a')
  await sending(4)
  for (let count = 0; count < 90; count++) {
    sent[count]?.answer(OK)
    await sending(count + 5)
    t.equal(sent.length, count + 5)
  }
  t.equal(clock.time, NOON)
  answers(OK)
  await store().hooks.remove('a')
  for (const { answer } of sent) answer(OK)
  await idle()
})

t.test('Thirty-two are on their way altogether, and the others have their turn', async (t) => {
  const hooks = Array.from({ length: 10 }, (_, index) => hookOf(`h${index}`))
  const { report, sent, answers, sending, idle } = await world(t, hooks)
  answers(undefined)
  for (const digit of ['1', '2', '3', '4']) await report('ci', 'success', commitId(digit))
  await sending(32)
  t.equal(sent.length, 32)
  answers(OK)
  for (const { answer } of sent) answer(OK)
  await idle()
  t.equal(sent.length, 40)
})

t.test('A hook for which too much waits is stopped', async (t) => {
  const { store, hook, lines, deliverer } = await world(t, [hookOf('a', { state: 'paused' })])
  const entry = { hook: 'a', repository: hello, since: '2031-01-31T10:00:00.000Z', from: null }
  const entries = Array.from({ length: 10_001 }, (_, index) => ({
    ...entry,
    subject: `${commitId('1').hex}/${index}`,
    delivery: `d${index}`,
  }))
  await store().hooks.outbox.add(entries.slice(1))
  deliverer().wake('a')
  await store().hooks.outbox.add(entries.slice(0, 1))
  await until(() => lines.length > 0)
  t.match(await hook(), { state: 'stopped', stopped_because: /10000/, behind_since: '2031-01-31T10:00:00.000Z' })
  t.equal((await store().hooks.outbox.waiting()).size, 0)
})

t.test('A hook that is removed while something is on its way is forgotten', async (t) => {
  const { report, sent, answers, sending, store, deliverer } = await world(t)
  await report('first')
  await until(() => deliverer().log('a').length === 1)
  answers(undefined)
  await report('ci')
  await sending(2)
  await store().hooks.remove('a')
  sent[1]?.answer(DOWN)
  await until(() => deliverer().log('a').length === 0)
  t.strictSame(await store().hooks.list(), [])
  t.equal((await store().hooks.outbox.waiting()).size, 0)
})

t.test('What was on its way at the end is sent again after a start, as the same delivery', async (t) => {
  const { report, sent, answers, sending, restart, pass, hook, idle } = await world(t)
  answers(undefined)
  await report('ci')
  await sending(1)
  const closing = restart()
  await pass()
  await closing
  await sending(2)
  t.equal(sent[1]?.delivery.id, sent[0]?.delivery.id)
  t.equal((await hook()).failing_since, undefined, 'an end is nobody’s failure')
  sent[1]?.answer(OK)
  await idle()
})

t.test('What cannot be read is tried again', async (t) => {
  let failures = 3
  const { report, sent, lines, pass, idle, store, deliverer, timers, clock } = await world(t, [hookOf('a')], {
    contentOf: async (hook, { delivery: id }) => {
      if (failures-- > 0) throw new StoreUnavailable('the store cannot be read')
      return await Promise.resolve({ deliveries: [{ id, event: 'ping', hook }], told: null })
    },
  })
  await report('ci')
  await until(() => lines.length === 1)
  t.equal(await pass(), 5 * SECOND)
  await until(async () => {
    if (timers.size > 0) await pass()
    return sent.length === 1
  })
  await idle()
  t.ok(clock.time >= NOON + (5 + 20 + 80) * SECOND, 'after longer and longer')
  t.strictSame(sent.map(told), ['ping'])
  t.match(lines, [{ hook: 'a', repository: 'alice/hello', msg: 'a delivery could not be made' }])

  const { outbox } = store().hooks
  const claim = outbox.claim.bind(outbox)
  outbox.claim = async () => await Promise.reject(new Error('a bad block'))
  await report('lint')
  await until(() => lines.length >= 4)
  t.match(lines[3], { hook: 'a', msg: 'what waits for a hook cannot be read' })
  outbox.claim = claim
  await until(async () => {
    if (timers.size > 0) await pass()
    return (await outbox.waiting()).size === 0
  })
  t.equal(sent.length, 2)
  await deliverer().close()
  deliverer().wake('a')
})

t.test('What can never be read holds up no others', async (t) => {
  const { report, sent, lines, pass, timers } = await world(t, [hookOf('a')], {
    contentOf: async (hook, { delivery: id, subject }) => {
      if (subject.endsWith('/bad')) throw new Error('damaged')
      return await Promise.resolve({ deliveries: [{ id, event: 'ping', hook }], told: null })
    },
  })
  const commits = ['1', '2', '3', '4', '5', '6'].map((hex) => commitId(hex))
  for (const commit of commits) await report('bad', 'success', commit)
  await report('good', 'success', commitId('7'))
  await until(async () => {
    if (timers.size > 0) await pass()
    return sent.length === 1
  })
  t.strictSame(sent.map(told), ['ping'])
  t.ok(lines.length >= commits.length && lines.length < 5 * commits.length, `${lines.length} lines of the log`)
})

t.test('Who found no room comes before who had it', async (t) => {
  const slow = Array.from({ length: 8 }, (_, index) => hookOf(`slow-${index}`))
  const { report, sent, sending, answers } = await world(t, [...slow, hookOf('quick', { contexts: ['quick'] })])
  answers(undefined)
  for (let commit = 1; commit <= 9; commit++) await report('ci', 'success', commitId(String(commit)))
  await sending(32)
  await report('quick', 'success', commitId('10'))
  let answered = 0
  await until(() => {
    sent[answered]?.answer(OK)
    answered++
    return sent.some(({ delivery }) => delivery.hook.id === 'quick')
  })
  t.ok(answered <= 32, `after ${answered} answers`)
})

t.test('Hooks that cannot be read at the start are read later', async (t) => {
  const folder = t.testdir({})
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  await store.hooks.add(hookOf('a', { state: 'paused' }))
  const list = store.hooks.list.bind(store.hooks)
  store.hooks.list = async () => await Promise.reject(new Error('a bad block'))
  const lines: Line[] = []
  const note = (facts: object, msg: string): void => void lines.push({ ...facts, msg })
  const works: (() => void)[] = []
  const deliverer = new Deliverer({
    hooks: store.hooks,
    sender: { send: async () => await Promise.resolve(OK) },
    contentOf: async () => await Promise.resolve({ deliveries: [], told: null }),
    clock: { now: () => NOON },
    logger: { debug: note, info: note, warn: note, error: note },
    meter: noopMeter,
    later: (_, work) => {
      works.push(work)
      return () => undefined
    },
  })
  await deliverer.start()
  t.equal(works.length, 1)
  t.match(lines, [{ msg: 'hooks cannot be read: nothing is delivered yet' }])
  store.hooks.list = list
  works[0]?.()
  await until(async () => {
    await store.statuses.save(hello, commitId('1'), reportOf('ci'), NOON)
    return (await store.hooks.outbox.waiting()).size === 1
  })
  await deliverer.close()
  works[0]?.()
  t.equal(works.length, 2, 'one that is closed does not begin')
})

t.test('A ping is sent whatever state the hook is in, and is in the log', async (t) => {
  const { deliverer, sent, hook, answers } = await world(t, [hookOf('a', { state: 'stopped' })])
  answers(answered(500))
  t.match(await deliverer().ping(await hook()), { event: 'ping', result: 'failed', status: 500 })
  t.strictSame(sent.map(told), ['ping'])
  t.match(deliverer().log('a'), [{ event: 'ping' }])
  for (let pings = 0; pings < 25; pings++) await deliverer().ping(await hook())
  t.equal(deliverer().log('a').length, 20, 'the latest twenty')
})

t.test('What waits, for how long, and how hooks do is measured', async (t) => {
  const failing = hookOf('d', { events: ['push'], failing_since: '2026-01-31T12:00:00.000Z' })
  const hooks = [hookOf('a', { state: 'paused' }), hookOf('b', { state: 'stopped' }), hookOf('c'), failing]
  const { report, gauges, clock, idle, store, deliverer } = await world(t, hooks)
  t.equal(await gauges.get('oldestDeliverySeconds')?.(), 0)
  await report('ci')
  clock.time += HOUR
  await until(async () => (await gauges.get('waitingDeliveries')?.()) === 1)
  t.equal(await gauges.get('oldestDeliverySeconds')?.(), 3600)
  t.strictSame(await gauges.get('states')?.(), { active: 1, failing: 1, paused: 1, stopped: 1 })
  await store().hooks.update('a', (hook) => ({ ...hook, state: 'active' }))
  deliverer().wake('a')
  await idle()
})

t.test('What is to be sent later is sent as it is then, and is no failure; the rest goes on', async (t) => {
  const { report, answers, sent, sending, hook, pass, idle, outcomes, store, deliverer } = await world(t)
  answers({ kind: 'later', retryAfterSeconds: 600, milliseconds: 0, reason: 'one mail in ten minutes' })
  await report('ci', 'failure')
  await sending(1)
  await until(async () => (await store().hooks.outbox.waiting()).size === 1)
  await report('ci', 'success')
  answers(OK)
  await report('ci', 'pending', commitId('2'))
  await sending(2)
  await until(() => outcomes.length === 1)
  t.equal(await pass(), 600 * SECOND)
  await idle()
  t.strictSame(sent.map(told), ['ci failure', 'ci pending', 'ci success'])
  t.match(await hook(), { failing_since: undefined })
  answers({ kind: 'later', milliseconds: 0, reason: 'not now' })
  await report('lint')
  await sending(4)
  t.equal(await pass(), 5 * SECOND)
  await sending(5)
  await deliverer().close()
})

t.test('Ten thousand deliveries that wait at a start take little memory, and delay no report', async (t) => {
  const { report, store, restart, sent, answers, sending, pass, idle, hook } = await world(t, [
    hookOf('a', { state: 'paused' }),
  ])
  const commits = Array.from({ length: MOST }, (_, index) => commitId(index.toString(16).padStart(4, '0')))
  const [late = commitId('0'), ...others] = commits.toReversed()
  await Promise.all(others.map(async (commit) => await report('ci', 'success', commit)))
  await store().hooks.update('a', (hook) => ({ ...hook, state: 'active' }))
  answers(undefined)
  const [before, begun] = [usedMemory(), performance.now()]
  await restart()
  t.ok(performance.now() - begun < 10_000)
  t.ok(usedMemory() - before < 20_000_000)
  await sending(4)
  await report('ci', 'success', late)
  t.equal(sent.length, 4, 'it is on disk while no receiver has answered')
  t.equal((await store().hooks.outbox.waiting()).get('a')?.count, MOST)
  answers(OK)
  for (const { answer } of sent) answer(OK)
  while (sent.length < DRAINED) await pass()
  if (DRAINED === MOST) await idle()
  t.equal(new Set(sent.map(({ delivery }) => delivery.id)).size, sent.length, 'each is sent once')
  t.match(await hook(), { state: 'active', stopped_because: undefined, behind_since: undefined })
})

t.test('Timers of its own end with it', async (t) => {
  const store = await LevelStore.open(t.testdir({}))
  t.teardown(async () => await store.close())
  await store.hooks.add(hookOf('a'))
  const deliverer = new Deliverer({
    hooks: store.hooks,
    sender: { send: async () => await Promise.resolve(DOWN) },
    contentOf: async (hook, { delivery: id }) =>
      await Promise.resolve({ deliveries: [{ id, event: 'ping', hook }], told: null }),
    clock: { now: Date.now },
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    meter: noopMeter,
  })
  await deliverer.start()
  await until(async () => {
    await store.statuses.save(hello, commitId('1'), reportOf('ci'), 0)
    return deliverer.log('a').length > 0
  })
  await deliverer.close()
  t.pass('nothing keeps the process')
})

/** Bytes of objects that are still of use. */
function usedMemory(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}
