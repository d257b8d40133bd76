// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { spawn } from 'node:child_process'
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ObjectFormat } from '../../lib/domain/object-id.js'
import { CommandPlace } from '../fixtures/command.js'
import { formats, unknownId } from '../fixtures/finder.js'
import { environment, git, makeCommit, makeRepository } from '../fixtures/git.js'
import { makeHistory } from '../fixtures/history.js'
import { Lister } from '../fixtures/lister.js'
import { within } from '../fixtures/within.js'
import { heldBy, type Held } from '../fixtures/process-files.js'
import { isLong, record } from './fault.js'

/** Pushes, each with a repack after it, in the repositories of both formats together. */
const REPACKS = isLong ? 1000 : 24
/** How often each repository is deleted, made anew and renamed. */
const LIVES = isLong ? 50 : 2
const REPOSITORIES = isLong ? 5000 : 200
const CALLERS = 4

const FOUND = '200'
const MISSING = '404 commit not found'
const UNREADABLE = '503 the repository cannot be read at the moment'
const NO_REPOSITORY = '404 repository not found'

interface Running {
  readonly repositories: string
  readonly lister: Lister
  readonly held: () => Held
  /** An answer as one of the texts above, or what else it was. */
  readonly ask: (repository: string, sha: string) => Promise<string>
}

/** The executable in a process of its own, so that what it holds is its own. */
async function serve(t: Test): Promise<Running> {
  const place = new CommandPlace(t.testdir())
  const { child, url } = await place.serve(t)
  const { stdout } = await place.run(['token', 'create', 'alice'])
  const lister = new Lister(url, stdout.trim().split('\n').at(-1) ?? '')
  t.teardown(() => {
    lister.close()
  })
  return {
    repositories: place.repositories,
    lister,
    held: () => heldBy(child.pid ?? 0, place.repositories),
    ask: async (repository, sha) => {
      const { status, error } = await lister.list(repository, sha)
      return error === undefined ? String(status) : `${status} ${error}`
    },
  }
}

/** Calls until `stopped`, in so many rows at once. */
async function steadily(rows: number, stopped: () => boolean, call: (turn: number) => Promise<void>): Promise<void> {
  let turn = 0
  await Promise.all(
    Array.from({ length: rows }, async () => {
      while (!stopped()) await call(turn++)
    }),
  )
}

/** What administrators run after pushes, by turns; each round has one repack at least. */
const maintenance = `
  case $((number % 6)) in
    0) git repack -adq ;;
    1) git repack -adq --write-midx ;;
    2) git repack -dq; git multi-pack-index write --no-progress ;;
    3) git gc --quiet --prune=now ;;
    4) git commit-graph write --reachable --no-progress; git repack -adq ;;
    5) git repack -dq; git multi-pack-index write --no-progress; git multi-pack-index expire --no-progress
       git repack -adq --write-midx ;;
  esac`

