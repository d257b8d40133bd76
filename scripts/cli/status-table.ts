import type { ReportedCommit } from '../../lib/admin/latest-commits.js'
import { visible, table } from './output.js'
import { emphasised, paintedState, shownTime } from './paint.js'

/** Commits with their statuses, as a person reads them: of each the combined state on top, then a row for each context. */
export function statusTable(commits: readonly ReportedCommit[]): string {
  const rows = commits.flatMap(({ statuses }) => statuses.map(({ state, context, updated_at, description }) => [`  ${paintedState(state)}`, visible(context), shownTime(updated_at), visible(description ?? '')]))
  // One table, so that the columns of all commits stand below each other.
  const lines = table([], rows).split('\n')
  return commits.map(({ sha, state, statuses }) => [`${emphasised(sha)}  ${state === null ? 'none' : paintedState(state)}`, ...lines.splice(0, statuses.length)].join('\n')).join('\n\n')
}
