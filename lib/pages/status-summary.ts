import { BY_URGENCY, type State, type StoredStatus } from '../domain/commit-status.js'
import type { ReportedStatus, SentList, StoredList } from '../domain/status-list.js'

/** A status, and the user that reported it last. */
export type ShownStatus = ReportedStatus & Pick<StoredStatus, 'pending_since'>

/** What a page shows of the statuses of a commit. */
export interface ShownList {
  readonly list: { readonly state: StoredList['state']; readonly statuses: readonly ShownStatus[] }
  readonly counts: Readonly<Record<State, number>>
  /** How many are counted alone. */
  readonly hidden: number
}

/** Of a list that is not held in memory: those that have failed, and those that are pending. */
const MAX_OF_STATE = 100

export function wholeList(list: StoredList): ShownList {
  const counts = noneOfAny()
  for (const { state } of list.statuses) counts[state]++
  return { list, counts, hidden: 0 }
}

/** The statuses of a large list that somebody has to see. It is read to the last of them, and not closed. */
export async function partOfList(list: SentList): Promise<ShownList> {
  const { counts, summary } = list
  const shown = noneOfAny()
  const isWanted = (state: State): boolean =>
    state !== 'success' && shown[state] < Math.min(counts[state], MAX_OF_STATE)
  const statuses: ShownStatus[] = []
  for await (const page of BY_URGENCY.some(isWanted) ? list.pages() : []) {
    for (const status of page) {
      if (!isWanted(status.state)) continue
      shown[status.state]++
      statuses.push(status.parse())
    }
    if (!BY_URGENCY.some(isWanted)) break
  }
  return { list: { state: summary.state, statuses }, counts, hidden: summary.statuses - statuses.length }
}

function noneOfAny(): Record<State, number> {
  return { success: 0, pending: 0, failure: 0, error: 0 }
}
