// A branch that is not there makes the service start git two or three times, and there was one queue for all
// repositories. One anonymous client who asked a public one for 230 such names at once, over and over, filled it: half
// of the pages, badges and calls by branch of all the others were 503. Repositories take turns, and where the queue is
// full, the one that most wait for loses a place.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { until } from '../fixtures/within.js'

const CONNECTIONS = 230

/**
 * How long others may have to wait for an answer, which is some git calls that have 5 s each; that they get one is what
 * shows. Longer in proportion where a machine is busy with other things.
 */
const MAX_MILLISECONDS = 10_000
const MAX_TIMES = 50

/** After how long a client that was refused asks again: sooner, it would be a flood of answers and of nothing else. */
const PAUSE_MILLISECONDS = 10

/** Another one is visited each time, since what git has said of one is remembered for two seconds. */
const OTHERS = 12

for (const [what, attacked] of [
  ['a repository', 1],
  ['ten repositories', 10],
] as const) {
  t.test(`${CONNECTIONS} connections ask ${what} for missing branches: others are answered, in time`, async (t) => {
    const place = new CommandPlace(t.testdir())
    const { directory, sha } = await makeRepositoryWithCommit(place.repositories, 'bob/open', { public: true })
    const copy = (name: string) => {
      cpSync(directory, join(place.repositories, `${name}.git`), { recursive: true })
      return name
    }
    for (let index = 0; index < attacked; index++) copy(`mallory/open-${index}`)
    const others = Array.from({ length: OTHERS }, (_, index) => copy(`bob/open-${index}`))
    const { url } = await place.serve(t, { environment: { COMMIT_STATUS_LOG_LEVEL: 'silent' } })

    const quiet: Seen[] = []
    for (const name of others.slice(0, 2)) quiet.push(...(await visit(t, url, name, sha)))
    const attack = await attackOn(t, url, attacked)
    await until(() => attack.answers.length > CONNECTIONS)
    const seen: Seen[] = []
    for (const name of others.slice(4)) seen.push(...(await visit(t, url, name, sha)))
    await attack.end()
    for (const name of others.slice(2, 4)) quiet.push(...(await visit(t, url, name, sha)))
    const [usual, longest] = [longestOf(quiet), longestOf(seen)]
    t.comment(`${attack.answers.length} answers to it; of others, the longest took ${longest} ms, usually ${usual}`)
    t.strictSame(
      seen.filter(({ status }) => status !== 200),
      [],
    )
    t.ok(longest < Math.max(MAX_MILLISECONDS, usual * MAX_TIMES), `the longest took ${longest} ms`)
    t.ok(attack.answers.includes(503), 'the queue was full')
  })
}

/** Begins it; each connection asks for another name as soon as it has been answered. */
async function attackOn(t: Test, url: string, repositories: number) {
  const answers: number[] = []
  const state = { isOver: false }
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, async () => await RawSocket.open(t, url)))
  const clients = sockets.map(async (socket, client) => {
    for (let asked = 0; !state.isOver; asked++) {
      const path = `/api/v3/repos/mallory/open-${client % repositories}/commits/no-${client}-${asked}/status`
      await socket.send(requestHead('GET', path))
      const { status } = await socket.answer()
      answers.push(status)
      if (status === 503) await setTimeout(PAUSE_MILLISECONDS)
    }
  })
  const end = async () => {
    state.isOver = true
    await Promise.all(clients)
  }
  return { answers, end }
}

interface Seen {
  readonly path: string
  readonly status: number
  readonly milliseconds: number
}

function longestOf(seen: readonly Seen[]): number {
  return Math.round(Math.max(...seen.map(({ milliseconds }) => milliseconds)))
}

/** Looks at what people and programs look at, as a client of its own. */
async function visit(t: Test, url: string, name: string, sha: string): Promise<readonly Seen[]> {
  const socket = await RawSocket.open(t, url)
  const seen: Seen[] = []
  for (const path of [
    '/healthz',
    `/api/v1/repos/${name}/commits/${sha}/statuses`,
    `/repos/${name}/badge.svg`,
    `/repos/${name}`,
    `/api/v3/repos/${name}/commits/main/status`,
  ]) {
    const start = performance.now()
    await socket.send(requestHead('GET', path))
    const { status } = await socket.answer()
    seen.push({ path, status, milliseconds: performance.now() - start })
  }
  socket.end()
  return seen
}
