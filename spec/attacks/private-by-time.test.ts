// A private repository that takes longer to be refused than one that does not exist gives away its name to whoever asks
// often enough. Once it took 2.8 µs longer, and 30,000 requests of each were enough to tell.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RepositoryName } from '../../lib/domain/repository-name.js'
import { projectNumber } from '../../lib/http/compatible/numbers.js'
import { repositoryPath } from '../../lib/http/page-paths.js'
import { isLong, record } from '../faults/fault.js'
import { CommandPlace } from '../fixtures/command.js'
import { makeBareRepository, makeCommit } from '../fixtures/git.js'
import { repositoryNamed } from '../fixtures/names.js'
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
type Kind = 'private' | 'missing' | 'another'

/** Where repositories lie, in words of config/README.md. `another` is the control: by what two missing ones differ. */
const LAYOUTS = {
  'owner/repo.git': { owner: 'alice', folders: '', placeOf: (name: string) => `${name}.git` },
  'repo.git': { owner: 'git', folders: '', placeOf: (name: string) => `${name.replace('git/', '')}.git` },
  'owner/folder/folder/repo.git': { owner: 'alice', folders: 'a/b/', placeOf: (name: string) => `${name}.git` },
  'owner/repo': { owner: 'alice', folders: '', placeOf: (name: string) => name },
} as const
type Layout = keyof typeof LAYOUTS

function nameOf(layout: Layout, kind: Kind, index: number): RepositoryName {
  const { owner, folders } = LAYOUTS[layout]
  return repositoryNamed(`${owner}/${folders}${kind}-${index}`)
}

/** Who tells rights: the service itself; or a program, which then knows what it has said once. */
const SOURCES = ['owners and grants', 'a program of the git server'] as const

async function serve(t: Test, source: (typeof SOURCES)[number], layout: Layout) {
  const place = new CommandPlace(t.testdir())
  const program = new RightsProgram(place.folder)
  const names = Array.from({ length: NAMES }, (_, index) => nameOf(layout, 'private', index).full)
  program.allow(...names.map((name) => `${name} alice RW`))
  const rights = { COMMIT_STATUS_RIGHTS_COMMAND: program.command.join(' '), COMMIT_STATUS_RIGHTS_SECONDS: '3600' }
  let sha = ''
  for (const name of names) {
    const directory = join(place.repositories, LAYOUTS[layout].placeOf(name))
    await makeBareRepository(directory)
    sha = await makeCommit(directory)
  }
  const { url } = await place.serve(t, {
    environment: { COMMIT_STATUS_LOG_LEVEL: 'error', ...(source !== SOURCES[0] && rights) },
  })
  const tokenOf = async (...args: string[]) =>
    (await place.run(['token', 'create', ...args])).stdout.trimEnd().split('\n').at(-1) ?? ''
  const { owner } = LAYOUTS[layout]
  return { url, sha, token: await tokenOf('bob'), limited: await tokenOf(owner, '--repository', `${owner}/other`) }
}

const [first, ...layouts] = ['owner/repo.git', 'repo.git', 'owner/folder/folder/repo.git', 'owner/repo'] as const
const cases = [
  ...SOURCES.map((source) => [source, first] as const),
  ...layouts.map((one) => [SOURCES[0], one] as const),
]

for (const [source, layout] of cases)
  t.test(`A private ${layout} is refused in the time of a missing one, with the rights of ${source}`, async (t) => {
    const { url, sha, token, limited } = await serve(t, source, layout)
    const list = ({ escaped }: RepositoryName) => `/api/v1/repos/${escaped}/commits/${sha}/statuses`
    const page = (name: RepositoryName) => `${repositoryPath(name)}/commits/${sha}`
    const project = ({ full }: RepositoryName) => `/api/v4/projects/${projectNumber(full)}`
    for (const [what, pathOf, headers] of [
      ['lists, anonymous', list, {}],
      ['lists of a user without a right', list, { Authorization: `Bearer ${token}` }],
      ['lists of the owner, with a token for another repository', list, { Authorization: `Bearer ${limited}` }],
      ['pages, anonymous', page, {}],
      ['projects by their number, of a user without a right', project, { 'PRIVATE-TOKEN': token }],
    ] as const) {
      const socket = await RawSocket.open(t, url)
      const ask = async (name: RepositoryName): Promise<[number, string]> => {
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
          const [microseconds, answer] = await ask(nameOf(layout, kind, Math.abs(round) % NAMES))
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
      t.comment(`${layout}, ${source}, ${what}: ${found}`)
      if (isLong) t.ok(Math.abs(difference.mean) < Math.max(WALK_MICROSECONDS, APART * difference.error), found)
      record(t, `${layout}: ${ROUNDS} ${what}: ${found}`, {
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
