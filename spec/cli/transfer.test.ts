import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace, executable, type Outcome } from '../fixtures/command.js'
import { makeRepositoryWithCommit } from '../fixtures/git.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { withRawLevel } from '../fixtures/raw-level.js'
import { reportOf } from '../fixtures/report.js'

/** A place with a repository, statuses of it and of one that is gone, and a grant. */
async function filledPlace(folder: string, statuses = 3): Promise<CommandPlace> {
  const place = new CommandPlace(folder)
  const { sha } = await makeRepositoryWithCommit(place.repositories, 'alice/hello')
  const store = await LevelStore.open(place.store)
  for (const [name, commit] of [
    ['alice/hello', commitId(sha)],
    ['alice/hello', commitId('c0ffee')],
    ['bob/old', commitId('c0ffee')],
  ] as const) {
    await Promise.all(
      Array.from({ length: statuses }, (_, index) =>
        store.statuses.save(
          repositoryNamed(name),
          commit,
          reportOf(`ci ${index}`, { description: 'x'.repeat(500) }),
          index * 1000,
        ),
      ),
    )
  }
  await store.grants.set({ owner: 'alice', user: 'bob', access: 'read' })
  await store.close()
  return place
}

/** Does the same with the service stopped and running; both must be the same. */
async function both(t: Test, place: CommandPlace, commands: () => Promise<Outcome[]>): Promise<Outcome[]> {
  const stopped = await commands()
  const service = await place.serve(t)
  t.strictSame(await commands(), stopped, 'the same while the service runs')
  await service.end('SIGTERM')
  return stopped
}

