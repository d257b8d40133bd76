import t, { type Test } from 'tap'
import type { HookRecord } from '../../lib/contracts/hooks.js'
import { parsePushText } from '../../lib/domain/push.js'
import { parsePush, Pushes } from '../../lib/service/pushes.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { hookOf } from '../fixtures/hooks.js'
import { repositoryNamed } from '../fixtures/names.js'

const hello = repositoryNamed('alice/hello')
const [ZEROS, A, B, C] = ['0', 'a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string, string]
const ID = '01234567-89ab-4cde-8f01-23456789abcd'
const OTHER_ID = ID.replace('0', 'f')

const main = { ref: 'refs/heads/main', before: A, after: B }
const topic = { ref: 'refs/heads/topic/1', before: ZEROS, after: B }
const tag = { ref: 'refs/tags/v1', before: A, after: ZEROS }

/** A store with hooks, and what notes pushes in it. */
async function world(t: Test, ...hooks: readonly HookRecord[]) {
  const store = await LevelStore.open(t.testdir({}))
  t.teardown(async () => await store.close())
  for (const hook of hooks) await store.hooks.add(hook)
  const pushes = new Pushes(store.hooks, { now: () => Date.UTC(2026, 0, 31, 12) })
  const waiting = async (hook: string) => await store.hooks.outbox.claim(hook, 10)
  return { store, pushes, waiting }
}

t.test('A push is noted for each hook that is told of it, ref by ref', async (t) => {
  const { pushes, waiting } = await world(
    t,
    hookOf('all', { events: ['status', 'push'] }),
    hookOf('owner', { events: ['push'], on: 'alice/*', branches: ['topic/*', 'main'] }),
    hookOf('exact', { events: ['push'], on: 'alice/hello', branches: ['topic/*'] }),
    hookOf('paused', { events: ['push'], state: 'paused', branches: ['main'] }),
    hookOf('stopped', { events: ['push'], state: 'stopped' }),
    hookOf('other', { events: ['push'], on: 'bob/*' }),
    hookOf('statuses'),
  )
  const note = { ref: 'refs/notes/commits', before: A, after: B }
  const sent = { id: ID, pusher: 'alice', refs: [main, note, topic, tag] }
  t.equal(await pushes.note(hello, sent, 'git'), 7)
  const refsOf = async (hook: string) => (await waiting(hook)).map(({ subject }) => subject.replace(/ .*/, ''))
  t.strictSame(await refsOf('all'), [main.ref, topic.ref, tag.ref])
  t.strictSame(await refsOf('owner'), [main.ref, topic.ref])
  t.strictSame(await refsOf('exact'), [topic.ref])
  t.strictSame(await refsOf('paused'), [main.ref])
  for (const hook of ['stopped', 'other', 'statuses']) t.strictSame(await refsOf(hook), [], hook)
})

t.test('What is noted says all of a push, with a delivery of its own for each hook', async (t) => {
  const push = { events: ['push'] } as const
  const { pushes, waiting } = await world(t, hookOf('a', push), hookOf('b', push))
  await pushes.note(hello, { id: ID, pusher: 'bob', refs: [main] }, 'git')
  await pushes.note(hello, { id: OTHER_ID, refs: [topic] }, 'git')
  const [first, second] = await waiting('a')
  t.match(first, { repository: hello, since: '2026-01-31T12:00:00.000Z', from: null, delivery: /^[0-9a-f-]{36}$/ })
  t.strictSame(parsePushText(String(first?.subject)), { ...main, id: ID, pusher: 'bob', sender: 'git' })
  t.strictSame(parsePushText(String(second?.subject)), { ...topic, id: OTHER_ID, pusher: 'git', sender: 'git' })
  const [ofOther] = await waiting('b')
  t.not(ofOther?.delivery, first?.delivery)
})

t.test('The tip of a pushed branch is noted for hooks on what branches come to, and nothing of others', async (t) => {
  const { pushes, waiting } = await world(
    t,
    hookOf('all', { events: ['broken', 'push'] }),
    hookOf('topic', { events: ['fixed'], branches: ['topic/*'] }),
    hookOf('other', { events: ['fixed'], on: 'bob/*' }),
  )
  const gone = { ref: 'refs/heads/gone', before: A, after: ZEROS }
  const refs = [{ ...main, after: C }, topic, gone, { ...tag, after: A }]
  t.equal(await pushes.note(hello, { id: ID, refs }, 'git'), 4)
  const tipsOf = async (hook: string) =>
    (await waiting(hook)).map(({ subject }) => subject).filter((subject) => !subject.startsWith('refs/'))
  t.strictSame(await tipsOf('all'), [`${C}/`], 'one at a time')
  t.strictSame(await tipsOf('topic'), [`${B}/`])
  t.strictSame(await tipsOf('other'), [])
})

t.test('A push that is handed over again is noted once, and after a start told as the same delivery', async (t) => {
  const { pushes, waiting, store } = await world(t, hookOf('a', { events: ['push'] }))
  const sent = { id: ID, refs: [main] }
  t.strictSame(await Promise.all([pushes.note(hello, sent, 'git'), pushes.note(hello, sent, 'git')]), [1, 0])
  const [first] = await waiting('a')
  if (!first) throw new Error('nothing waits')
  t.equal(await pushes.note(hello, { id: ID, refs: [main, topic] }, 'git'), 1, 'a part of it is not')
  await store.hooks.outbox.settle(first, null)
  t.equal(await pushes.note(hello, sent, 'git'), 0, 'nor what was told')
  t.equal(await pushes.note(repositoryNamed('alice/other'), sent, 'git'), 1, 'another repository is another push')
  const started = new Pushes(store.hooks, { now: () => 0 })
  t.equal(await started.note(hello, sent, 'git'), 1)
  const again = (await waiting('a')).find(
    (entry) => entry.repository.full === hello.full && entry.subject === first.subject,
  )
  t.equal(again?.delivery, first.delivery)
  t.equal(await started.note(hello, { id: OTHER_ID, refs: [{ ...main, before: B, after: A }] }, 'git'), 1)
})

t.test('A push that could not be noted is noted when it comes again', async (t) => {
  const { store } = await world(t, hookOf('a', { events: ['push'] }))
  const { hooks } = store
  let isDown = true
  const list = async () => await (isDown ? Promise.reject(new Error('down')) : hooks.list())
  const pushes = new Pushes({ list, outbox: hooks.outbox }, { now: () => 0 })
  const sent = { id: ID, refs: [main] }
  await t.rejects(pushes.note(hello, sent, 'git'), { message: 'down' })
  isDown = false
  t.equal(await pushes.note(hello, sent, 'git'), 1)
})

t.test('What is no push is refused, in words', async (t) => {
  const refs = [main]
  const wrong: [body: unknown, code: string, message: RegExp][] = [
    [null, 'invalid_body', /it must be object/],
    [[], 'invalid_body', /it must be object/],
    [{ id: ID }, 'invalid_body', /it must have required property 'refs'/],
    [{ id: ID, refs: [] }, 'invalid_body', /refs must NOT have fewer than 1 items/],
    [{ id: ID, refs: Array.from({ length: 51 }, () => main) }, 'invalid_body', /refs must NOT have more than 50/],
    [{ id: ID, refs: [{ ref: 'refs/heads/main' }] }, 'invalid_body', /refs\/0 must have required property/],
    [{ id: 1, refs }, 'invalid_body', /id must be string/],
    [{ id: 'x y', refs }, 'field_invalid', /^id must be a UUID/],
    [{ id: ID.toUpperCase(), refs }, 'field_invalid', /lower case/],
    [{ id: ID, pusher: 'a b', refs }, 'field_invalid', /^pusher must be/],
    [{ id: ID, pusher: 'host', refs }, 'field_invalid', /^pusher must be/],
    [{ id: ID, refs: [{ ...main, ref: 'main' }] }, 'field_invalid', /^ref must be the full name/],
    [{ id: ID, refs: [{ ...main, ref: 'refs/heads/a b' }] }, 'field_invalid', /^ref must be/],
    [{ id: ID, refs: [{ ...main, ref: 'refs/heads/../x' }] }, 'field_invalid', /^ref must be/],
    [{ id: ID, refs: [{ ...main, before: 'a' }] }, 'field_invalid', /full ids/],
    [{ id: ID, refs: [{ ...main, after: 'main' }] }, 'field_invalid', /full ids/],
    [{ id: ID, refs: [{ ...main, before: ZEROS, after: ZEROS }] }, 'field_invalid', /both be of nothing/],
  ]
  for (const [body, code, message] of wrong) t.throws(() => parsePush(body), { code, message })
  const upper = { id: ID, refs: [{ ...main, after: C.toUpperCase(), more: 1 }], more: 1 }
  t.strictSame(parsePush(upper), { id: ID, refs: [{ ...main, after: C }] })
  t.strictSame(parsePush({ id: ID, pusher: 'a@b', refs: [topic, tag] }), { id: ID, pusher: 'a@b', refs: [topic, tag] })
})
