// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Test } from 'tap'
import { toApiStatus, STATES, type CommitStatus } from '../../lib/domain/commit-status.js'
import { parseObjectId } from '../../lib/domain/object-id.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace } from '../fixtures/command.js'
import { makeRepositoryWithHistory } from '../fixtures/history.js'
import { repositoryNamed } from '../fixtures/names.js'
import { fault, isLong, type Row } from './fault.js'
import { padded } from './healing.js'

const repository = 'alice/hello'
const COMMITS = 10
const CONTEXTS = isLong ? 500 : 100

/** The last reports, one after the other: they are in the log, each in a record of its own. */
const IN_LOG = 100

/** Large ones, before those: LevelDB makes a table of more than 4 MB. */
const IN_TABLE = 1200

/** How many services run at once. */
const AT_ONCE = 2

/** The lists of commits. */
type Content = ReadonlyMap<string, readonly CommitStatus[]>

interface Stored {
  readonly place: CommandPlace
  /** The store as kill -9 leaves it. */
  readonly folder: string
  readonly commits: readonly string[]
  /** What was saved, in that order. */
  readonly saved: readonly CommitStatus[]
}

/** One damage: a byte that has another bit, or the file cut there. */
interface Damage {
  readonly isCut: boolean
  /** Where, as a part of the file. */
  readonly at: number
  readonly bit: number
}

const at = fc.noBias(fc.nat(999_999)).map((millionths) => millionths / 1_000_000)
const bit = fc.nat(7)
const flip = fc.record({ isCut: fc.constant(false), at, bit })
const cut = fc.record({ isCut: fc.constant(true), at, bit })

fault('a flipped bit in a table', { short: 3, long: 400 }, (t, times) => damaged(t, times, /\.ldb$/, flip))
fault('a cut table', { short: 1, long: 40 }, (t, times) => damaged(t, times, /\.ldb$/, cut))
fault('a flipped bit in the log', { short: 1, long: 150 }, (t, times) => damaged(t, times, /\.log$/, flip))
fault('a log that ends early', { short: 1, long: 60 }, (t, times) => damaged(t, times, /\.log$/, cut))
fault('a flipped bit in MANIFEST', { short: 1, long: 150 }, (t, times) => damaged(t, times, /^MANIFEST/, flip))
fault('a cut MANIFEST', { short: 1, long: 40 }, (t, times) => damaged(t, times, /^MANIFEST/, cut))
fault('a flipped bit in CURRENT', { short: 1, long: 40 }, (t, times) => damaged(t, times, /^CURRENT$/, flip))
fault('a cut CURRENT', { short: 1, long: 16 }, (t, times) => damaged(t, times, /^CURRENT$/, cut))

