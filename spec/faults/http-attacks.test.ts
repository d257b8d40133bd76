// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import t from 'tap'
import { besiege, honestly } from '../fixtures/siege.js'
import { isLong, record } from './fault.js'

const environment = {
  COMMIT_STATUS_LIMIT_HEADERS_SECONDS: '4',
  COMMIT_STATUS_LIMIT_REQUEST_SECONDS: '4',
  COMMIT_STATUS_LIMIT_RESPONSE_SECONDS: '2',
  COMMIT_STATUS_LIMIT_KEEP_ALIVE_SECONDS: '3',
  // Fewer than there are slow uploads.
  COMMIT_STATUS_LIMIT_REQUESTS: '100',
}

const groups: Record<string, Record<string, number>> = {
  'connections that do nothing, or little': {
    'idle connections': 5000,
    'idle connections after a request': 300,
    'slow headers': 300,
    'slow bodies': 300,
    'half-closed connections': 20,
  },
  'clients that do not read': {
    'slow readers': 10,
    'pipelined requests that nobody reads the answers of': 10,
  },
  'clients that send too much': {
    'chunked bombs': 3,
    'chunks of a byte': 2,
    'chunk extensions': 2,
    'refused uploads with an expectation': 2,
    'a header without end': 3,
    '10,000 header lines': 3,
    'aborted uploads': 20,
  },
}

/** In the long form each attack by itself, by more clients. */
const attacks = isLong
  ? Object.fromEntries(
      Object.values(groups).flatMap((group) =>
        Object.entries(group).map(([name, clients]) => [name, { [name]: Math.min(clients * 3, 9000) }]),
      ),
    )
  : groups

const MEBIBYTE = 1024 * 1024

t.test(
  'While clients attack, others are answered, memory stays flat, and the sockets are freed in time',
  { timeout: 600_000 },
  async (t) => {
    const siege = await besiege(t, environment)
    const description = 'x'.repeat(1000)
    for (let context = 0; context < 40; context++) {
      await fetch(`${siege.url}${siege.reportPath}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${siege.token}` },
        body: JSON.stringify({ state: 'success', context: `${context}`, description }),
      })
    }
    for (const [name, clients] of Object.entries(attacks)) {
      const attacking = siege.attack(clients)
      const seen = await honestly(t, siege, attacking)
      const { sockets, left, freedAfter, memory } = await attacking
      t.comment(
        `${name}: ${sockets} sockets, freed ${Math.round(freedAfter)} ms after the attack; ` +
          `${Math.round(memory / MEBIBYTE)} MiB more; ` +
          `${seen.requests} honest requests, p99 ${Math.round(seen.p99)} ms, longest ${Math.round(seen.longest)} ms`,
      )
      t.strictSame([...seen.statuses].sort(), [200, 201], `${name}: others are answered`)
      t.ok(seen.p99 < 2_000, `${name}: in time, even on a machine that is busy`)
      t.ok(memory < 400 * MEBIBYTE, `${name}: memory`)
      t.equal(left, 0, `${name}: sockets`)
      record(t, name, { injected: sockets, acknowledged: seen.requests })
    }
    t.match(await siege.service.end('SIGTERM'), { status: 0 })
  },
)
