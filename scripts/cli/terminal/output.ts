import { once } from 'node:events'
import Table from 'cli-table3'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { printLine, type Io } from './io.js'
import { visible } from './visible.js'

/** Prints records: one JSON object a line for scripts, or a table for people; nothing when there are none. */
export function printRecords<T extends object>(
  io: Io,
  records: readonly T[],
  columns: Readonly<Record<string, (record: T) => string>>,
  json: boolean | undefined,
): void {
  if (json) for (const record of records) printLine(io, jsonLine(record))
  else if (records.length > 0)
    printLine(
      io,
      table(
        Object.keys(columns),
        records.map((record) => Object.values(columns).map((cell) => visible(cell(record)))),
      ),
    )
}

/** Writes a text of any length to standard output, no faster than it is read there. */
export async function print({ stdout }: Io, text: string): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain')
}

/**
 * A table without borders, which `awk` and `cut` read as well as people do.
 * @param widths of columns, to which their texts are cut; what is not given is as wide as it must be
 */
export function table(titles: string[], rows: string[][], widths: (number | null)[] = []): string {
  const none = [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ]
  const drawn = new Table({
    head: titles,
    colWidths: widths,
    chars: { ...Object.fromEntries(none.map((name) => [name, ''])), middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  })
  drawn.push(...rows)
  return drawn.toString().replaceAll(/ +$/gm, '')
}
