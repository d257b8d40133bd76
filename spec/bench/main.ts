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
    against: { type: 'string' },
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
  against: values.against,
  tell,
}
for (const measure of cases.filter(({ name }) => name.includes(values.only))) {
  tell(`${measure.name} …`)
  rows.push(...(await measure.run(setting)))
}
tell('')

const columns: readonly (readonly [string, (row: Row) => number | undefined])[] = [
  ['µs', ({ processor }) => processor?.ours],
  ...(values.against === undefined ? [] : [['against', ({ processor }: Row) => processor?.against] as const]),
  ['bare', ({ processor }) => processor?.bare],
  ['composite', ({ processor }) => processor?.composite],
  ['beside', ({ processor }) => processor?.beside],
  ['ratio', ({ ratio }) => ratio],
  ['a second', ({ ours }) => ours],
  ['bare', ({ limit }) => limit],
  ['composite', ({ composite }) => composite],
  ['p50 ms', ({ p50 }) => p50],
  ['p99', ({ p99 }) => p99],
  ['p99.9', ({ p999 }) => p999],
  ['stall ms', ({ stall }) => stall],
  ['MB', ({ memory }) => memory && memory / 1_000_000],
]
const table = new Table({
  head: ['case', ...columns.map(([head]) => head), 'goal', ''],
  style: { head: [], border: [] },
  colAligns: ['left', ...columns.map(() => 'right' as const), 'left', 'left'],
})
for (const row of rows) {
  const { name, goal, reached } = row
  table.push([
    name,
    ...columns.map(([, of]) => figure(of(row))),
    goal,
    goal === '' ? '' : reached ? 'reached' : 'missed',
  ])
}
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
