import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { cases, type Row } from './cases.js'
import { postgresCase } from './postgres.js'

// Measures the service beside what bounds it, in one run: see "How fast" in the README.

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    statuses: { type: 'string', default: '10000000' },
    folder: { type: 'string', default: fileURLToPath(new URL('../../build/bench', import.meta.url)) },
  },
})

const folder = values.folder
mkdirSync(folder, { recursive: true })
const rows: Row[] = []
const setting = { folder, rounds: Number(values.rounds), seconds: Number(values.seconds), statuses: Number(values.statuses), tell }
for (const measure of [...cases, postgresCase].filter(({ name }) => name.includes(values.only))) {
  tell(`${measure.name} …`)
  rows.push(...(await measure.run(setting)))
}
tell('')

const table = new Table({ head: ['case', 'ours', 'limit', 'ratio', 'p50 ms', 'p99 ms', 'memory MB', 'goal', ''], style: { head: [], border: [] }, colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right', 'left', 'left'] })
for (const row of rows) table.push([row.name, figure(row.ours), figure(row.limit), figure(row.ratio), figure(row.p50), figure(row.p99), figure(row.memory && row.memory / 1_000_000), row.goal, row.reached ? 'reached' : 'missed'])
console.log(table.toString())
const results = join(folder, 'results.json')
writeFileSync(results, `${JSON.stringify(rows, null, 2)}\n`)
console.log(results)

function figure(value: number | undefined): string {
  if (value === undefined) return ''
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}

/** Says how far it is: in place on a terminal. */
function tell(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else if (text !== '') process.stderr.write(`${text}\n`)
}
