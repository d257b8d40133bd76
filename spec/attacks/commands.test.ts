// Commands with arguments that nobody means. An adversary ran 85 of them: wrong names and times ended with the exit
// status of a failure, or were taken for something else (30 February for 2 March, 999999 weeks for a time that tokens
// have), a link in a repository made root write a file wherever it led, an import kept the worse of two lines or fixed
// a status in the far future, and a folder below /proc was waited for without end.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommandPlace, type Outcome } from '../fixtures/command.js'
import { makeRepository } from '../fixtures/git.js'

const SHA = 'c0ffee'.padEnd(40, '0')

/** Runs the same against the stopped store and the running service. */
async function bothWays(t: Test, body: (t: Test, place: CommandPlace) => Promise<void>): Promise<void> {
  for (const running of [false, true]) {
    await t.test(running ? 'running' : 'stopped', async (t) => {
      const place = new CommandPlace(t.testdir())
      if (running) await place.serve(t)
      // Makes the store.
      else await place.run(['token', 'revoke', (await place.tokenOf('alice')).trim()])
      await body(t, place)
    })
  }
}

t.test('Wrong use is exit status 2: a name, an id or a time that breaks its rule too', async (t) => {
  const wrong = [
    ['token', 'create', '../x'],
    ['token', 'create', ''],
    ['access', 'grant', '../x', 'bob', 'read'],
    ['access', 'list', 'a/b//c'],
    ['repo', 'public', 'alice'],
    ['repo', 'rename', 'alice/x', 'alice/x.git'],
    ['status', 'list', 'alice/hello', 'HEAD..HEAD'],
    ['status', 'delete', 'alice/hello', 'HEAD'],
    ['store', 'export', '--repository', 'x'],
    ['token', 'create', 'alice', '--expires', '2031-02-30'],
    ['token', 'create', 'alice', '--expires', '2031-13-01'],
    ['token', 'create', 'alice', '--expires', '2031-01-31x'],
    ['token', 'create', 'alice', '--expires', '0s'],
    ['token', 'create', 'alice', '--expires', '999999w'],
    ['token', 'create', 'alice', '--expires', '9999-12-31'],
    ['store', 'prune', '--older-than', '2021-02-29'],
  ]
  await bothWays(t, async (t, place) => {
    const outcomes = await Promise.all(wrong.map((args) => place.run(args)))
    for (const [index, { status, stdout, stderr }] of outcomes.entries()) {
      t.strictSame([status, stdout], [2, ''], String(wrong[index]))
      t.notMatch(stderr, /\n {4}at /, 'it does not look like a crash')
    }
    t.strictSame(await place.run(['token', 'list']), { status: 0, stdout: '', stderr: '' }, 'nothing was made')
  })
  const place = new CommandPlace(t.testdir())
  const metrics = await place.runProcess(['serve'], { environment: { COMMIT_STATUS_METRICS: '127.0.0.1:99999' } })
  t.match(metrics, { status: 2, stderr: /bad setting metrics/ })
})

t.test('repo public never follows a link', async (t) => {
  await bothWays(t, async (t, place) => {
    const directory = await makeRepository(place.repositories, 'alice/hello')
    const mark = join(directory, 'git-daemon-export-ok')
    const target = join(place.folder, 'made-by-root')
    symlinkSync(target, mark)
    t.match(await place.run(['repo', 'public', 'alice/hello']), { status: 1, stderr: /link that leads nowhere/ })
    t.notOk(existsSync(target))
    t.equal(readlinkSync(mark), target)
    t.match(await place.run(['repo', 'private', 'alice/hello']), { status: 0 })
    t.match(await place.run(['repo', 'public', 'alice/hello']), { status: 0, stderr: '' })
    t.notOk(existsSync(target))
  })
})

const record = (updated_at: string, description: string): string =>
  JSON.stringify({
    type: 'status',
    repository: 'alice/hello',
    id: 'id',
    sha: SHA,
    context: 'ci',
    state: 'success',
    description,
    target_url: null,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at,
  })

/** A sound export of these lines. */
function exportOf(...lines: string[]): string {
  const all = ['{"type":"export","version":1,"repository":null}', ...lines].map((line) => `${line}\n`).join('')
  const sha256 = createHash('sha256').update(all).digest('hex')
  return `${all}${JSON.stringify({ type: 'end', records: lines.length, sha256 })}\n`
}

t.test(
  'Of a status that stands twice in an export the later update stays; importing again changes nothing',
  async (t) => {
    const [early, late] = [record('2026-01-02T00:00:00.000Z', 'early'), record('2026-01-03T00:00:00.000Z', 'late')]
    await bothWays(t, async (t, place) => {
      for (const lines of [
        [late, early],
        [early, late],
        [late, late.replace('"late"', '"as late"')],
      ]) {
        await place.run(['repo', 'delete', 'alice/hello', '--yes'])
        const file = join(place.folder, 'export.jsonl')
        writeFileSync(file, exportOf(...lines))
        const states: Outcome[] = []
        for (let times = 0; times < 2; times++) {
          t.match(await place.run(['store', 'import', file]), { status: 0 })
          states.push(await place.run(['status', 'list', 'alice/hello', '--json']))
        }
        t.match(states[0]?.stdout, /"description":"late"/)
        t.strictSame(states[1], states[0])
      }
    })
  },
)

t.test('An import with times of the far future is refused, and changes nothing', async (t) => {
  await bothWays(t, async (t, place) => {
    const file = join(place.folder, 'export.jsonl')
    writeFileSync(file, exportOf(record('9999-01-01T00:00:00.000Z', 'for good')))
    t.match(await place.run(['store', 'import', file]), { status: 1, stderr: /line 2 .* is more than a day ahead/ })
    const soon = new Date(Date.now() + 60 * 60 * 1000).toISOString()
    writeFileSync(file, exportOf(record(soon, 'by a clock that is an hour ahead')))
    t.match(await place.run(['store', 'import', file]), { status: 0 })
  })
})

t.test('A backup into the folder of the store is refused, by whatever name', async (t) => {
  await bothWays(t, async (t, place) => {
    await place.run(['token', 'create', 'alice'])
    symlinkSync(place.store, join(place.folder, 'link'))
    mkdirSync(join(place.folder, 'other'))
    for (const folder of [place.store, join(place.store, 'backup'), join(place.folder, 'link', 'x', 'y')]) {
      t.match(
        await place.run(['store', 'backup', folder]),
        { status: 1, stderr: /is in the folder of the store/ },
        folder,
      )
    }
    t.notOk(existsSync(join(place.store, 'backup')))
    t.notOk(existsSync(join(place.store, 'x')))
    t.match(await place.run(['store', 'backup', `${place.store}-2`]), { status: 0 }, 'a name that only begins like it')
  })
})

t.test('A folder that cannot be made is an error within seconds', { skip: !existsSync('/proc/self') }, async (t) => {
  const place = new CommandPlace(t.testdir())
  await place.tokenOf('alice')
  const store = { COMMIT_STATUS_STORE: 'level:/proc/x' }
  for (const [args, environment] of [
    [['token', 'create', 'alice'], store],
    [['serve'], store],
    [['store', 'backup', '/proc/x'], {}],
    [['store', 'backup', '/proc/x/y/z'], {}],
  ] as const) {
    const begun = performance.now()
    const outcome = await place.runProcess(args, { environment })
    t.match(outcome, { status: 1, stderr: /ENOENT|cannot be opened/ }, args.join(' '))
    t.notMatch(outcome.stderr, /\n {4}at /)
    t.ok(performance.now() - begun < 10_000)
  }
  t.notOk(readdirSync(place.folder).includes('x'))
})
