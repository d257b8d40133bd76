import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './set-up/child.js'
import { members } from './set-up/json.js'
import { secondsSince, withProgress } from './set-up/progress.js'
import { setUp } from './set-up.js'
import { withSpecsOf } from './set-up/specs.js'
import { offerTestPackages } from './set-up/system-packages.js'
import { buildTap, tool } from './set-up/tap.js'

/**
 * What the specs in spec/faults/ write of a fault, a line each: at first that it is going to be injected, or why it
 * cannot be here, then that this has begun, and at last what came of it. See spec/faults/fault.ts.
 *
 * @typedef {{ skip?: unknown, begun?: unknown, row?: Record<string, unknown> }} Reported
 */

await setUp()
await offerTestPackages()
// Only there now.
const { default: Table } = await import('cli-table3')
if ((await buildTap()) !== 0) process.exit(1)
const folder = mkdtempSync(join(tmpdir(), 'faults-'))
const rows = join(folder, 'rows')
writeFileSync(rows, '')
const start = performance.now()
const specs =
  process.argv.length > 2
    ? process.argv.slice(2)
    : ['spec/faults', 'spec/attacks/large-lists.test.ts', 'spec/attacks/private-by-time.test.ts']
const tap = tool('tap', '--disable-coverage', '--reporter=min', '--timeout=3600', ...withSpecsOf(specs))
const env = { ...process.env, COMMIT_STATUS_FAULTS: 'long', COMMIT_STATUS_FAULT_ROWS: rows }
const code = await withProgress(progress, async () => await run(tap, { env }))
const faults = reports()
rmSync(folder, { recursive: true })

const table = new Table({
  head: ['fault', 'injected', 'acknowledged', 'lost', 'wrong', 'longest unavailability'],
  colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
  style: { head: [], border: [] },
})
for (const [fault, { skip, row }] of faults) {
  if (row) {
    const time = row['longestUnavailabilityMs']
    const numbers = [
      row['injected'],
      row['acknowledged'],
      row['lost'],
      row['wrong'],
      typeof time === 'number' ? `${time} ms` : '',
    ]
    table.push([fault, ...numbers.map(String)])
  } else table.push([fault, { colSpan: 5, content: typeof skip === 'string' ? skip : 'NO RESULT' }])
}
console.log(table.toString())
const isBad = [...faults.values()].some(({ skip, row }) =>
  row ? row['lost'] !== 0 || row['wrong'] !== 0 : skip === undefined,
)
const verdict = isBad || code !== 0 ? 'NOT as it must be' : 'nothing lost, nothing wrong'
console.log(`${faults.size} faults in ${secondsSince(start)} s: ${verdict}`)
process.exitCode = isBad || code !== 0 ? 1 : 0

/** @returns what has been reported of each fault, by its name */
function reports() {
  /** @type {Map<string, Reported>} */
  const faults = new Map()
  for (const text of readFileSync(rows, 'utf8').split('\n').slice(0, -1)) {
    const { fault, row, ...rest } = members(JSON.parse(text))
    const name = String(fault)
    faults.set(name, { ...faults.get(name), ...rest, ...(row !== undefined && { row: members(row) }) })
  }
  return faults
}

/** A line that stays short, however many there are. */
function progress() {
  const faults = [...reports()]
  const done = faults.filter(([, { row }]) => row).length
  const now = faults.filter(([, { begun, row }]) => begun && !row).map(([fault]) => fault)
  const line = `faults: ${secondsSince(start)} s, ${done} done, now: ${now.join('; ') || 'between two'}`
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
