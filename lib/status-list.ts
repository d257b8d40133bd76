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

/**
 * The list once statuses of it have been saved anew, or for the first time.
 * @param saved by context
 */
export function withSaved(list: SerialisedList, saved: ReadonlyMap<string, StatusText>): SerialisedList {
  const { statuses } = JSON.parse(list.bytes.toString()) as StatusList // eslint-disable-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
  const texts = new Map(statuses.map((status) => [status.context, saved.get(status.context) ?? toText(status)]))
  const first = [...saved].filter(([context]) => !texts.has(context))
  return serialisedList(first.length > 0 ? inOrder([...texts, ...first]) : [...texts.values()])
}

function inOrder(texts: readonly (readonly [context: string, text: StatusText])[]): StatusText[] {
  return texts
    .map(([context, text]) => ({ key: Buffer.from(context), text }))
    .sort((one, other) => Buffer.compare(one.key, other.key))
    .map(({ text }) => text)
}

export function toText(status: CommitStatus): StatusText {
  return { state: status.state, json: JSON.stringify(status) }
}
