import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LevelStore } from '../../lib/store/level/level-store.js'
import { commitId, repositoryNamed } from '../fixtures/names.js'
import { missing } from '../fixtures/program.js'
import { startStoreProcess } from '../fixtures/store-process.js'

const repository = repositoryNamed('alice/hello')
const commit = commitId('c0ffee')

t.test('What was acknowledged before kill -9 is there afterwards', async (t) => {
  const folder = join(t.testdir(), 'store')
  const { child, lines } = startStoreProcess(t, 'reportForever', folder)
  const acknowledged: string[] = []
  for await (const line of lines) {
    acknowledged.push(line)
    if (acknowledged.length === 2000) child.kill('SIGKILL')
  }
  const store = await LevelStore.open(folder)
  t.teardown(async () => await store.close())
  const there = new Map((await store.statuses.list(repository, commit)).map((status) => [status.context, status.state]))
  t.ok(acknowledged.length >= 2000)
  t.strictSame(
    acknowledged.filter((context) => there.get(context) !== 'success'),
    [],
    'none is missing, and the store is readable',
  )
})

t.test(
  'A report is acknowledged after an fsync, and reports at the same time share one',
  { skip: await missing('strace') },
  async (t) => {
    const folder = join(t.testdir(), 'store')
    const trace = join(t.testdirName, 'trace')
    const { child } = startStoreProcess(t, 'reportOneByOneThenAtOnce', folder, [
      'strace',
      '-f',
      '-e',
      'trace=fsync,fdatasync,rmdir',
      '-o',
      trace,
    ])
    await once(child, 'exit')
    const [, single = '', parallel = ''] = readFileSync(trace, 'utf8').split(/^.*rmdir\(.*$/m)
    t.ok(syncs(single) >= 10, `an fsync for each of 10 reports, one after the other: ${syncs(single)}`)
    t.ok(syncs(parallel) >= 1 && syncs(parallel) <= 5, `next to none for 1000 reports at once: ${syncs(parallel)}`)
  },
)

t.test(
  'After a write that failed nothing is acknowledged until a fresh log takes writes; then it goes on by itself',
  { skip: await missing('util-linux') },
  async (t) => {
    const folder = join(t.testdir(), 'store')
    const lines: string[] = []
    for await (const line of startStoreProcess(t, 'reportOnFullDisk', folder).lines) lines.push(line)
    const acknowledged = lines.filter((line) => /^(?:before|meanwhile|after) /.test(line))
    const before = acknowledged.filter((line) => line.startsWith('before')).length
    t.ok(before > 10)
    const reason = 'a write to the store failed; it is being opened again'
    const said = lines.slice(before).filter((line) => line !== 'log: the store does not accept writes yet')
    t.strictSame(said, [
      'log: a write to the store failed: nothing is acknowledged until it is open again',
      `StoreFenced: ${reason}`,
      `unavailable: ${reason}`,
      `StoreFenced: ${reason}`,
      `StoreFenced: ${reason}`,
      `list: ${before}`,
      'log: the store accepts writes again',
      'unavailable: undefined',
      'after 1',
      'after 2',
    ])

    const store = await LevelStore.open(folder)
    t.teardown(async () => await store.close())
    const there = (await store.statuses.list(repository, commit)).map((status) => status.context)
    t.strictSame(
      acknowledged.filter((context) => !there.includes(context)),
      [],
      'after kill -9, everything acknowledged is there',
    )
    t.strictSame(
      there.filter((context) => context.startsWith('meanwhile')),
      [],
      'and nothing that was refused at the door',
    )
  },
)

function syncs(trace: string): number {
  // `<unfinished ...>` begins a call, `resumed` ends it: either way it has the name and a parenthesis once.
  return trace.match(/f(?:data)?sync\(/g)?.length ?? 0
}
