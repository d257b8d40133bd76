import type { Report } from '../../lib/domain/commit-status.js'

/** When something was asked and when it was answered, in milliseconds of the monotonic clock. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The statuses of one commit of one repository: `owner/repo sha`. */
export type Commit = string

/**
 * A report that was sent. No two reports of a history have the same description.
 *
 * `acknowledged`: answered with 201. `refused`: answered in a way that says that nothing was done (4xx).
 * `unknown`: answered with 503, or not at all: it may have happened, at any time from `from` to `to`, or never.
 */
export interface Write extends Span {
  readonly commit: Commit
  readonly report: Report & { readonly description: string }
  readonly outcome: 'acknowledged' | 'refused' | 'unknown'
  /** The body of a 201. */
  readonly answer?: unknown
}

/** A list that was answered with 200. */
export interface Read extends Span {
  readonly commit: Commit
  /** The body. */
  readonly answer: unknown
}

/** What clients did with a service that had nothing stored before, and what they were told. */
export interface History {
  readonly writes: readonly Write[]
  readonly reads: readonly Read[]
}
