import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { silentLogger } from '../../lib/contracts/logger.js'
import { noopMeter } from '../../lib/contracts/meter.js'
import { ServiceError } from '../../lib/errors.js'
import { EventStreams } from '../../lib/http/event-stream.js'
import { Exchange } from '../../lib/http/exchange.js'
import { InFlight } from '../../lib/service/in-flight.js'
import { StatusEvents } from '../../lib/service/status-events.js'
import { StatusFeeds } from '../../lib/service/status-feeds.js'
import { Watchers } from '../../lib/service/watchers.js'
import { listen } from '../fixtures/embedded.js'
import { EventReader } from '../fixtures/event-reader.js'
import { repositoryNamed } from '../fixtures/names.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { until } from '../fixtures/within.js'

/** A server that answers with events alone, each so large that no buffer of the system takes many. */
async function streaming(
  t: Test,
  pace: ConstructorParameters<typeof EventStreams>[1],
  { find = () => undefined, first = () => undefined }: { find?: () => void; first?: (to: ServerResponse) => void } = {},
) {
  const events = new StatusEvents(silentLogger)
  const none = () => {
    throw new Error('nobody asks')
  }
  const watchers = new Watchers(5, { save: none, list: none, scan: none })
  const feeds = new StatusFeeds({ events, watchers, statuses: {}, clock: { now: () => 0 } })
  const inFlight = new InFlight(5, silentLogger)
  const streams = new EventStreams({ feeds, watchers, inFlight }, pace)
  const answered: ServerResponse[] = []
  const url = await listen(t, (request: IncomingMessage, response: ServerResponse) => {
    answered.push(response)
    first(response)
    void new Exchange(request, response, 'events', { logger: silentLogger, meter: noopMeter }).answer(
      async () => await streams.answer(request, repositoryNamed('alice/hello'), find),
    )
  })
  const emit = (description: string) => {
    events.emit(() => ({
      repository: 'alice/hello',
      status: {
        ...{ id: '1', sha: 'a'.repeat(40), context: 'build', state: 'success', description, target_url: null },
        ...{ created_at: '', updated_at: '' },
      },
      previous: undefined,
      reporter: { user: 'ci', token: null },
    }))
  }
  return { url, watchers, emit, answered }
}

t.test('A client that takes nothing of what is sent to it is cut off', async (t) => {
  const { url, watchers, emit, answered } = await streaming(t, { takingMilliseconds: 500 })
  const socket = await RawSocket.open(t, url)
  await socket.send(requestHead('GET', '/'))
  const reader = await EventReader.open(t, url)
  await until(() => watchers.size === 2)
  const [response] = answered
  // What the system buffers is a few megabytes; the service holds one event.
  for (let count = 0; count < 30 && watchers.size === 2; count++) {
    emit('x'.repeat(1_000_000))
    t.match((await reader.next())?.name, /^(?:status|gap)$/)
    t.ok(Number(response?.writableLength) < 3_000_000)
  }
  await until(() => watchers.size === 1)
  t.ok(response?.destroyed)
  emit('still there')
  t.match(await reader.next(), { data: { status: { description: 'still there' } } })
})

t.test('A client that takes it slowly goes on', async (t) => {
  const { url, emit, watchers, answered } = await streaming(t, {})
  const socket = await RawSocket.open(t, url)
  await socket.send(requestHead('GET', '/'))
  await until(() => watchers.size === 1)
  const [response] = answered
  do {
    emit('x'.repeat(1_000_000))
    await new Promise(setImmediate)
  } while (!response?.writableNeedDrain)
  const drained = once(response, 'drain')
  const over = socket.ended()
  await drained
  emit('the last')
  await until(() => !response.writableNeedDrain)
  await watchers.close()
  t.match(await over, /"the last"/)
})

t.test('While nothing is reported there is a heartbeat, and the right is looked at again', async (t) => {
  let looks = 0
  let isAllowed = true
  const { url, watchers, emit } = await streaming(
    t,
    { heartbeatMilliseconds: 20, allowedMilliseconds: 50 },
    {
      find: () => {
        looks++
        if (!isAllowed) throw new ServiceError('repository_not_found')
      },
    },
  )
  const reader = await EventReader.open(t, url)
  const next = reader.next()
  await until(() => reader.comments >= 5)
  t.ok(looks > 0 && looks <= reader.comments)
  emit('a')
  t.match(await next, { name: 'status' })
  isAllowed = false
  t.equal(await reader.next(), undefined)
  await until(() => watchers.size === 0)
})

t.test('What is sent was allowed a short while ago', async (t) => {
  let isAllowed = true
  const { url, emit } = await streaming(
    t,
    { allowedMilliseconds: 0 },
    {
      find: () => {
        if (!isAllowed) throw new ServiceError('repository_not_found')
      },
    },
  )
  const reader = await EventReader.open(t, url)
  emit('a')
  t.match(await reader.next(), { name: 'status' })
  isAllowed = false
  emit('secret')
  t.equal(await reader.next(), undefined)
})

t.test('A host that has answered before gives back the place', async (t) => {
  const first = (response: ServerResponse) => void response.writeHead(200).write('the host')
  const { url, watchers } = await streaming(t, {}, { first })
  await t.rejects(fetch(url).then(async (response) => await response.text()))
  t.equal(watchers.size, 0)
})
