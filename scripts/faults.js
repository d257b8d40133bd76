import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import { run } from './set-up/child.js'
import { root } from './set-up/checkout.js'
import { secondsSince, withProgress } from './set-up/progress.js'
import { setUp } from './set-up.js'
import { offerTestPackages } from './set-up/system-packages.js'

/**
 * What the specs in spec/faults/ write, a line each: at first that a fault is going to be injected, or why it cannot be
 * here, and at last what came of it. See spec/faults/fault.ts.
 *
 * @typedef {object} Row
 * @property {number} injected
 * @property {number} acknowledged
 * @property {number} lost
 * @property {number} wrong
 * @property {number | null} longestUnavailabilityMs
 *
 * @typedef {{ fault: string, skip?: string, row?: Row }} Line
 */

await setUp()
await offerTestPackages()
const folder = mkdtempSync(join(tmpdir(), 'faults-'))
const rows = join(folder, 'rows')
writeFileSync(rows, '')
const start = performance.now()
const specs = process.argv.length > 2 ? process.argv.slice(2) : ['spec/faults']
const tap = [process.execPath, join(root, 'node_modules/.bin/tap'), '--disable-coverage', '--reporter=min', '--timeout=3600', ...specs]
const env = { ...process.env, COMMIT_STATUS_FAULTS: 'long', COMMIT_STATUS_FAULT_ROWS: rows }
const code = await withProgress(progress, async () => await run(tap, { env }))
const faults = told()
rmSync(folder, { recursive: true })

const table = new Table({
  head: ['fault', 'injected', 'acknowledged', 'lost', 'wrong', 'longest unavailability'],
  colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
  style: { head: [], border: [] }
})
for (const { fault, skip, row } of faults.values()) {
  if (row) table.push([fault, row.injected, row.acknowledged, row.lost, row.wrong, row.longestUnavailabilityMs === null ? '' : `${row.longestUnavailabilityMs} ms`].map(String))
  else table.push([fault, { colSpan: 5, content: skip ?? 'NO RESULT' }])
}
console.log(table.toString())
const isBad = [...faults.values()].some(({ skip, row }) => (row ? row.lost > 0 || row.wrong > 0 : skip === undefined))
console.log(`${faults.size} faults in ${secondsSince(start)} s: ${isBad || code !== 0 ? 'NOT as it must be' : 'nothing lost, nothing wrong'}`)
process.exitCode = isBad || code !== 0 ? 1 : 0

/** @returns {Map<string, Line>} what has been told of each fault */
function told() {
  const faults = new Map()
  for (const text of readFileSync(rows, 'utf8').split('\n').slice(0, -1)) {
    /** @type {Line} */
    const line = JSON.parse(text)
    faults.set(line.fault, { ...faults.get(line.fault), ...line })
  }
  return faults
}

function progress() {
  const done = [...told()].filter(([, { row }]) => row).map(([fault]) => fault)
  return `faults: ${secondsSince(start)} s, done: ${done.join(', ') || 'nothing yet'}`
}
