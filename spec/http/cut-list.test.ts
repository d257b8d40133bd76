import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t from 'tap'
import { silentLogger } from '../../lib/contracts/logger.js'
import { noopMeter } from '../../lib/contracts/meter.js'
import type { SentList } from '../../lib/domain/status-list.js'
import { Exchange } from '../../lib/http/exchange.js'
import { listen } from '../fixtures/embedded.js'

t.test(
  'A list whose store fails while it is sent is cut off, never whole to its client, and logged once',
  async (t) => {
    const errors: unknown[][] = []
    let closed = 0
    const half = Buffer.from('{"state":')
    const list: SentList = {
      digest: 'a'.repeat(22),
      length: 2 * half.length,
      summary: { state: null, statuses: 0 },
      counts: { error: 0, failure: 0, pending: 0, success: 0 },
      reporters: { digest: 'b'.repeat(22) },
      async *chunks() {
        yield half
        await new Promise(setImmediate)
        throw new Error('the disk is gone')
      },
      async *pages() {},
      close: () => {
        closed++
      },
    }
    const logger = { ...silentLogger, error: (...line: unknown[]) => void errors.push(line) }
    const url = await listen(t, (request, response) => {
      const exchange = new Exchange(request, response, 'list', { logger, meter: noopMeter })
      void exchange.answer(() => ({ status: 200, body: {}, stream: list }))
    })
    const [response] = (await once(get(url, { headers: { 'X-Request-Id': 'r1' } }), 'response')) as [IncomingMessage]
    await t.rejects(response.toArray(), { code: 'ECONNRESET' })
    t.equal(closed, 1)
    t.match(errors, [[{ request: 'r1', err: { message: 'the disk is gone' } }, 'the answer could not be sent']])
    t.equal(errors.length, 1)
  },
)
