import t from 'tap'
import type { State } from '../../lib/domain/commit-status.js'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace, type Outcome } from '../fixtures/command.js'
import { git, makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'

const repository = repositoryNamed('alice/hello')
const [MINUTE, HOUR] = [60_000, 3_600_000]

/** A place with three commits: reported on hours, minutes and seconds ago. */
async function filledPlace(folder: string): Promise<{ place: CommandPlace; now: number }> {
  const place = new CommandPlace(folder)
  const store = await LevelStore.open(place.store)
  const now = Date.now()
  const reports: [digits: string, context: string, state: State, ago: number][] = [
    ['a', 'build', 'success', 3 * MINUTE],
    ['a', 'ci/lint', 'error', 2 * MINUTE],
    ['b', 'build', 'success', 5 * HOUR],
    ['c', 'build', 'pending', 0],
  ]
  for (const [digits, context, state, ago] of reports)
    await store.statuses.save(
      repository,
      commitId(digits),
      reportOf(context, {
        state,
        description: context === 'build' ? '42 tests' : null,
        ...(digits === 'b' && { reporter: { user: 'ci-\u001b[31m', token: '0a' } }),
      }),
      now - ago,
    )
  await store.close()
  return { place, now }
}

const [A, B, C] = ['a', 'b', 'c'].map((digits) => commitId(digits).hex) as [string, string, string]

t.test('Statuses are listed by commit, the latest first, with the combined state on top', async (t) => {
  const { place, now } = await filledPlace(t.testdir())
  const time = (ago: number) => new Date(now - ago).toISOString()
  const blocksWith = (by: string) => [
    `${C}  pending\n  pending  build    ${time(0)}  ${' '.repeat(by.length)}42 tests\n`,
    `${A}  failure\n  success  build    ${time(3 * MINUTE)}  ${' '.repeat(by.length)}42 tests\n` +
      `  error    ci/lint  ${time(2 * MINUTE)}\n`,
    `${B}  success\n  success  build    ${time(5 * HOUR)}  ${by}42 tests\n`,
  ]
  const blocks = blocksWith('')
  const outcomes = async () => {
    const all: Outcome[] = []
    for (const args of [[], ['--limit', '2'], [A.toUpperCase()], [commitId('d').hex]])
      all.push(await place.run(['status', 'list', 'alice/hello', ...args]))
    return all
  }
  const done = (stdout: string | undefined) => ({ status: 0, stdout: stdout ?? '', stderr: '' })
  const expected = [
    done(blocksWith('by ci-\\u{1b}[31m  ').join('\n')),
    done(blocks.slice(0, 2).join('\n')),
    done(blocks[1]),
    done(''),
  ]
  t.strictSame(await outcomes(), expected, 'stopped')
  const json = (await place.run(['status', 'list', 'alice/hello', '--limit', '2', '--json'])).stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown)
  t.match(json, [
    { sha: C, context: 'build', state: 'pending', updated_at: time(0) },
    { sha: A, context: 'build' },
    { sha: A, context: 'ci/lint', state: 'error', description: null },
  ])
  t.equal(json.length, 3)
  await place.serve(t)
  t.strictSame(await outcomes(), expected, 'running')
})

t.test('On a terminal states have colours and times are relative', async (t) => {
  const { place } = await filledPlace(t.testdir())
  const { status, stdout } = await place.runOnTerminal(['status', 'list', 'alice/hello', '--limit', '2'], {
    environment: { TERM: 'xterm' },
  })
  t.equal(status, 0)
  const [bold, red, green, yellow] = [1, 31, 32, 33].map(
    (code) => (text: string) => `\u001b[${code}m${text}\u001b[${code === 1 ? 22 : 39}m`,
  ) as [(text: string) => string, (text: string) => string, (text: string) => string, (text: string) => string]
  const [first = '', second = ''] = stdout.split('\n\n')
  t.match(
    first,
    new RegExp(
      `^${escaped(bold(C))}  ${escaped(yellow('pending'))}\n  ${escaped(yellow('pending'))}  build    (now|\\d+ ` +
        `seconds? ago) +42 tests$`,
    ),
  )
  t.equal(
    second,
    `${bold(A)}  ${red('failure')}\n  ${green('success')}  build    3 minutes ago  42 tests\n  ${red('error')}    ` +
      `ci/lint  2 minutes ago\n`,
  )
})