/** Each damage goes to a copy of one store, on which a service is started and asked for everything. */
async function damaged(t: Test, times: number, files: RegExp, damages: fc.Arbitrary<Damage>): Promise<Row> {
  const stored = await makeStore(t, files.test('MANIFEST-') ? IN_TABLE : 0)
  const seed = isLong ? Date.now() % 1_000_000 : 4
  const all = fc.sample(damages, { numRuns: times, seed }).entries()
  const outcomes = new Map<string, number>()
  const bad = { lost: [] as string[], wrong: [] as string[] }
  let longest = 0
  const worker = async (): Promise<void> => {
    for (const [number, damage] of all) {
      const store = join(stored.place.folder, `copy-${number}`)
      cpSync(stored.folder, store, { recursive: true })
      const words = inflict(store, files, damage)
      const begun = performance.now()
      const outcome = await serveOn(t, stored, store)
      longest = Math.max(longest, outcome.served - begun)
      // What a cut at the end of the log takes away looks as if it had never been there: as a crash leaves it.
      const { lost, wrong } = files.test('.log') && damage.isCut ? asBefore(stored, outcome) : outcome
      bad.lost.push(...lost.map((found) => `${words}: ${found}`))
      bad.wrong.push(...wrong.map((found) => `${words}: ${found}`))
      outcomes.set(outcome.words, (outcomes.get(outcome.words) ?? 0) + 1)
      rmSync(store, { recursive: true })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  t.strictSame(
    [bad.lost, bad.wrong].map((found) => found.slice(0, 5)),
    [[], []],
    `seed ${seed}`,
  )
  t.comment(`seed ${seed}: ${JSON.stringify(Object.fromEntries(outcomes))}`)
  return {
    injected: times,
    acknowledged: times * COMMITS * CONTEXTS,
    lost: bad.lost.length,
    wrong: bad.wrong.length,
    longestUnavailabilityMs: Math.round(longest),
  }
}

/** A store with tables and a log, as kill -9 leaves it, and what is in it. */
async function makeStore(t: Test, inTable: number): Promise<Stored> {
  const place = new CommandPlace(t.testdir())
  const { directory, commits } = await makeRepositoryWithHistory(place.repositories, repository, { commits: COMMITS })
  // So that it can be read without a token, which may be lost as well.
  writeFileSync(join(directory, 'git-daemon-export-ok'), '')
  const open = join(place.folder, 'open')
  const saved: CommitStatus[] = []
  const save = async (store: LevelStore, sha: string, context: string, padding = ''): Promise<void> => {
    const commit = parseObjectId(sha)
    if (!commit) throw new TypeError(sha)
    const number = saved.length
    const report = {
      context,
      state: STATES[number % 4] ?? 'error',
      description: `report ${number}${padding}`,
      target_url: `https://ci.example.com/${number}`,
    }
    const saving = store.statuses.save(
      repositoryNamed(repository),
      commit,
      report,
      Date.parse('2026-01-31T12:00:00Z') + number,
    )
    saved.length++
    saved[number] = toApiStatus((await saving).status)
  }
  const keys = commits.flatMap((sha) =>
    Array.from({ length: CONTEXTS }, (_, context) => [sha, `ci/check ${context}`] as const),
  )
  // Opened again and again: at each opening the log becomes a table, and those become one.
  for (const part of [1, 3, 2]) {
    const store = await LevelStore.open(open)
    await Promise.all(
      keys.filter((_, index) => index % part === 0).map(async ([sha, context]) => await save(store, sha, context)),
    )
    await store.close()
  }
  const store = await LevelStore.open(open)
  // A log that has become a table while the store was open, of which MANIFEST tells in an entry of its own.
  await Promise.all(
    Array.from(
      { length: inTable },
      async (_, index) => await save(store, commits[index % COMMITS] ?? '', `large ${index}`, padded()),
    ),
  )
  for (const [sha, context] of fc.sample(fc.noBias(fc.constantFrom(...keys)), { numRuns: IN_LOG, seed: 1 }))
    await save(store, sha, context)
  const folder = join(place.folder, 'killed')
  cpSync(open, folder, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
  await store.close()
  return { place, folder, commits, saved }
}

/** What was there when the first so many reports had been saved. */
function contentAfter({ commits, saved }: Stored, reports: number): Content {
  const latest = new Map(saved.slice(0, reports).map((status) => [`${status.sha} ${status.context}`, status]))
  const all = Array.from(latest.values()).sort((one, other) =>
    Buffer.compare(Buffer.from(one.context), Buffer.from(other.context)),
  )
  return new Map(commits.map((sha) => [sha, all.filter((status) => status.sha === sha)]))
}

/** Damages one of the files of a store; tells in words what was done. */
function inflict(store: string, files: RegExp, { isCut, at, bit }: Damage): string {
  const sizes = readdirSync(store).flatMap((name) =>
    files.test(name) ? [{ name, bytes: readFileSync(join(store, name)) }] : [],
  )
  let place = Math.floor(at * sizes.reduce((sum, { bytes }) => sum + bytes.length, 0))
  for (const { name, bytes } of sizes) {
    if (place < bytes.length) {
      if (isCut) truncateSync(join(store, name), place)
      else {
        bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << bit), place)
        writeFileSync(join(store, name), bytes)
      }
      return `${name} of ${bytes.length} bytes, ${isCut ? 'cut' : `bit ${bit}`} at ${place}`
    }
    place -= bytes.length
  }
  throw new Error(`nothing to damage in ${store}`)
}

interface Seen {
  /** The kind of outcome. */
  readonly words: string
  /** When it served, or refused to. */
  readonly served: number
  /** What was missing, or old, without a word. */
  readonly lost: readonly string[]
  readonly wrong: readonly string[]
  /** The lists that were answered with 200. */
  readonly lists: ReadonlyMap<string, readonly CommitStatus[]>
}

/** Starts a service on a store, and asks for everything. */
async function serveOn(t: Test, stored: Stored, store: string): Promise<Seen> {
  const { place, saved } = stored
  const none = { lost: [], wrong: [], lists: new Map<string, CommitStatus[]>() }
  const service = await place.serve(t, { environment: { COMMIT_STATUS_STORE: `level:${store}` } })
  const served = performance.now()
  if (!service.line.includes('serving')) {
    const { status, stderr } = await service.ended
    const isInWords =
      status === 1 &&
      stderr.startsWith(`commit-status: the store ${store} cannot be opened: `) &&
      stderr.trimEnd().split('\n').length === 1
    return {
      ...none,
      served,
      words: 'start refused, in words',
      wrong: isInWords ? [] : [`it did not start: ${status} ${stderr}`],
    }
  }
  const content = contentAfter(stored, saved.length)
  const lists = new Map<string, CommitStatus[]>()
  const wrong: string[] = []
  for (const sha of content.keys()) {
    const answer = await fetch(`${service.url}/api/v1/repos/${repository}/commits/${sha}/statuses`, {
      signal: AbortSignal.timeout(20_000),
    })
    const body = (await answer.json()) as { statuses: CommitStatus[] }
    if (answer.status === 200) lists.set(sha, body.statuses)
    else if (answer.status < 500) wrong.push(`${sha}: ${answer.status} ${JSON.stringify(body)}`)
  }
  const end = await service.end('SIGTERM')
  if (end.status !== 0) wrong.push(`it ended with ${end.status}: ${end.stderr}`)
  const log = end.stdout
    .trimEnd()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { level: number; store?: string; msg: string; damage?: string[] })
  const isTold = log.some(
    (line) =>
      line.level >= 50 && line.store === store && line.damage && line.msg.includes('restore the store from a backup'),
  )
  const refused = content.size - lists.size
  if (refused > 0 && !log.some(({ level }) => level >= 50))
    wrong.push(`${refused} lists were refused, and the log has nothing`)
  const differing = Array.from(lists).filter(([sha, list]) => !isDeepStrictEqual(list, content.get(sha)))
  for (const [sha, list] of differing) {
    const invented = list.filter((status) => status.sha !== sha || !isDeepStrictEqual(status, saved[numberOf(status)]))
    wrong.push(...invented.map((status) => `invented: ${JSON.stringify(status)}`))
  }
  return {
    words: [
      isTold ? 'told at the start' : 'nothing told',
      refused > 0 && 'lists refused',
      differing.length > 0 && 'lists differ',
    ]
      .filter(Boolean)
      .join(', '),
    served,
    lost: isTold ? [] : differing.map(([sha, list]) => `${sha}: ${list.length} statuses, and not as they were`),
    wrong,
    lists,
  }
}

/** Judges what is left by a cut of the log: what was there before one of the reports in it. */
function asBefore(stored: Stored, seen: Seen): Pick<Seen, 'lost' | 'wrong'> {
  const latest = Math.max(...Array.from(seen.lists.values()).flat().map(numberOf))
  const content = contentAfter(stored, latest + 1)
  return Array.from(seen.lists).every(([sha, list]) => isDeepStrictEqual(list, content.get(sha)))
    ? { lost: [], wrong: seen.wrong }
    : seen
}

/** The place of its report in the order of all. */
function numberOf({ target_url }: CommitStatus): number {
  return Number(target_url?.split('/').at(-1))
}
