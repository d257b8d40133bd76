// A process of its own: how long others wait is measured.
// Verdicts that are dear, asked for by nobody in particular. 100 anonymous requests with 50 patterns of 127 parts each,
// on a commit with 1,000 long contexts, took the whole process for 8 s; while 100 waited, so did each report on it.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { writeExport } from '../fixtures/export-file.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'

/** As many as may be: contexts of a commit, `*` of a request. */
const CONTEXTS = 1_000
const PATTERN = '*a'.repeat(100)
const PREFIX = 'a'.repeat(249)

t.test('100 dear verdicts at once make nobody else wait, and 50 patterns of 127 parts are refused', async (t) => {
  const { verdict, meanwhile } = await serve(t)
  const patterns = Array.from({ length: 50 }, () => `require=${'*a'.repeat(127)}`).join('&')
  const refused = await answer(verdict(patterns))
  t.match(refused, { status: 422, text: '{"error":"require must have at most 100 * altogether"}\n' })
  const answers = await meanwhile(
    async () => await Promise.all(Array.from({ length: 100 }, async (_, n) => await answer(asked(verdict, n)))),
  )
  for (const { status } of answers) t.equal(status, 200)
})

t.test('While 100 wait for dear verdicts, reports on the commit make nobody else wait', async (t) => {
  const { verdict, meanwhile, report } = await serve(t)
  // What nobody has reported is pending: so each waits.
  const waiting = Array.from({ length: 100 }, async (_, n) => await answer(asked(verdict, n, '&require=none'), 20))
  const reports = await meanwhile(async () => {
    const statuses: (number | undefined)[] = []
    for (let n = 0; n < 3; n++) statuses.push(await report(`${PREFIX}00000${n}`))
    return statuses
  })
  t.strictSame(reports, [201, 201, 201])
  t.equal(await report('none'), 201)
  for (const { status } of await Promise.all(waiting)) t.equal(status, 200)
})

/** A question that nobody else has asked. */
function asked(verdict: (query: string) => string, n: number, more = ''): string {
  return verdict(`require=${PATTERN}&by=alice&stale=${n + 1}w${more}`)
}

/** A service with a public commit of many contexts, and another one that others look at. */
async function serve(t: Test) {
  const place = new CommandPlace(t.testdir())
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/large', { public: true })
  const small = await makeRepositoryWithCommit(place.repositories, 'bob/small', { public: true })
  const file = join(place.folder, 'export')
  const description = 'd'.repeat(1024)
  await writeExport(file, { name: 'alice/large', sha, contexts: CONTEXTS - 1, description, prefix: PREFIX })
  t.match(await place.run(['store', 'import', file]), { status: 0 })
  const { url } = await place.serve(t, { environment: { COMMIT_STATUS_LOG_LEVEL: 'error' } })
  const token = await place.tokenOf('alice')
  const others = [
    '/healthz',
    `/api/v1/repos/bob/small/commits/${small.sha}/statuses`,
    `/repos/bob/small/badge.svg?context=c`,
  ].map((path) => url + path)

  /** What others get while something is done: always 200, and within a second. */
  const meanwhile = async <T>(work: () => Promise<T>): Promise<T> => {
    const state = { over: false }
    const waits: number[] = []
    const visitors = others.map(async (other) => {
      while (!state.over) {
        const start = performance.now()
        t.equal((await answer(other)).status, 200, other)
        waits.push(performance.now() - start)
      }
    })
    const begun = performance.now()
    const result = await work()
    const took = performance.now() - begun
    state.over = true
    await Promise.all(visitors)
    const longest = Math.max(...waits)
    t.comment(`longest wait of the others: ${Math.round(longest)} ms, of the attack ${Math.round(took)} ms`)
    // Less than three seconds, or on a machine that is busy with other things a part of what the attack takes.
    t.ok(longest < Math.max(3000, took / 4), 'others go on')
    return result
  }
  const verdict = (query: string) => `${url}/api/v1/repos/alice/large/commits/${sha}/verdict?${query}`
  const report = async (context: string) => {
    const response = await fetch(`${url}/api/v1/repos/alice/large/statuses/${sha}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
      body: JSON.stringify({ state: 'success', context }),
    })
    await response.arrayBuffer()
    return response.status
  }
  return { verdict, meanwhile, report }
}

/** Asks on a connection of its own. @param seconds how long it may wait for a change */
async function answer(url: string, seconds?: number) {
  const headers = seconds === undefined ? {} : { Prefer: `wait=${seconds}` }
  const [response] = (await once(get(url, { agent: false, headers }), 'response')) as [IncomingMessage]
  return { status: response.statusCode, text: (await response.toArray()).join('') }
}
