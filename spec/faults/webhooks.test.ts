// A process of its own: what it does to processes reaches no other spec.
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { STATES } from '../../lib/domain/commit-status.js'
import { CommandPlace, type Served } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { receiver, type Receiver } from '../fixtures/receiver.js'
import { until, within } from '../fixtures/within.js'
import { fault } from './fault.js'

/** How long what waits may take until it is told: ten in a second, and pauses of those that have failed. */
const PATIENCE_MILLISECONDS = 60_000

const CONTEXTS = Array.from({ length: 12 }, (_, index) => `ci/${index}`)

interface Told {
  readonly context: string
  readonly description: string
  readonly state: string
}

fault('kill -9 between reports and webhooks', { short: 5, long: 50 }, async (t, times) => {
  const world = await start(t)
  let [isHeld, held] = [false, 0]
  const told: Receiver = await receiver(t, (response) => {
    if (!isHeld) response.writeHead(204).end()
    else {
      // It has heard nothing.
      told.received.pop()
      held++
    }
  })
  await world.hook(told.url)
  let longestUnavailabilityMs = 0
  for (let cycle = 0; cycle < times; cycle++) {
    // Before anything is told, and at every other time while a receiver has not answered.
    isHeld = cycle % 2 === 1
    const [reports, before] = [world.reportAll(), held]
    await Promise.race(reports)
    if (isHeld) await until(() => held > before)
    await world.restart('SIGKILL', () => (isHeld = false))
    const start = performance.now()
    await Promise.all(reports)
    t.ok(await world.isTold(told), 'all that was saved is told')
    longestUnavailabilityMs = Math.max(longestUnavailabilityMs, Math.round(performance.now() - start))
  }
  return {
    injected: times,
    acknowledged: world.acknowledged,
    ...(await world.judge(told)),
    longestUnavailabilityMs,
  }
})

fault(
  'webhook receivers that are endless, redirect, are gone, busy or down',
  { short: 1, long: 10 },
  async (t, times) => {
    const world = await start(t)
    const inner = await receiver(t)
    const answering = async (answer: (response: ServerResponse) => void) => await receiver(t, answer)
    const honest = await receiver(t)
    const endless = await answering((response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      }
      response.on('drain', more).writeHead(200)
      more()
    })
    const redirecting = await answering((response) => response.writeHead(302, { Location: inner.url }).end())
    const gone = await answering((response) => response.writeHead(410).end())
    const busy = await answering((response) => response.writeHead(429, { 'Retry-After': '3600' }).end())
    let isUp = false
    const down = await answering((response) => (isUp ? response.writeHead(200).end() : response.destroy()))
    const ids = new Map<Receiver, string>()
    for (const one of [honest, endless, redirecting, gone, busy, down]) ids.set(one, await world.hook(one.url))
    const stateOf = async (one: Receiver) => (await world.hooks()).find(({ id }) => id === ids.get(one))
    for (let turn = 0; turn < times; turn++) {
      await Promise.all(world.reportAll())
      for (const one of [honest, endless]) await world.isTold(one)
    }
    t.ok(await within(PATIENCE_MILLISECONDS, async () => (await stateOf(gone))?.state === 'stopped'), '410 stops')
    for (const one of [redirecting, busy, down])
      t.ok(await within(PATIENCE_MILLISECONDS, async () => (await stateOf(one))?.failing_since !== undefined))
    t.equal(inner.received.length, 0, 'nothing goes where an answer redirects')
    t.equal(busy.received.length, 1, 'who is busy is left in peace')
    t.equal(gone.received.length, 1, 'and who is gone')
    isUp = true
    const start_ = performance.now()
    await world.run('hook', 'resume', ids.get(down) ?? '')
    await world.isTold(down)
    const longestUnavailabilityMs = Math.round(performance.now() - start_)
    const judged = await Promise.all([honest, endless, down].map(async (one) => await world.judge(one)))
    const sum = (of: 'lost' | 'wrong') => judged.reduce((all, { [of]: count }) => all + count, 0)
    return {
      injected: times * 5,
      acknowledged: world.acknowledged,
      lost: sum('lost'),
      wrong: sum('wrong'),
      longestUnavailabilityMs,
    }
  },
)

/** A service, its webhooks, and who reports. */
async function start(t: Test) {
  const place = new CommandPlace(t.testdir())
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const token = await place.tokenOf('alice')
  let service: Served = await place.serve(t)
  let [number, acknowledged] = [0, 0]
  const headers = { Authorization: `Bearer ${token}` }
  const at = (path: string) => `${service.url}/api/v1/repos/alice/hello/${path}`
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await place.run(args)
    if (status !== 0) throw new Error(stderr)
    return stdout
  }
  /** @returns whether it was taken */
  const report = async (context: string): Promise<boolean> => {
    const state = STATES[Math.floor(Math.random() * STATES.length)]
    const body = JSON.stringify({ context, state, description: String(++number) })
    const status = await fetch(at(`statuses/${sha}`), { method: 'POST', headers, body }).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 201) acknowledged++
    return status === 201
  }
  const stored = async () => {
    const answer = await fetch(at(`commits/${sha}/statuses`), { headers })
    return ((await answer.json()) as { statuses: Told[] }).statuses
  }
  const toldTo = ({ received }: Receiver) =>
    received.map(({ body }) => JSON.parse(body) as Told & { updated_at: string })
  const missingAt = async (told: Receiver) => {
    const all = toldTo(told)
    return (await stored()).filter(({ context, description, state }) => {
      const last = all.findLast((one) => one.context === context)
      return last?.description !== description || last.state !== state
    })
  }
  return {
    run,
    get acknowledged() {
      return acknowledged
    },
    hook: async (url: string) => {
      const { id } = JSON.parse(await run('hook', 'create', 'alice/hello', url, '--json')) as { id: string }
      return id
    },
    hooks: async () =>
      (await run('hook', 'list', '--json'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { id: string; state: string; failing_since?: string }),
    reportAll: () => CONTEXTS.map(report),
    /** @param ended is called before the next one starts */
    restart: async (signal: NodeJS.Signals, ended: () => void) => {
      await service.end(signal)
      ended()
      service = await place.serve(t)
    },
    /** Waits until everything is told. */
    isTold: async (told: Receiver) =>
      await within(PATIENCE_MILLISECONDS, async () => (await missingAt(told)).length === 0),
    /** What was never told, and what was told out of its order. */
    judge: async (told: Receiver) => {
      const latest = new Map<string, string>()
      const wrong = toldTo(told).filter(({ context, updated_at }) => {
        const isOld = updated_at < (latest.get(context) ?? '')
        latest.set(context, updated_at)
        return isOld
      })
      return { lost: (await missingAt(told)).length, wrong: wrong.length }
    },
  }
}
