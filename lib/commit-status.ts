/** The states of a status ("States and transitions" of the specification), in no order. */
export const STATES = ['pending', 'success', 'failure', 'error'] as const

export type State = (typeof STATES)[number]

/** The result of one check on one commit, in the form the API shows it ("Commit status" of the specification). */
export interface CommitStatus {
  /** Opaque; made at the first report of a context and kept when a later report replaces it. */
  readonly id: string
  /** The full commit id, lower case. */
  readonly sha: string
  readonly context: string
  readonly state: State
  readonly description: string | null
  readonly target_url: string | null
  /** Time of the first report of the context: UTC, `2026-01-31T12:34:56.789Z`. */
  readonly created_at: string
  /** Time of the latest report; never earlier than `created_at` or than its own former value. */
  readonly updated_at: string
}

/** What a report says of a check, once every rule has been kept. */
export interface Report {
  readonly state: State
  /** 1 to 255 Unicode code points. */
  readonly context: string
  /** At most 1024 Unicode code points. */
  readonly description: string | null
  /** An absolute http or https URL, at most 2048 bytes, as it was sent. */
  readonly target_url: string | null
}

export function isState(text: string): text is State {
  return STATES.some((state) => state === text)
}
