import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { cases } from './cases.js'
import type { Row } from './setting.js'

// Measures the service beside what bounds it, in one run: see spec/bench/README.md.

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
const setting = {
  folder,
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  statuses: Number(values.statuses),
  tell,
}
for (const measure of cases.filter(({ name }) => name.includes(values.only))) {
  tell(`${measure.name} …`)
  rows.push(...(await measure.run(setting)))
}
tell('')

const heads = ['case', 'µs', 'bare', 'composite', 'ratio', 'a second', 'bare', 'composite', 'p50 ms', 'p99', 'p99.9']
const table = new Table({
  head: [...heads, 'stall ms', 'MB', 'goal', ''],
  style: { head: [], border: [] },
  colAligns: ['left', ...Array.from({ length: 12 }, () => 'right' as const), 'left', 'left'],
})
for (const { name, processor, goal, reached, ...row } of rows)
  table.push([
    name,
    ...[processor?.ours, processor?.bare, processor?.composite, row.ratio].map(figure),
    ...[row.ours, row.limit, row.composite].map(figure),
    ...[row.p50, row.p99, row.p999, row.stall, row.memory && row.memory / 1_000_000].map(figure),
    goal,
    goal === '' ? '' : reached ? 'reached' : 'missed',
  ])
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