/** Pushes a commit and does the maintenance, so many times; tells the id once the push has ended. */
function pushAndMaintain(
  source: string,
  hosted: string,
  times: number,
  pushed: (id: string) => void,
): Promise<number | null> {
  const script = `
    cd "$1"; tree=$(git mktree </dev/null); parent=$(git rev-parse main)
    while [ "$number" != "$2" ]; do
      number=$((number + 1))
      parent=$(git commit-tree -m "commit $number" -p "$parent" "$tree") || exit
      git update-ref refs/heads/main "$parent" || exit
      git push -q "$0" main && echo "$parent" || exit
      (cd "$0"; ${maintenance}) || exit
    done`
  const child = spawn('sh', ['-c', script, hosted, source, String(times)], {
    env: { ...environment, number: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  createInterface(child.stdout).on('line', pushed)
  return new Promise((resolve) => child.on('close', resolve))
}

t.setTimeout(3_600_000)

t.test(
  'Pushes and maintenance under steady load: no commit is missing, no answer is refused, and nothing piles up',
  async (t) => {
    const { repositories, lister, held, ask } = await serve(t)
    const sources = join(repositories, '..', 'sources')
    const wrong: string[] = []
    const samples: Held[] = []
    let [pushes, untold] = [0, 0]
    const work = formats.map(async (format) => {
      const repository = `alice/${format}`
      const [source, hosted] = [
        await makeRepository(sources, repository, { format }),
        await makeRepository(repositories, repository, { format, public: true }),
      ]
      const commits = await makeHistory(source, 20)
      await git('-C', source, 'push', '-q', hosted, 'main')
      const check = async (sha: string, right: string): Promise<void> => {
        const answer = await ask(repository, sha)
        // That something is not there cannot be told while packs come and go all the time.
        if (answer === UNREADABLE && right === MISSING) untold++
        else if (answer !== right) wrong.push(`${repository} ${sha} ${answer}`)
      }
      await check(commits[0] ?? '', FOUND)
      let ended = false
      const times = REPACKS / formats.length
      const maintained = pushAndMaintain(source, hosted, times, (id) => {
        commits.push(id)
        pushes++
        if (pushes % (REPACKS / 4) === 0) samples.push(held())
      }).finally(() => {
        ended = true
      })
      await steadily(
        CALLERS,
        () => ended,
        async (turn) => {
          // The latest one is asked for as soon as it was pushed.
          const known = turn % 3 === 0 ? commits.at(-1) : commits[turn % commits.length]
          await (turn % 4 === 3 ? check(unknownId(format, turn), MISSING) : check(known ?? '', FOUND))
        },
      )
      t.equal(await maintained, 0, `${format}: git has done its work`)
      for (const id of commits) await check(id, FOUND)
      t.ok(await within(5000, async () => (await ask(repository, unknownId(format))) === MISSING))
    })
    samples.push(held())
    await Promise.all(work)
    t.comment(
      `${pushes} pushes and repacks, ${lister.asked} requests, ${wrong.length} wrong, ${untold} untold; held: ` +
        JSON.stringify([...samples, held()]),
    )
    t.strictSame(wrong, [])
    t.equal(pushes, REPACKS)
    t.ok(await within(5000, () => held().deleted === 0), 'the packs that git has deleted are let go of')
    const [, first, middle] = samples
    t.ok(held().open <= (first?.open ?? 0) + 20, 'open files stay as many')
    if (isLong) t.ok(held().megabytes < (middle?.megabytes ?? 0) + 30, 'memory stays the same')
    record(t, 'a push with a repack under load', { injected: pushes, acknowledged: lister.asked })
  },
)

interface Template {
  readonly directory: string
  readonly sha: string
}

async function makeTemplate(folder: string, name: string, format: ObjectFormat): Promise<Template> {
  const directory = await makeRepository(folder, name, { format, public: true })
  const sha = await makeCommit(directory, `only in ${name}`)
  await git('-C', directory, 'repack', '-adq')
  return { directory, sha }
}

/** Puts a copy of a repository at a path, all of it at once. */
function place({ directory }: Template, path: string): void {
  cpSync(directory, `${path}.new`, { recursive: true })
  renameSync(`${path}.new`, path)
}

for (const format of formats) {
  t.test(
    `Delete, make anew and rename under steady load (${format}): a second later nothing of the old repository is found`,
    async (t) => {
      const { repositories, lister, held, ask } = await serve(t)
      const templates = join(repositories, '..', 'templates')
      const [one, two] = [await makeTemplate(templates, 'one', format), await makeTemplate(templates, 'two', format)]
      // A repository that has a file in its folder stays; the owner's folder is there from the beginning.
      const bystander = await makeTemplate(repositories, 'alice/bystander', format)
      const path = (name: string): string => join(repositories, 'alice', `${name}.git`)
      const odd: string[] = []
      let ended = false
      const load = steadily(
        CALLERS,
        () => ended,
        async (turn) => {
          const asked = [one.sha, two.sha, unknownId(format, turn)][turn % 3] ?? ''
          const answer = await ask(turn % 2 ? 'alice/hello' : 'alice/moved', asked)
          // While it comes and goes any of these is right, but no fault of the service is.
          if (!/^(?:200|404|503)\b/.test(answer)) odd.push(answer)
          const other = await ask('alice/bystander', bystander.sha)
          if (other !== FOUND) odd.push(`the bystander: ${other}`)
        },
      )
      const becomes = async (what: string, expected: Record<string, string>): Promise<void> => {
        const ids = Object.keys(expected)
        const holds = async (): Promise<boolean> =>
          (
            await Promise.all(
              ids.map(async (id) => (await ask(...(id.split(' ') as [string, string]))) === expected[id]),
            )
          ).every(Boolean)
        t.ok(await within(1000, holds), what)
        for (let time = 0; time < 5; time++) t.ok(await holds(), `${what}, and stays so`)
      }
      const [hello, moved] = ['alice/hello', 'alice/moved']
      for (let life = 0; life < LIVES; life++) {
        place(one, path('hello'))
        await becomes('made', {
          [`${hello} ${one.sha}`]: FOUND,
          [`${hello} ${two.sha}`]: MISSING,
          [`${moved} ${one.sha}`]: NO_REPOSITORY,
        })
        rmSync(path('hello'), { recursive: true })
        await becomes('deleted', { [`${hello} ${one.sha}`]: NO_REPOSITORY, [`${hello} ${two.sha}`]: NO_REPOSITORY })
        place(two, path('hello'))
        await becomes('made anew', { [`${hello} ${two.sha}`]: FOUND, [`${hello} ${one.sha}`]: MISSING })
        renameSync(path('hello'), path('moved'))
        await becomes('renamed', {
          [`${hello} ${two.sha}`]: NO_REPOSITORY,
          [`${moved} ${two.sha}`]: FOUND,
          [`${moved} ${one.sha}`]: MISSING,
        })
        rmSync(path('moved'), { recursive: true })
        place(one, path('hello'))
        place(two, path('moved'))
        await becomes('others', {
          [`${hello} ${one.sha}`]: FOUND,
          [`${moved} ${two.sha}`]: FOUND,
          [`${moved} ${one.sha}`]: MISSING,
        })
        // Replaced in a moment: nobody sees it gone in between.
        renameSync(path('hello'), path('third'))
        renameSync(path('moved'), path('hello'))
        await becomes('replaced', { [`${hello} ${two.sha}`]: FOUND, [`${hello} ${one.sha}`]: MISSING })
        for (const name of ['hello', 'third']) rmSync(path(name), { recursive: true })
        await becomes('gone', {
          [`${hello} ${two.sha}`]: NO_REPOSITORY,
          [`${moved} ${two.sha}`]: NO_REPOSITORY,
          [`alice/third ${one.sha}`]: NO_REPOSITORY,
        })
      }
      ended = true
      await load
      t.comment(`${LIVES} lives, ${lister.asked} requests; held: ${JSON.stringify(held())}`)
      t.strictSame(odd, [])
      record(t, `a repository comes, goes and moves (${format})`, { injected: 7 * LIVES, acknowledged: lister.asked })
    },
  )
}

t.test(`Of ${REPOSITORIES} repositories a bounded number is held open, and what is held stays the same`, async (t) => {
  const { repositories, lister, held, ask } = await serve(t)
  const templates = await Promise.all(
    formats.map(async (format) => await makeTemplate(join(repositories, '..', 'templates'), `many-${format}`, format)),
  )
  const samples = [held()]
  const wrong: string[] = []
  const use = async (number: number): Promise<void> => {
    const name = `alice/many-${number}`
    const template = templates[number % templates.length]
    if (!template) return
    cpSync(template.directory, join(repositories, `${name}.git`), { recursive: true })
    const answers = await Promise.all([
      ask(name, template.sha),
      ask(name, unknownId(formats[number % formats.length] ?? 'sha1', number)),
    ])
    if (answers.join() !== `${FOUND},${MISSING}`) wrong.push(`${name}: ${answers.join()}`)
  }
  for (let number = 0; number < REPOSITORIES; number += 10) {
    await Promise.all(Array.from({ length: 10 }, async (_, at) => await use(number + at)))
    if (number % (REPOSITORIES / 4) === 0) samples.push(held())
  }
  samples.push(held())
  t.comment(`${lister.asked} requests, ${wrong.length} wrong; held: ${JSON.stringify(samples)}`)
  t.strictSame(wrong, [])
  t.ok(held().open < (samples[0]?.open ?? 0) + 150, 'open files are bounded')
  const [, , half, , last] = samples
  if (isLong) t.ok((last?.megabytes ?? 0) < (half?.megabytes ?? 0) + 30, 'memory stays the same')
  for (const entry of readdirSync(join(repositories, 'alice')))
    rmSync(join(repositories, 'alice', entry), { recursive: true })
  if (isLong) await setTimeout(20_000)
  t.equal(await ask('alice/many-1', templates[1]?.sha ?? ''), NO_REPOSITORY)
  if (isLong) t.equal(held().deleted, 0, 'what nobody has asked for in a while is let go of')
  record(t, 'one more repository', { injected: REPOSITORIES, acknowledged: lister.asked })
})