t.test('A store is counted in the same words, whether the service is running or not', async (t) => {
  const place = await filledPlace(t.testdir())
  const [table, json] = await both(t, place, async () => {
    const outcomes = [await place.run(['store', 'stats']), await place.run(['store', 'stats', '--json', '--top', '1'])]
    return outcomes.map((outcome) => ({ ...outcome, stdout: outcome.stdout.replace(/(bytes"?[ :]+)\d+/, '$1N') }))
  })
  t.strictSame(table, {
    status: 0,
    stdout:
      'repositories  2\ncommits       3\nstatuses      9\ntokens        0\ngrants        1\nbytes         N\noldest  ' +
      '      1970-01-01T00:00:00.000Z\nnewest        1970-01-01T00:00:02.000Z\n\nREPOSITORY   STATUSES\nalice/hello  ' +
      '6\nbob/old      3\n',
    stderr: '',
  })
  t.equal(
    json?.stdout,
    '{"repositories":2,"commits":3,"statuses":9,"tokens":0,"grants":1,"bytes":N,"oldest":"1970-01-01T00:00:00.000Z",' +
      '"newest":"1970-01-01T00:00:02.000Z","top":[{"repository":"alice/hello","statuses":6}]}\n',
  )
  const empty = new CommandPlace(join(t.testdirName, 'empty'))
  await empty.run(['access', 'grant', 'alice', 'bob', 'read'])
  t.match((await empty.run(['store', 'stats'])).stdout, /newest +none\n$/)
})

t.test('A store is exported and imported in the same words, whether the service is running or not', async (t) => {
  const place = await filledPlace(t.testdir(), 300)
  const file = join(place.folder, 'export')
  const exported = await place.run(['store', 'export'])
  writeFileSync(file, exported.stdout)
  writeFileSync(`${file}.cut`, exported.stdout.replace('"sha256":', '"sha1":'))
  const outcomes = await both(t, place, async () => [
    await place.run(['store', 'export']),
    await place.run(['store', 'export', '--repository', 'bob/none']),
    await place.run(['store', 'import', file]),
    await place.run(['store', 'import'], { program: ['sh', '-c', `exec "$0" "$@" < ${file}`, executable] }),
    await place.run(['store', 'import', `${file}.cut`]),
    await place.runProcess(['store', 'import', 'none']),
    await place.run(['store', 'import', '-']),
  ])
  const imported = {
    status: 0,
    stdout: '900 statuses, 0 tokens, 1 grant imported; 0 of the statuses were new, or later than those here\n',
    stderr: '',
  }
  const refused = (words: string): Outcome => ({ status: 1, stdout: '', stderr: `commit-status: ${words}\n` })
  t.strictSame(outcomes, [
    exported,
    refused('the store has nothing of bob/none'),
    imported,
    imported,
    refused('this cannot be imported: line 903 is not what an export has there: it is no end; nothing was changed'),
    refused("ENOENT: no such file or directory, open 'none'"),
    refused('this cannot be imported: it is empty; nothing was changed'),
  ])
  const other = new CommandPlace(join(t.testdirName, 'other'))
  await other.serve(t)
  t.match(await other.run(['store', 'import', file]), {
    stdout: /^900 statuses, 0 tokens, 1 grant imported; 900 of the statuses were new/,
  })
  t.strictSame(await other.run(['store', 'export']), exported)
})

t.test('A damaged value is named, and the export has no end', async (t) => {
  const place = await filledPlace(t.testdir())
  const key = `bob/old/${commitId('c0ffee').hex}/ci 1`
  await withRawLevel(place.store, async (level) => {
    await level.put(key, '{}')
  })
  const [outcome] = await both(t, place, async () => [await place.run(['store', 'export'])])
  t.match(outcome, { status: 1, stderr: `commit-status: the value of "${key}" is damaged\n` })
  t.notMatch(outcome?.stdout, '"end"')
})

t.test('Whoever reads the beginning of an export only ends it quietly', async (t) => {
  const place = await filledPlace(t.testdir(), 2000)
  const outcome = { status: 0, stdout: '{"type":"export","version":1,"repository":null}\n', stderr: 'exit 0\n' }
  const program = ['sh', '-c', '{ "$0" "$@"; echo "exit $?" >&2; } | head -n 1', executable] as const
  t.strictSame(await both(t, place, async () => [await place.run(['store', 'export'], { program: [...program] })]), [
    outcome,
  ])
})

t.test('What is gone is told, and goes with --yes, whether the service is running or not', async (t) => {
  const place = await filledPlace(t.testdir())
  const args = ['store', 'prune', '--gone-commits', '--gone-repositories', '--older-than', '1970-01-01T00:00:01Z']
  const rows =
    'REPOSITORY   STATUSES  WHY\nalice/hello  2         older\nalice/hello  2         commit gone\nbob/old      1    ' +
    '     older\nbob/old      2         repository gone\n'
  t.strictSame(
    await both(t, place, async () => [await place.run(args), await place.run([...args.slice(0, 3), '--json'])]),
    [
      { status: 0, stdout: `${rows}7 statuses would go; --yes removes them\n`, stderr: '' },
      { status: 0, stdout: '{"repository":"alice/hello","reason":"commit gone","statuses":3}\n', stderr: '' },
    ],
  )
  const exported = join(place.folder, 'export')
  writeFileSync(exported, (await place.run(['store', 'export'])).stdout)
  for (const isRunning of [false, true]) {
    const service = isRunning ? await place.serve(t) : undefined
    await place.run(['store', 'import', exported])
    t.strictSame(await place.run([...args, '--yes']), { status: 0, stdout: `${rows}7 statuses removed\n`, stderr: '' })
    t.strictSame(await place.run([...args, '--yes']), { status: 0, stdout: '0 statuses removed\n', stderr: '' })
    t.match((await place.run(['store', 'stats'])).stdout, /\nstatuses +2\n/)
    await service?.end('SIGTERM')
  }
})

t.test('What cannot be told is kept, and the exit status is 1', async (t) => {
  const place = await filledPlace(t.testdir())
  const directory = join(place.repositories, 'bob/old.git')
  mkdirSync(directory, { recursive: true })
  t.strictSame(await both(t, place, async () => [await place.run(['store', 'prune', '--gone-commits'])]), [
    {
      status: 1,
      stdout:
        `REPOSITORY   STATUSES  WHY\nalice/hello  3         commit gone\nbob/old      3         kept: cannot ` +
        `read ${directory}\n3 statuses would go; --yes removes them\n`,
      stderr: 'commit-status: 3 statuses are kept, since it cannot be told whether they may go\n',
    },
  ])
})

t.test('An import that is refused ends at once, whoever still writes to its standard input', async (t) => {
  const place = await filledPlace(t.testdir())
  const pipe = join(place.folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  await both(t, place, async () => {
    const { ended } = place.start(['store', 'import'], {
      program: ['sh', '-c', `exec "$0" "$@" < ${pipe}`, executable],
    })
    const file = await open(pipe, 'w')
    await file.write('these lines\nare no export\n'.repeat(1000))
    const outcome = await ended
    t.match(outcome, { status: 1, stderr: /^commit-status: this cannot be imported: line 1 is not/ })
    await file.close()
    return [outcome]
  })
})

for (const isRunning of [false, true]) {
  const where = isRunning ? 'in the running service' : 'in the store'

  t.test(`An import that is interrupted ${where} changes nothing, and ends as by the signal`, async (t) => {
    const place = await filledPlace(t.testdir())
    if (isRunning) await place.serve(t)
    const pipe = join(place.folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const { child, ended } = place.start(['store', 'import', pipe])
      const file = await open(pipe, 'w')
      await file.write(
        '{"type":"export","version":1,"repository":null}\n{"type":"grant","on":"carol","user":"bob","access":"read"}\n',
      )
      child.kill(signal)
      t.match(await ended, { status: null, stdout: '' })
      t.equal(child.signalCode, signal)
      await file.close()
    }
    t.equal((await place.run(['access', 'list'])).stdout, 'ON     USER  ACCESS\nalice  bob   read\n')
  })

  t.test(`A backup that is interrupted ${where} leaves nothing in its folder`, async (t) => {
    const place = await filledPlace(t.testdir({ copy: {} }), 8000)
    if (isRunning) await place.serve(t)
    const copy = join(place.folder, 'copy')
    const folder = watch(copy)
    const { child, ended } = place.start(['store', 'backup', copy])
    // Its files are being made.
    await once(folder, 'change')
    child.kill('SIGINT')
    t.match(await ended, { status: null, stdout: '' })
    t.equal(child.signalCode, 'SIGINT')
    while (readdirSync(copy).length > 0) await once(folder, 'change')
    folder.close()
    t.match(await place.run(['store', 'backup', copy]), { status: 0 }, 'so there is room for another one')
    t.ok(readFileSync(join(copy, 'CURRENT')).length > 0)
  })
}
