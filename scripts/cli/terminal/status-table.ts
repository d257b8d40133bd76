import type { ReportedItem } from '../../../lib/admin/reported-commits.js'
import { emphasised, paintedState, shownTime } from './colours.js'
import { hasColours, type Io } from './io.js'
import { table } from './output.js'
import { visible } from './visible.js'

/**
 * Commits with their statuses, as a person reads them: of each the combined state on top, then a row for each context.
 * @param isFirst whether nothing has been printed before it: commits have an empty line between them
 */
export function statusTable(io: Io, items: readonly ReportedItem[], isFirst: boolean): string {
  const isColoured = hasColours(io)
  const statuses = items.flatMap((item) => ('status' in item ? [item.status] : []))
  const all = statuses.map((status) => rowOf(status, isColoured, io.stdout.isTTY === true))
  // The column of reporters is there where one is known.
  const rows = statuses.some(({ reporter }) => reporter) ? all : all.map((row) => row.toSpliced(REPORTER, 1))
  // One table, so that the columns of all commits stand below each other.
  const drawn = rows.length === 0 ? [] : table([], rows).split('\n')
  const lines = items.flatMap((item, index) => {
    if ('status' in item) return drawn.splice(0, 1)
    const { sha, state } = item.commit
    const head = `${emphasised(sha, isColoured)}  ${state === null ? 'none' : paintedState(state, isColoured)}`
    return index === 0 && isFirst ? [head] : ['', head]
  })
  return lines.join('\n')
}

/** Which column names the reporter. */
const REPORTER = 3

function rowOf(
  { state, context, updated_at, description, reporter }: Extract<ReportedItem, { status: unknown }>['status'],
  isColoured: boolean,
  isTerminal: boolean,
): string[] {
  const by = reporter ? `by ${visible(reporter.user)}` : ''
  return [
    `  ${paintedState(state, isColoured)}`,
    visible(context),
    shownTime(updated_at, isTerminal),
    by,
    visible(description ?? ''),
  ]
}