t.test('Colours come and go as the environment asks', async (t) => {
  const { place } = await filledPlace(t.testdir())
  const list = ['status', 'list', 'alice/hello', A]
  const isPainted = ({ stdout }: Outcome) => stdout.includes('\u001b[')
  const terminal = async (environment: Record<string, string>) =>
    isPainted(await place.runOnTerminal(list, { environment }))
  t.strictSame(
    [
      await terminal({ TERM: 'xterm' }),
      await terminal({ TERM: 'xterm', NO_COLOR: '1' }),
      await terminal({ TERM: 'dumb' }),
    ],
    [true, false, false],
  )
  const pipe = async (environment: Record<string, string>) => isPainted(await place.run(list, { environment }))
  t.strictSame([await pipe({}), await pipe({ FORCE_COLOR: '1' }), await pipe({ TERM: 'xterm' })], [false, true, false])
})

for (const running of [false, true]) {
  t.test(`Statuses are removed, of a context or of a commit (${running ? 'running' : 'stopped'})`, async (t) => {
    const { place } = await filledPlace(t.testdir())
    if (running) await place.serve(t)
    const remove = async (...args: string[]) => await place.run(['status', 'delete', 'alice/hello', ...args])
    t.strictSame(await remove(A, '--context', 'ci/lint'), {
      status: 0,
      stdout: `1 status of alice/hello ${A} removed\n`,
      stderr: '',
    })
    t.strictSame(await remove(A, '--context', 'ci/lint'), {
      status: 1,
      stdout: '',
      stderr: `commit-status: alice/hello has no status "ci/lint" on ${A}\n`,
    })
    t.strictSame(JSON.parse((await remove(A, '--json')).stdout), {
      repository: 'alice/hello',
      sha: A,
      context: null,
      statuses: 1,
    })
    t.strictSame(await remove(A), {
      status: 1,
      stdout: '',
      stderr: `commit-status: alice/hello has no status on ${A}\n`,
    })
    t.strictSame(await remove('abc'), {
      status: 2,
      stdout: '',
      stderr: 'commit-status: abc is not a full 40 or 64 character hex commit id\n',
    })
    const left = (await place.run(['status', 'list', 'alice/hello', '--json'])).stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { sha: string }).sha)
    t.strictSame(left, [C, B])
  })
}

t.test(
  'A damaged status answers 500 until it is removed; the running service takes reports again at once',
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
    const token = await place.tokenOf('alice')
    await withRawLevel(place.store, async (level) => {
      await level.put(`alice/hello/${sha}/ci`, '{}')
    })
    const { url } = await place.serve(t)
    const environment = { COMMIT_STATUS_TOKEN: token, COMMIT_STATUS_URL: url }
    const report = async () =>
      await place.run(['status', 'report', 'alice/hello', sha, '--state', 'success', '--context', 'ci'], {
        environment,
      })
    t.match(
      [await report(), await report()],
      Array.from({ length: 2 }, () => ({ status: 1, stderr: /answers 500 \(internal error\)/ })),
    )
    t.match(await place.run(['store', 'verify']), { status: 1, stdout: `damaged: alice/hello/${sha}/ci\n` })
    t.match(await place.run(['status', 'delete', 'alice/hello', sha, '--context', 'ci']), { status: 0 })
    t.match(await report(), { status: 0 })
    t.match(
      await git('-C', `${place.repositories}/alice/hello.git`, 'rev-parse', 'HEAD'),
      sha,
      'the repository is as it was',
    )
  },
)

function escaped(text: string): string {
  return text.replaceAll(/[[\]]/g, '\\$&')
}
