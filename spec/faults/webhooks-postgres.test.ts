// A process of its own: what it does to processes reaches no other spec.
import type { Test } from 'tap'
import { STATES } from '../../lib/domain/commit-status.js'
import { CommandPlace, type Served } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { isMissing, PostgresServer, sql } from '../fixtures/postgres.js'
import { receiver } from '../fixtures/receiver.js'
import { within } from '../fixtures/within.js'
import { fault } from './fault.js'

/** How long what waits may take until it is told: a lease has to end before, and ten are told in a second. */
const PATIENCE_MILLISECONDS = 90_000

const CONTEXTS = Array.from({ length: 12 }, (_, index) => `ci/${index}`)

/** As many as may wait for a hook. */
const MANY = 10_000

interface Told {
  readonly context: string
  readonly description: string
  readonly state: string
  readonly updated_at: string
}

fault(
  'kill -9 of the instance on PostgreSQL that sends webhooks',
  { short: 1, long: 20 },
  async (t, times) => {
    const { place, url, sha, token, hook } = await start(t)
    let [isHeld, held, acknowledged, number] = [false, 0, 0, 0]
    const told: Told[] = []
    const { received, url: receiverUrl } = await receiver(t, (response) => {
      const body = received.pop()?.body
      if (isHeld || body === undefined) held++
      else {
        told.push(JSON.parse(body) as Told)
        response.writeHead(204).end()
      }
    })
    const serve = async (): Promise<Served> => await place.serve(t, { environment: { COMMIT_STATUS_STORE: url } })
    const headers = { Authorization: `Bearer ${token}` }
    const report = async (service: Served, context: string): Promise<void> => {
      const body = JSON.stringify({ context, state: STATES[number % STATES.length], description: String(++number) })
      const at = `${service.url}/api/v1/repos/alice/hello/statuses/${sha}`
      const answer = await fetch(at, { method: 'POST', headers, body }).catch(() => undefined)
      if (answer?.status === 201) acknowledged++
    }
    await hook(receiverUrl)
    // The first that is there sends.
    let [sending, other] = [await serve(), await serve()]
    const missing = async (): Promise<readonly Told[]> => {
      const answer = await fetch(`${other.url}/api/v1/repos/alice/hello/commits/${sha}/statuses`, { headers })
      const { statuses } = (await answer.json()) as { statuses: Told[] }
      return statuses.filter(({ context, description }) => {
        return told.findLast((one) => one.context === context)?.description !== description
      })
    }
    let longestUnavailabilityMs = 0
    for (let cycle = 0; cycle < times; cycle++) {
      // At every other time while a receiver has not answered.
      isHeld = cycle % 2 === 0
      const before = held
      const reports = CONTEXTS.map(async (context, index) => await report(index % 2 === 0 ? sending : other, context))
      await Promise.race(reports)
      if (isHeld) await within(PATIENCE_MILLISECONDS, () => held > before)
      await sending.end('SIGKILL')
      isHeld = false
      const begun = performance.now()
      await Promise.all(reports)
      t.ok(
        await within(PATIENCE_MILLISECONDS, async () => (await missing()).length === 0),
        'all that was saved is told',
      )
      longestUnavailabilityMs = Math.max(longestUnavailabilityMs, Math.round(performance.now() - begun))
      ;[sending, other] = [other, await serve()]
    }
    const latest = new Map<string, string>()
    const wrong = told.filter(({ context, updated_at }) => {
      const isOld = updated_at < (latest.get(context) ?? '')
      latest.set(context, updated_at)
      return isOld
    })
    return {
      injected: times,
      acknowledged,
      lost: (await missing()).length,
      wrong: wrong.length,
      longestUnavailabilityMs,
    }
  },
  isMissing,
)

fault(
  'a start on PostgreSQL while 10,000 deliveries wait',
  { short: 1, long: 5 },
  async (t, times) => {
    const { place, url, sha, hook } = await start(t)
    const { received, url: receiverUrl } = await receiver(t)
    const id = await hook(receiverUrl)
    await sql(
      url,
      `INSERT INTO commit_status.statuses (repository, sha, context, id, state, created_at, updated_at)
       SELECT 'alice/hello/', decode($1, 'hex'), convert_to('ci/' || n, 'UTF8'), n::text, 'success', 0, 0
       FROM generate_series(1, ${MANY}) AS n`,
      [sha],
    )
    await sql(
      url,
      `INSERT INTO commit_status.outbox (repository, hook, subject, delivery, since)
       SELECT 'alice/hello/', $2, convert_to($1 || '/ci/' || n, 'UTF8'), gen_random_uuid(), n
       FROM generate_series(1, ${MANY}) AS n`,
      [sha, id],
    )
    let [longestUnavailabilityMs, wrong] = [0, 0]
    const told = new Set<string>()
    for (let turn = 0; turn < times; turn++) {
      const begun = performance.now()
      const service = await place.serve(t, { environment: { COMMIT_STATUS_STORE: url } })
      const healthy = await fetch(`${service.url}/healthz`)
      longestUnavailabilityMs = Math.max(longestUnavailabilityMs, Math.round(performance.now() - begun))
      if (healthy.status !== 200) wrong++
      received.length = 0
      if (!(await within(PATIENCE_MILLISECONDS, () => received.length >= 5))) wrong++
      await service.end('SIGTERM')
      const contexts = received.map(({ body }) => (JSON.parse(body) as Told).context)
      for (const context of contexts) told.add(context)
      // The oldest first, one after the other, none twice.
      const expected = Array.from({ length: told.size }, (_, index) => `ci/${index + 1}`)
      if ([...told].join() !== expected.join()) wrong++
    }
    const [row] = await sql(url, 'SELECT count(*)::int AS count FROM commit_status.outbox')
    return {
      injected: times,
      acknowledged: told.size,
      lost: Math.abs(MANY - told.size - Number(row?.['count'])),
      wrong,
      longestUnavailabilityMs,
    }
  },
  isMissing,
)

/** A database, a repository, and who reports. */
async function start(t: Test) {
  const server = await PostgresServer.start(t)
  const url = await server.database()
  const place = new CommandPlace(t.testdir())
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const run = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await place.run(args, { environment: { COMMIT_STATUS_STORE: url } })
    if (status !== 0) throw new Error(stderr)
    return stdout
  }
  const token = (await run('token', 'create', 'alice')).trimEnd().split('\n').at(-1) ?? ''
  const hook = async (receiver: string): Promise<string> => {
    const { id } = JSON.parse(await run('hook', 'create', 'alice/hello', receiver, '--json')) as { id: string }
    return id
  }
  return { place, url, sha, token, hook }
}
