// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { missing } from '../fixtures/program.js'
import { fault } from './fault.js'
import { isInTrouble, LOG_BYTES, logOf, padded, thatHeals } from './healing.js'
import { Load } from './load.js'

fault(
  'no file can be opened (EMFILE)',
  { short: 1, long: 20 },
  async (t, times) => {
    const load = await Load.start(t, t.testdir(), { padding: padded })
    const prlimit = (...args: string[]): string =>
      execFileSync('prlimit', ['--pid', String(load.pid), ...args], { encoding: 'utf8' }).trim()
    const before = prlimit('--nofile', '--output=SOFT', '--noheadings')
    // What is open stays open: LevelDB fails once its log is full, and git once it opens a repository again. As long as
    // git fails LevelDB gets nothing to do.
    const begin = async (): Promise<void> => {
      await logOf(load, LOG_BYTES - 500_000)
      prlimit('--nofile=3:')
      const until = performance.now() + 3000
      while (!(await isInTrouble(load))) {
        if (performance.now() > until) {
          await end()
          await begin()
          return
        }
        await setTimeout(10)
      }
    }
    const end = async (): Promise<void> => {
      prlimit(`--nofile=${before}:`)
    }
    return await thatHeals(t, load, times, { begin, end })
  },
  await missing('util-linux'),
)

fault('a table cannot be written', { short: 1, long: 20 }, async (t, times) => {
  const load = await Load.start(t, t.testdir(), { padding: padded })
  const { store } = load.place
  const inTheWay = (): string[] =>
    readdirSync(store, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() && entry.name.endsWith('.ldb') ? [join(store, entry.name)] : [],
    )
  const begin = async (): Promise<void> => {
    const latest = Math.max(...readdirSync(store).map((name) => Number(/^(?:MANIFEST-)?(\d+)/.exec(name)?.[1] ?? 0)))
    for (let number = latest + 1; number <= latest + 200; number++)
      mkdirSync(join(store, `${String(number).padStart(6, '0')}.ldb`))
  }
  const end = async (): Promise<void> => {
    for (const folder of inTheWay()) rmdirSync(folder)
  }
  return await thatHeals(t, load, times, { begin, end })
})
