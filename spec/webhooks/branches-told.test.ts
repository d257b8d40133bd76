import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { BranchDelivery, DeliveryResult, HookRecord } from '../../lib/contracts/hooks.js'
import { noopMeter } from '../../lib/contracts/meter.js'
import type { State } from '../../lib/domain/commit-status.js'
import { CommitContents } from '../../lib/git/commit-content.js'
import { GitProcesses } from '../../lib/git/git-process.js'
import { PushedCommits } from '../../lib/git/pushed-commits.js'
import { RefLists } from '../../lib/git/ref-lists.js'
import { RepositoryFolder } from '../../lib/git/repository-folder.js'
import { Pushes } from '../../lib/service/pushes.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { Deliverer } from '../../lib/webhooks/deliverer.js'
import { DeliveryContent } from '../../lib/webhooks/delivery-content.js'
import { PushContent } from '../../lib/webhooks/push-content.js'
import { git, makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { hookOf } from '../fixtures/hooks.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'
import { until } from '../fixtures/within.js'

const hello = repositoryNamed('alice/hello')

const OK: DeliveryResult = { kind: 'ok', status: 200, milliseconds: 5, reason: 'the answer was 200' }
const LOST: DeliveryResult = { kind: 'failed', milliseconds: 5, reason: 'no answer within 10 s' }
const LATER: DeliveryResult = { kind: 'later', retryAfterSeconds: 600, milliseconds: 0, reason: 'just before' }

/** A repository with a commit on main, and a receiver that hears what its branches come to. */
async function world(t: Test, hook: Partial<HookRecord> = {}) {
  const folder = t.testdir({ repositories: {} })
  const { directory, sha } = await makeRepositoryWithCommit(join(folder, 'repositories'), 'alice/hello')
  let store = await LevelStore.open(join(folder, 'store'))
  await store.hooks.add(hookOf('a', { events: ['broken', 'fixed'], ...hook }))
  const processes = new GitProcesses({ logger: { ...console, warn: () => undefined } })
  const repositories = new RepositoryFolder(join(folder, 'repositories'), { topOwner: 'git' })
  const contents = new CommitContents(processes)
  const pushes = new PushContent({ repositories, pushes: new PushedCommits(processes, contents) })
  const refLists = new RefLists(processes)
  const sent: BranchDelivery[] = []
  const timers = new Set<{ readonly at: number; readonly work: () => void }>()
  const quiet = () => undefined
  let latest = ''
  let time = Date.UTC(2031, 0, 31, 12)
  /** Of the next deliveries; the others are answered with 200, and `undefined` is never answered. */
  let answers: (DeliveryResult | undefined)[] = []
  const make = () => {
    const content = new DeliveryContent({
      ...{ statuses: store.statuses, outbox: store.hooks.outbox, repositories, refLists, contents, pushes },
    })
    return new Deliverer({
      hooks: store.hooks,
      sender: {
        send: async (delivery, signal) => {
          latest = delivery.id
          if (delivery.event === 'broken' || delivery.event === 'fixed') sent.push(delivery)
          const answer = answers.length === 0 ? OK : answers.shift()
          return await new Promise((resolve) => {
            if (answer) resolve(answer)
            else signal.addEventListener('abort', () => resolve(LOST))
          })
        },
      },
      contentOf: content.of.bind(content),
      clock: { now: () => time },
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      meter: noopMeter,
      later: (milliseconds, work) => {
        const timer = { at: time + milliseconds, work }
        timers.add(timer)
        return () => timers.delete(timer)
      },
      random: () => 1,
    })
  }
  let deliverer = make()
  await deliverer.start()
  const pass = (): void => {
    for (const timer of [...timers]) {
      timers.delete(timer)
      time = Math.max(time, timer.at)
      timer.work()
    }
  }
  const stop = async (): Promise<void> => {
    const closed = deliverer.close()
    pass()
    await closed
    await store.close()
  }
  t.teardown(async () => {
    await stop()
    processes.close()
  })
  return {
    ...{ directory, sha, sent },
    answers: (...next: (DeliveryResult | undefined)[]) => void (answers = next),
    /** What was sent since it was asked last. */
    told: () => sent.splice(0).map(({ event, branch }) => `${branch} ${event}`),
    report: async (state: State, id = sha, context = 'ci') =>
      await store.statuses.save(hello, commitId(id), reportOf(context, { state }), time),
    pushed: async (ref: string, before: string, after: string) =>
      await new Pushes(store.hooks, { now: () => time }).note(
        hello,
        { id: randomUUID(), refs: [{ ref, before, after }] },
        'git',
      ),
    /** Waits until the delivery that is lost is known to have failed. */
    failed: async () =>
      await until(async () => {
        const { last } = (await store.hooks.get('a')) ?? {}
        return last?.result === 'failed' && last.delivery === latest
      }),
    /** Lets time go by until nothing waits any more. */
    idle: async () =>
      await until(async () => {
        pass()
        return (await store.hooks.outbox.waiting()).size === 0
      }),
    /** Ends in the midst of everything. @param meanwhile what happens before it is there again */
    restart: async (meanwhile: () => Promise<unknown>) => {
      await stop()
      store = await LevelStore.open(join(folder, 'store'))
      await meanwhile()
      deliverer = make()
      await deliverer.start()
    },
  }
}

t.test('A branch that may have been heard of as broken is told once more what it comes to', async (t) => {
  const { report, answers, failed, idle, told } = await world(t)
  answers(LOST)
  await report('failure')
  await failed()
  await report('success')
  await idle()
  t.strictSame(told(), ['main broken', 'main fixed'])
  await report('success')
  await idle()
  t.strictSame(told(), [], 'and then no more')
  answers(OK, LOST)
  await report('failure')
  await idle()
  await report('success')
  await failed()
  await report('failure')
  await idle()
  t.strictSame(told(), ['main broken', 'main fixed', 'main broken'], 'nor is a fix taken for heard')
})

t.test('A service that ends before the answer tells what the branch has come to meanwhile', async (t) => {
  const { report, answers, restart, idle, told, sent } = await world(t)
  answers(undefined)
  await report('failure')
  await until(() => sent.length === 1)
  await restart(async () => await report('success'))
  await idle()
  t.strictSame(told(), ['main broken', 'main fixed'])
})

t.test('Of several branches those are told again of which nobody knows', async (t) => {
  const { report, answers, failed, idle, told, directory, sha, sent } = await world(t)
  for (const branch of ['stable', 'topic']) await git('-C', directory, 'branch', branch, sha)
  answers(OK, LOST)
  await report('failure')
  await failed()
  await idle()
  t.equal(sent[1]?.id, sent[2]?.id, 'as the same delivery')
  t.strictSame(told(), ['main broken', 'stable broken', 'stable broken', 'topic broken'])
  answers(OK, LOST)
  await report('success')
  await failed()
  await report('failure')
  await idle()
  t.strictSame(told(), ['main fixed', 'stable fixed', 'main broken', 'stable broken'])
})

t.test('What was not sent since it is too early leaves nothing open', async (t) => {
  const { report, answers, idle, told, sent } = await world(t)
  answers(LATER)
  await report('failure')
  await until(() => sent.length === 1)
  await report('success')
  await idle()
  t.strictSame(told(), ['main broken'])
})

t.test('What a commit came to before a branch was moved to it is told with the push', async (t) => {
  const { report, pushed, idle, told, directory, sha } = await world(t)
  const next = await makeCommit(directory, 'next')
  await git('-C', directory, 'update-ref', 'refs/heads/topic', next)
  await git('-C', directory, 'update-ref', 'refs/heads/main', sha)
  await report('failure', next)
  await idle()
  t.strictSame(told(), ['topic broken'])
  await git('-C', directory, 'update-ref', 'refs/heads/main', next)
  await pushed('refs/heads/main', sha, next)
  await idle()
  t.strictSame(told(), ['main broken'])
})

t.test('Every branch with the tip is told of, however many come before it by their names', async (t) => {
  const { report, idle, told, directory, sha } = await world(t)
  const others = Array.from({ length: 10 }, (_, index) => `a${index}`)
  for (const branch of others) await git('-C', directory, 'branch', branch, sha)
  await report('failure')
  await idle()
  t.strictSame(
    told(),
    [...others, 'main'].map((branch) => `${branch} broken`),
  )
})

t.test('A hook that hears of broken alone hears of each', async (t) => {
  const { report, answers, failed, idle, told } = await world(t, { events: ['broken'] })
  answers(LOST)
  await report('failure')
  await failed()
  await report('success')
  await idle()
  await report('failure')
  await idle()
  t.strictSame(told(), ['main broken', 'main broken'])
})
