// A private repository that takes longer to be refused than one that does not exist gives away its name to whoever asks
// often enough. Once it took 2.8 µs longer, and 30,000 requests of each were enough to tell.
import t, { type Test } from 'tap'
import { projectNumber } from '../../lib/http/compatible/numbers.js'
import { isLong, record } from '../faults/fault.js'
import { CommandPlace } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { RawSocket, requestHead } from '../fixtures/raw-socket.js'
import { RightsProgram } from '../fixtures/rights-program.js'

const ROUNDS = isLong ? 30_000 : 300

/** Of all rounds, these parts at both ends are left out: there something else went on on the machine. */
const TRIMMED = 0.1

/** So many standard errors apart are no chance. */
const APART = 5

/** What the kernel takes to walk into a folder that is there: the same is asked of it for both. */
const WALK_MICROSECONDS = 1

/** Of each kind, so that the peculiarities of a name do not count. */
const NAMES = 8
const kinds = {
  private: (index: number) => `alice/private-${index}`,
  missing: (index: number) => `alice/missing-${index}`,
  /** The control: what two of one kind differ by. */
  another: (index: number) => `alice/another-${index}`,
}
type Kind = keyof typeof kinds

/** Who tells rights: the service itself; or a program, which then knows what it has said once. */
const SOURCES = ['owners and grants', 'a program of the git server'] as const

async function serve(t: Test, source: (typeof SOURCES)[number]) {
  const place = new CommandPlace(t.testdir())
  const program = new RightsProgram(place.folder)
  program.allow(...Array.from({ length: NAMES }, (_, index) => `${kinds.private(index)} alice RW`))
  const rights = { COMMIT_STATUS_RIGHTS_COMMAND: program.command.join(' '), COMMIT_STATUS_RIGHTS_SECONDS: '3600' }
  let sha = ''
  for (let index = 0; index < NAMES; index++)
    ({ sha } = await makeRepositoryWithCommit(place.repositories, kinds.private(index)))
  const { url } = await place.serve(t, {
    environment: { COMMIT_STATUS_LOG_LEVEL: 'error', ...(source !== SOURCES[0] && rights) },
  })
  const tokenOf = async (...args: string[]) =>
    (await place.run(['token', 'create', ...args])).stdout.trimEnd().split('\n').at(-1) ?? ''
  return { url, sha, token: await tokenOf('bob'), limited: await tokenOf('alice', '--repository', 'alice/other') }
}

for (const source of SOURCES)
  t.test(`A private repository is refused in the time of a missing one, with the rights of ${source}`, async (t) => {
    const { url, sha, token, limited } = await serve(t, source)
    const list = (name: string) => `/api/v1/repos/${name}/commits/${sha}/statuses`
    const page = (name: string) => `/repos/${name}/commits/${sha}`
    const project = (name: string) => `/api/v4/projects/${projectNumber(name)}`
    for (const [what, pathOf, headers] of [
      ['lists, anonymous', list, {}],
      ['lists of a user without a right', list, { Authorization: `Bearer ${token}` }],
      ['lists of the owner, with a token for another repository', list, { Authorization: `Bearer ${limited}` }],
      ['pages, anonymous', page, {}],
      ['projects by their number, of a user without a right', project, { 'PRIVATE-TOKEN': token }],
    ] as const) {
      const socket = await RawSocket.open(t, url)
      const ask = async (name: string): Promise<[number, string]> => {
        const request = requestHead('GET', pathOf(name), headers)
        const start = performance.now()
        await socket.send(request)
        const { status, text } = await socket.answer()
        const microseconds = (performance.now() - start) * 1000
        // The link to sign in leads back to the address that was asked for.
        return [microseconds, `${status} ${text.replaceAll(/\?return=[^"]*/g, '')}`]
      }
      const answers = new Set<string>()
      const beyond: Record<'private' | 'another', number[]> = { private: [], another: [] }
      for (let round = -ROUNDS / 10; round < ROUNDS; round++) {
        const times: Record<Kind, number> = { private: 0, missing: 0, another: 0 }
        // Each is as often before and after each of the others.
        for (const kind of orders[Math.floor(Math.random() * orders.length)] ?? []) {
          const [microseconds, answer] = await ask(kinds[kind](Math.abs(round) % NAMES))
          times[kind] = microseconds
          answers.add(answer)
        }
        // What comes first is slow for reasons of its own.
        if (round < 0) continue
        beyond.private.push(times.private - times.missing)
        beyond.another.push(times.another - times.missing)
      }
      t.equal(answers.size, 1, 'one and the same answer')
      const [difference, control] = [trimmed(beyond.private), trimmed(beyond.another)]
      const found = `private - missing: ${shown(difference)}; missing - missing: ${shown(control)}`
      t.comment(`${source}, ${what}: ${found}`)
      if (isLong) t.ok(Math.abs(difference.mean) < Math.max(WALK_MICROSECONDS, APART * difference.error), found)
      record(t, `${ROUNDS} ${what}: ${found}`, {
        injected: ROUNDS,
        acknowledged: 3 * ROUNDS,
      })
    }
  })

const orders: Kind[][] = [
  ['private', 'missing', 'another'],
  ['private', 'another', 'missing'],
  ['missing', 'private', 'another'],
  ['missing', 'another', 'private'],
  ['another', 'private', 'missing'],
  ['another', 'missing', 'private'],
]

interface Estimate {
  readonly mean: number
  /** Standard error of the mean. */
  readonly error: number
}

/** The trimmed mean, and its standard error by the winsorised variance (Tukey and McLaughlin). */
function trimmed(values: readonly number[]): Estimate {
  const sorted = values.toSorted((one, other) => one - other)
  const cut = Math.floor(sorted.length * TRIMMED)
  const kept = sorted.slice(cut, sorted.length - cut)
  const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length
  const [least, most] = [kept[0] ?? 0, kept.at(-1) ?? 0]
  const winsorised = sorted.map((value) => Math.min(most, Math.max(least, value)))
  const middle = winsorised.reduce((sum, value) => sum + value, 0) / winsorised.length
  const variance = winsorised.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (winsorised.length - 1)
  return { mean, error: Math.sqrt(variance / winsorised.length) / (1 - 2 * TRIMMED) }
}

function shown({ mean, error }: Estimate): string {
  return `${mean.toFixed(2)} ± ${error.toFixed(2)} µs`
}
