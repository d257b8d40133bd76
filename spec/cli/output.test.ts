import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { CommandPlace, executable } from '../fixtures/command.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { reportOf } from '../fixtures/report.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

t.test('What others reported cannot steer a terminal, neither in a table nor in JSON', async (t) => {
  const place = new CommandPlace(t.testdir())
  const context = 'a\u001b[2J\r\nb\u009b31m\u007f'
  const description = '\u001b]0;title\u0007 \u202eright to left\u2028\u{e0001}'
  const store = await LevelStore.open(place.store)
  await store.statuses.save(repository, commit, reportOf(context, { description }), 0)
  await store.close()

  const table = await place.run(['status', 'list', 'alice/hello'])
  t.match(table.stdout, 'a\\u{1b}[2J\\u{d}\\u{a}b\\u{9b}31m\\u{7f}')
  t.match(table.stdout, '\\u{1b}]0;title\\u{7} \\u{202e}right to left\\u{2028}\\u{e0001}')
  const json = await place.run(['status', 'list', 'alice/hello', '--json'])
  t.match(JSON.parse(json.stdout), { context, description }, 'and nothing is lost in JSON')
  for (const { status, stdout } of [table, json]) {
    t.equal(status, 0)
    t.notMatch(stdout.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  }
})

t.test('Output that nobody reads to its end ends quietly', async (t) => {
  const place = await placeWithManyStatuses(t.testdir())
  for (const json of [[], ['--json']]) {
    const program = ['sh', '-c', '{ "$0" "$@"; echo "exit $?" >&2; } | head -n 1', executable] as const
    const { stdout, stderr } = await place.run(['status', 'list', 'alice/hello', ...json], { program: [...program] })
    t.equal(stdout.split('\n').length, 2)
    t.equal(stderr, 'exit 0\n')
  }
})

t.test('Output that cannot be written is a failure, told in one line', async (t) => {
  const place = await placeWithManyStatuses(t.testdir())
  const { status, stderr } = await place.run(['status', 'list', 'alice/hello'], {
    program: ['sh', '-c', '"$0" "$@" > /dev/full', executable],
  })
  t.equal(status, 1)
  t.match(stderr, /^commit-status: the output cannot be written: ENOSPC: .+\n$/)
})

/** More than a pipe holds. */
async function placeWithManyStatuses(folder: string): Promise<CommandPlace> {
  const place = new CommandPlace(folder)
  const store = await LevelStore.open(place.store)
  const contexts = Array.from({ length: 500 }, (_, index) => `check ${index}`)
  await Promise.all(
    contexts.map((context) =>
      store.statuses.save(repository, commit, reportOf(context, { description: 'x'.repeat(1000) }), 0),
    ),
  )
  await store.close()
  return place
}
