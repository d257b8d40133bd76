import { hash } from 'node:crypto'
import { combinedState } from './combined-state.js'
import type { CommitStatus, State } from './commit-status.js'

/** The statuses of a commit with their combined state ("List the statuses of a commit"). */
export interface StatusList {
  readonly state: ReturnType<typeof combinedState>
  /** Ordered by the UTF-8 bytes of `context`. */
  readonly statuses: readonly CommitStatus[]
}

/** A status as JSON, and what the combined state needs of it. */
export interface StatusText {
  readonly state: State
  readonly json: string
}

/** A `StatusList` as it is sent. */
export interface SerialisedList {
  /** JSON, UTF-8. */
  readonly bytes: Buffer
  /** A strong entity tag (RFC 9110, 8.8.3): the same for the same bytes, in every process. */
  readonly etag: string
}

export function serialisedList(texts: readonly StatusText[]): SerialisedList {
  const state = combinedState(texts.map((text) => text.state))
  const bytes = Buffer.from(`{"state":${JSON.stringify(state)},"statuses":[${texts.map((text) => text.json).join(',')}]}`)
  return { bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` }
}

/** The list once a status of it has been saved anew; `undefined` when it was not in there, and nothing tells its place. */
export function withSaved(list: SerialisedList, saved: CommitStatus): SerialisedList | undefined {
  const { statuses } = JSON.parse(list.bytes.toString()) as StatusList // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
  if (!statuses.some(({ context }) => context === saved.context)) return undefined
  return serialisedList(statuses.map((status) => (status.context === saved.context ? saved : status)).map(toText))
}

export function toText(status: CommitStatus): StatusText {
  return { state: status.state, json: JSON.stringify(status) }
}
