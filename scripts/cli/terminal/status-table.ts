import type { ReportedItem } from '../../../lib/admin/reported-commits.js'
import { emphasised, paintedState, shownTime } from './colours.js'
import { table } from './output.js'
import { visible } from './visible.js'

/**
 * Commits with their statuses, as a person reads them: of each the combined state on top, then a row for each context.
 * @param isFirst whether nothing has been printed before it: commits have an empty line between them
 */
export function statusTable(items: readonly ReportedItem[], isFirst: boolean): string {
  const rows = items.flatMap((item) => ('status' in item ? [rowOf(item.status)] : []))
  // One table, so that the columns of all commits stand below each other.
  const drawn = rows.length === 0 ? [] : table([], rows).split('\n')
  const lines = items.flatMap((item, index) => {
    if ('status' in item) return drawn.splice(0, 1)
    const { sha, state } = item.commit
    const head = `${emphasised(sha)}  ${state === null ? 'none' : paintedState(state)}`
    return index === 0 && isFirst ? [head] : ['', head]
  })
  return lines.join('\n')
}

function rowOf({
  state,
  context,
  updated_at,
  description,
  reporter,
}: Extract<ReportedItem, { status: unknown }>['status']): string[] {
  const by = reporter ? `by ${visible(reporter.user)}` : ''
  return [`  ${paintedState(state)}`, visible(context), shownTime(updated_at), visible(description ?? ''), by]
}
