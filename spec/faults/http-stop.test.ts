// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { besiege, type Siege } from '../fixtures/siege.js'
import { isLong, record } from './fault.js'

const cycles = isLong ? 30 : 2

/** What a client with a connection of its own has seen until it was closed. */
interface Told {
  readonly statuses: number[]
  /** Contexts whose report was answered with 201. */
  readonly acknowledged: string[]
  /** How the connection ended: `closed` with nothing of an answer, or what went wrong. */
  end: string
  /** Whether the last answer said that it was the last. */
  announced: boolean
}

t.test(
  'SIGTERM under load: whole answers or none, no 5xx, no reset; the store is closed; exit 0 in time',
  { timeout: 600_000 },
  async (t) => {
    let [acknowledged, announced] = [0, 0]
    for (let cycle = 1; cycle <= cycles; cycle++) {
      await t.test(`cycle ${cycle}`, async (t) => {
        // Long enough for all but those who are held, also where much else is done.
        const siege = await besiege(t, {
          COMMIT_STATUS_LIMIT_CLOSE_SECONDS: '6',
          COMMIT_STATUS_LIMIT_CONTEXTS: '10000',
        })
        const idle = await Promise.all(Array.from({ length: 20 }, async () => await idleClient(siege)))
        const held = await holdOpen(t, siege)
        const clients = Array.from({ length: 40 }, (_, client) => busyClient(siege, client))
        await Promise.all(clients.map(async ({ answered }) => await answered))
        await setTimeout(50 * cycle)
        const signalled = performance.now()
        const outcome = await siege.service.end('SIGTERM')
        const took = performance.now() - signalled
        t.match(outcome, { status: 0 })
        t.ok(took < 15_000, `it took ${Math.round(took)} ms, slow uploads and unread answers included`)
        const told = await Promise.all(clients.map(async ({ told }) => await told))
        const statuses = told.flatMap((client) => client.statuses)
        t.strictSame([...new Set(statuses)].sort(), [200, 201], `${statuses.length} answers`)
        t.strictSame([...new Set(told.map(({ end }) => end))], ['closed'], 'no connection was reset, no answer was cut')
        t.strictSame(
          [...new Set(await Promise.all(idle.map(async ({ closed }) => await closed)))],
          ['closed'],
          'nor was an idle connection',
        )
        const listed = await siege.place.run(['status', 'list', 'alice/hello', '--json'])
        const contexts = new Set(
          listed.stdout
            .trimEnd()
            .split('\n')
            .map((line) => (JSON.parse(line) as { context: string }).context),
        )
        t.strictSame(
          told.flatMap(({ acknowledged }) => acknowledged).filter((context) => !contexts.has(context)),
          [],
          'whatever was acknowledged is there',
        )
        for (const socket of held) socket.reset()
        for (const client of told) acknowledged += client.acknowledged.length
        announced += told.filter((client) => client.announced).length
      })
    }
    // It may be that all have just been answered, but not each time.
    t.ok(announced > 0, 'the last answers say that the connection closes')
    record(t, 'SIGTERM under load', { injected: cycles, acknowledged })
  },
)

for (const [second, status] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const) {
  t.test(`A second signal, ${second}, ends the service at once, and what was acknowledged is there`, async (t) => {
    const siege = await besiege(t, { COMMIT_STATUS_LIMIT_CLOSE_SECONDS: '60' })
    await holdOpen(t, siege)
    const idle = await idleClient(siege)
    const clients = Array.from({ length: 10 }, (_, client) => busyClient(siege, client))
    await Promise.all(clients.map(async ({ answered }) => await answered))
    siege.service.child.kill('SIGTERM')
    t.equal(await idle.closed, 'closed', 'it is stopping')
    // Within a second the same signal counts as the first one: see spec/attacks/process-groups.test.ts.
    if (second === 'SIGTERM') await setTimeout(1100)
    t.match(await siege.service.end(second), { status })
    const told = await Promise.all(clients.map(async ({ told }) => await told))
    const listed = await siege.place.run(['status', 'list', 'alice/hello', '--json'])
    const acknowledged = told.flatMap((client) => client.acknowledged)
    t.ok(acknowledged.length > 0)
    t.strictSame(
      acknowledged.filter((context) => !listed.stdout.includes(`"${context}"`)),
      [],
    )
    record(t, `SIGTERM and then ${second} under load`, { injected: 1, acknowledged: acknowledged.length })
  })
}

/** Clients that keep the service waiting: slow uploads, an answer that nobody takes, a request that is not whole. */
async function holdOpen(t: Test, { url, listPath, reportPath, token }: Siege): Promise<RawSocket[]> {
  const sockets = await Promise.all(Array.from({ length: 3 }, async () => await RawSocket.open(t, url)))
  const [upload, unread, half] = sockets
  await upload?.send(
    requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Content-Length': '1000' }),
    '{"state"',
  )
  void unread?.send(requestHead('GET', listPath).repeat(50_000)).catch(() => undefined)
  await half?.send(requestHead('GET', listPath).slice(0, -2))
  return sockets
}

/** Has asked once and keeps the connection; `closed` tells how it ended. */
async function idleClient({ url }: Siege): Promise<{ closed: Promise<string> }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const closed = new Promise<string>((resolve) => {
    socket.on('end', () => {
      resolve('closed')
    })
    socket.on('error', (error) => {
      resolve(String(error))
    })
  })
  socket.write(requestHead('GET', '/healthz'))
  await once(socket, 'data')
  return { closed }
}

/** Reports and lists by turns on one connection until it is closed; `answered` is its first answer. */
function busyClient(
  { url, listPath, reportPath, token }: Siege,
  client: number,
): { answered: Promise<unknown>; told: Promise<Told> } {
  const told: Told = { statuses: [], acknowledged: [], end: '', announced: false }
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
  let received = ''
  let report = 0
  const ask = (): void => {
    const context = `${client}-${report}`
    const body = JSON.stringify({ state: 'success', context })
    socket.write(
      report % 2 === 0
        ? requestHead('POST', reportPath, { Authorization: `Bearer ${token}`, 'Content-Length': String(body.length) }) +
            body
        : requestHead('GET', listPath),
    )
  }
  socket.on('data', (chunk: string) => {
    received += chunk
    const [, head = '', length = ''] = /^([^]*?content-length: (\d+)\r\n[^]*?\r\n\r\n)/i.exec(received) ?? []
    if (head === '' || received.length < head.length + Number(length)) return
    const status = Number(received.slice(9, 12))
    received = received.slice(head.length + Number(length))
    told.statuses.push(status)
    told.announced = /^connection: close/im.test(head)
    if (status === 201) told.acknowledged.push(`${client}-${report}`)
    report++
    if (!told.announced) ask()
  })
  ask()
  const closed = new Promise<Told>((resolve) => {
    socket.on('error', (error) => {
      told.end = String(error)
    })
    socket.on('close', () => {
      if (told.end === '') told.end = received === '' ? 'closed' : `cut after ${received}`
      resolve(told)
    })
  })
  return { answered: Promise.race([once(socket, 'data').catch(() => undefined), closed]), told: closed }
}
