// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import t, { type Test } from 'tap'
import { makeCommit } from '../fixtures/git.js'
import { hostCommit } from '../fixtures/hosted-commit.js'
import { record } from './fault.js'

const START = Date.parse('2026-01-31T12:00:00.000Z')
const HOUR = 3_600_000
const YEARS = 10 * 365 * 24 * HOUR

const steps: Record<string, number> = { 'an hour back': -HOUR, 'ten years ahead': YEARS, 'and back again': 0 }

/** A wall clock that somebody sets: what the service asks for the time, and what libraries do. */
function wallClock(t: Test): { now: () => number; set(time: number): void } {
  let [time, from] = [START, performance.now()]
  const clock = {
    now: () => Math.floor(time + performance.now() - from),
    set: (to: number) => {
      ;[time, from] = [to, performance.now()]
    },
  }
  t.intercept(Date, 'now', { value: clock.now })
  return clock
}

t.test(
  'updated_at never goes backwards for a context, wherever the clock goes; what is new has the time that it is',
  async (t) => {
    const clock = wallClock(t)
    const { report, list } = await hostCommit(t, { clock })
    const time = (status: unknown): number => Date.parse(String(status))
    let latest = time((await report({ state: 'pending' })).body['updated_at'])
    for (const [what, step] of Object.entries(steps)) {
      clock.set(START + step)
      const { status, body } = await report({ state: 'success' })
      t.equal(status, 201, what)
      t.ok(time(body['updated_at']) >= latest, `${what}: not earlier than before`)
      t.ok(time(body['created_at']) <= time(body['updated_at']))
      latest = time(body['updated_at'])
      const fresh = (await report({ state: 'success', context: what })).body
      t.ok(
        Math.abs(time(fresh['created_at']) - (START + step)) < HOUR / 2,
        `${what}: a new context has the time of the clock`,
      )
    }
    t.ok(latest >= START + YEARS)
    const { body } = await list()
    t.match(body['statuses'], [
      { context: 'an hour back' },
      { context: 'and back again' },
      { context: 'default', updated_at: new Date(latest).toISOString() },
      { context: 'ten years ahead' },
    ])
  },
)

t.test(
  'A step under load: every report is answered, and the last time that was told is the one that is listed',
  async (t) => {
    const clock = wallClock(t)
    const { service, repository, token, directory, report, sha } = await hostCommit(t, { clock })
    const told: string[][] = [[], [], [], []]
    const settings = [0, -HOUR, YEARS, -YEARS, 0]
    const ended = new AbortController()
    const load = told.map(async (times, context) => {
      while (!ended.signal.aborted) {
        const { status, body } = await report({ state: 'success', context: `context ${context}` })
        if (status !== 201) t.fail(`a report was answered with ${status}`)
        times.push(String(body['updated_at']))
      }
    })
    for (const setting of settings) {
      clock.set(START + setting)
      const [before] = told.map((times) => times.length)
      while (told.some((times) => times.length < (before ?? 0) + 5)) await new Promise(setImmediate)
      // Pushed and found while the clock is wrong.
      t.equal(
        (await service.report(repository, await makeCommit(directory, String(setting)), token, { state: 'success' }))
          .status,
        201,
      )
    }
    ended.abort()
    await Promise.all(load)
    const listed = (await service.list(repository, sha)).body['statuses'] as { context: string; updated_at: string }[]
    for (const [context, times] of told.entries()) {
      t.strictSame(times, times.toSorted(), `${times.length} reports, none earlier than the one before`)
      t.equal(listed.find((status) => status.context === `context ${context}`)?.updated_at, times.at(-1))
    }
    record(t, 'the clock is set under load', { injected: settings.length, acknowledged: told.flat().length })
  },
)

t.test('A token expires by the wall clock', async (t) => {
  const clock = wallClock(t)
  const { service, repository, sha } = await hostCommit(t, { clock })
  const { token } = await service.admin.createToken({
    user: 'alice',
    name: '',
    scopes: ['repo'],
    expiresAt: new Date(START + HOUR).toISOString(),
  })
  const at = async (time: number): Promise<number> => {
    clock.set(START + time)
    return (await service.list(repository, sha, token)).status
  }
  t.strictSame(
    [await at(0), await at(-YEARS), await at(HOUR - 60_000), await at(HOUR), await at(YEARS), await at(HOUR / 2)],
    [200, 200, 200, 401, 401, 200],
  )
})

t.test('The budget of failed log-ins and Retry-After do not see the clock being set', async (t) => {
  const clock = wallClock(t)
  const { service, repository, sha, token } = await hostCommit(t, {
    clock,
    settings: { authFailures: { limit: 3, windowSeconds: 600 } },
  })
  const statuses: number[] = []
  for (const step of [0, YEARS, -HOUR]) {
    clock.set(START + step)
    statuses.push((await service.list(repository, sha, 'cst_wrong')).status)
  }
  t.strictSame(statuses, [401, 401, 401], 'failures before and after a step are counted together')
  for (const [what, step] of Object.entries(steps)) {
    clock.set(START + step)
    const { status, headers } = await service.list(repository, sha, token)
    t.equal(status, 429, what)
    const seconds = Number(headers.get('retry-after'))
    t.ok(seconds > 300 && seconds <= 600, `${what}: ${seconds} seconds`)
    t.equal((await service.list(repository, sha)).status, 200, 'who sends no credentials goes on')
  }
})
