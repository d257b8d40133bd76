import type { Delivery } from '../contracts/hooks.js'
import type { State } from '../domain/commit-status.js'
import type { BranchMarks } from './branch-marks.js'

/** What is to be told of an entry of the outbox. */
export interface Content {
  /** One after the other; none: there is nothing to tell. */
  readonly deliveries: readonly Delivery[]
  /** For `Outbox.settle`. */
  readonly told: State | null
  /** Of branches, once so many deliveries were made; `isSending`: and the next is on its way. Absent: as before. */
  readonly marks?: (made: number, isSending: boolean) => BranchMarks
}
