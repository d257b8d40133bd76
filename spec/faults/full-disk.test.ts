// A process of its own: what it does to disks, processes, clocks and repositories reaches no other spec.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { missing } from '../fixtures/program.js'
import { withSmallDisk } from '../fixtures/small-disk.js'
import { fault, type Row } from './fault.js'
import { LOG_BYTES, logOf, padded, thatHeals } from './healing.js'
import { Load } from './load.js'

const MEGABYTE = 1024 * 1024

const isRoot = process.geteuid?.() === 0
const onlyRoot = !isRoot && 'only root can mount a small file system'

fault(
  'the disk is full',
  { short: 1, long: 30 },
  (t, times) =>
    onSmallDisk(
      t,
      async (disk, load) =>
        await thatHeals(t, load, times, { begin: async () => fill(disk, 0), end: async () => empty(disk) }),
    ),
  onlyRoot,
)

fault(
  'a compaction finds the disk full',
  { short: 1, long: 20 },
  (t, times) =>
    onSmallDisk(t, async (disk, load) => {
      const store = load.place.store
      let failed = 0
      const begin = async (): Promise<void> => {
        // The log finds room for what is left to it, the table does not.
        fill(disk, LOG_BYTES - (await logOf(load, LOG_BYTES / 2)) + MEGABYTE)
      }
      const end = async (): Promise<void> => {
        if (/Level-0 table #\d+: \d+ bytes .*No space left/.test(ownLog(store))) failed++
        empty(disk)
      }
      const row = await thatHeals(t, load, times, { begin, end })
      t.ok(failed > 0, `${failed} of ${times} were compactions`)
      return { ...row, injected: failed }
    }),
  onlyRoot,
)

fault(
  'a file may not grow',
  { short: 1, long: 20 },
  async (t, times) => {
    const load = await Load.start(t, t.testdir(), { padding: padded })
    const limit = (bytes: string): void => {
      execFileSync('prlimit', ['--pid', String(load.pid), `--fsize=${bytes}:`])
    }
    return await thatHeals(t, load, times, { begin: async () => limit('200000'), end: async () => limit('unlimited') })
  },
  await missing('util-linux'),
)

async function onSmallDisk(t: Test, use: (disk: string, load: Load) => Promise<Row>): Promise<Row> {
  let row: Row | undefined
  await withSmallDisk(t, 40, async (disk) => {
    row = await use(disk, await Load.start(t, join(disk, 'place'), { padding: padded }))
  })
  if (!row) throw new Error('nothing was done')
  return row
}

/** Leaves so many bytes free. */
function fill(disk: string, left: number): void {
  const { bavail, bsize } = statfsSync(disk)
  const bytes = Math.max(0, bavail * bsize - left)
  try {
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(bytes, 'x'))
  } catch {
    // The store was faster: then the disk is full, too.
  }
}

function empty(disk: string): void {
  rmSync(join(disk, 'ballast'))
}

/** What LevelDB writes down for people, of this opening and the one before. */
function ownLog(store: string): string {
  const names = readdirSync(store).filter((name) => name.startsWith('LOG.') || name === 'LOG')
  return names.map((name) => readFileSync(join(store, name), 'latin1')).join('')
}
