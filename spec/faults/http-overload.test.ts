// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { besiege } from '../fixtures/siege.js'
import { isLong, record } from './fault.js'

const seconds = isLong ? 20 : 1

/** Contexts of a client; 150 of them have 9,000. */
const MAX_SAVED = 60

t.test(
  'More reports at once than are taken: those above are refused at once, health is told all the time, and the end of ' +
    'the load is the end of it',
  { timeout: 600_000 },
  async (t) => {
    const siege = await besiege(t, {
      COMMIT_STATUS_LIMIT_REQUESTS: '8',
      COMMIT_STATUS_LIMIT_CONTEXTS: '10000',
    })
    const body = (context: string) => JSON.stringify({ state: 'success', context })
    const report = (context: string) =>
      requestHead('POST', siege.reportPath, {
        Authorization: `Bearer ${siege.token}`,
        'Content-Length': String(body(context).length),
      }) + body(context)
    const load = { over: false }
    const acknowledged = new Set<string>()
    const statuses = new Map<number, number>()
    const clients = Array.from({ length: 150 }, async (_, client) => {
      const socket = await RawSocket.open(t, siege.url)
      // A commit has a limit: once so many are saved, the same ones are reported again.
      const saved: string[] = []
      for (let count = 0; !load.over; count++) {
        const context = saved[count % MAX_SAVED] ?? `${client}-${count}`
        await socket.send(report(context))
        const { status, headers } = await socket.answer()
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 201) {
          acknowledged.add(context)
          if (saved.length < MAX_SAVED) saved.push(context)
        }
        if (status === 503 && headers.get('retry-after') !== '1') t.fail('a refusal without Retry-After')
      }
    })
    const health = await RawSocket.open(t, siege.url)
    const times: number[] = []
    const healthy = async () => {
      const start = performance.now()
      await health.send(requestHead('GET', '/healthz'))
      const { status } = await health.answer()
      times.push(performance.now() - start)
      return status
    }
    const end = performance.now() + seconds * 1000
    while (performance.now() < end) {
      if ((await healthy()) !== 200) t.fail('no health')
      await setTimeout(10)
    }
    load.over = true
    await Promise.all(clients)
    times.sort((one, other) => one - other)
    t.comment(
      `${seconds} s: ${JSON.stringify(Object.fromEntries(statuses))}; health after ` +
        `${Math.round(times[Math.floor(times.length / 2)] ?? 0)} ms, at most ${Math.round(times.at(-1) ?? 0)} ms`,
    )
    t.strictSame([...statuses.keys()].sort(), [201, 503])
    await health.send(report('after'))
    t.equal((await health.answer()).status, 201)
    const listed = (await siege.place.run(['status', 'list', 'alice/hello', '--json'])).stdout.trimEnd().split('\n')
    const contexts = listed.map((line) => (JSON.parse(line) as { context: string }).context)
    t.strictSame(
      contexts.sort(),
      [...acknowledged, 'after'].sort(),
      'what was acknowledged is there, and nothing that was refused',
    )
    t.match(await siege.service.end('SIGTERM'), { status: 0 })
    record(t, 'more reports at once than are taken', {
      injected: statuses.get(503) ?? 0,
      acknowledged: acknowledged.size,
    })
  },
)
