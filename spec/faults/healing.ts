import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Row } from './fault.js'
import type { Load } from './load.js'

/** How a fault that takes a while comes and goes. */
export interface Injection {
  readonly begin: () => Promise<void>
  readonly end: () => Promise<void>
}

/**
 * As much as a description may hold, four bytes for each character, and hard to compress: to fill logs and disks with.
 */
export function padded(): string {
  const bytes = randomBytes(2000)
  return Array.from({ length: bytes.length / 2 }, (_, index) =>
    String.fromCodePoint(0x20000 + bytes.readUInt16LE(2 * index)),
  ).join('')
}

/** Whether the service says that it accepts no reports. */
export async function isInTrouble(load: Load): Promise<boolean> {
  return (await load.health()).status === 503
}

/** LevelDB writes so much to a log; then it begins a new one, and makes a table of the old one in the background. */
export const LOG_BYTES = 4 * 1024 * 1024

/** Resolves once the store's log is this full, to how full it is. */
export async function logOf(load: Load, bytes: number): Promise<number> {
  const { store } = load.place
  for (;;) {
    const log = readdirSync(store)
      .filter((name) => name.endsWith('.log'))
      .sort()
      .at(-1)
    const size = log === undefined ? 0 : (statSync(join(store, log), { throwIfNoEntry: false })?.size ?? 0)
    if (size >= bytes) return size
    await load.more(10)
  }
}

/**
 * Injects a fault that the service is to get over by itself: while it lasts reports are refused, with the time to come
 * again, and `/healthz` says so; after it the same process goes on within seconds.
 */
export async function thatHeals(t: Test, load: Load, times: number, { begin, end }: Injection): Promise<Row> {
  const { pid } = load
  let longest = 0
  for (let time = 0; time < times; time++) {
    await load.more(200)
    await Promise.all([load.refused(), begin()])
    while (!(await isInTrouble(load))) await load.refused()
    // Whatever goes wrong in one more attempt to heal.
    await load.refused()
    const freed = performance.now()
    await end()
    await load.more(1)
    longest = Math.max(longest, performance.now() - freed)
    t.match(await load.health(), { status: 200, body: { status: 'ok' } })
  }
  await load.more(500)
  t.equal(load.pid, pid)
  t.ok(longest < 10_000, `at most ${Math.round(longest)} ms`)
  const { lost, wrong } = await load.finish()
  t.strictSame(
    [lost, wrong, load.unexpected].map((found) => found.slice(0, 5)),
    [[], [], []],
  )
  return {
    injected: times,
    acknowledged: load.acknowledged,
    lost: lost.length,
    wrong: wrong.length,
    longestUnavailabilityMs: Math.round(longest),
  }
}
