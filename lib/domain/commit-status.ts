/** The states of a status ("States and transitions" of the specification), in no order. */
export const STATES = ['pending', 'success', 'failure', 'error'] as const

export type State = (typeof STATES)[number]

/** What failed first, then what is still to come: the order in which people are shown statuses. */
export const BY_URGENCY = ['failure', 'error', 'pending', 'success'] as const satisfies readonly State[]

/** The same statuses in that order; of one state they stay as they were. */
export function byUrgency<Status extends { readonly state: State }>(statuses: readonly Status[]): Status[] {
  return statuses.toSorted((one, other) => BY_URGENCY.indexOf(one.state) - BY_URGENCY.indexOf(other.state))
}

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

/** Who sent a report. */
export interface Reporter {
  /** `host` for the program that the service lives in, on its own account. */
  readonly user: string
  /** The id of the token, `null` where there was none, or none that has an id. */
  readonly token: string | null
}

/** A status as it is kept: with what the answers of the API do not show. */
export interface StoredStatus extends CommitStatus {
  /** Who reported it last; absent where nobody knows, since it was saved before that was kept. */
  readonly reporter?: Reporter
  /**
   * Since when it has been pending, or had been until it settled: the `updated_at` of then. Absent where it settled
   * without having been pending, and where nobody knows, since it was saved before that was kept.
   */
  readonly pending_since?: string
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
  /** Who sent it, as far as it is known. */
  readonly reporter?: Reporter
}

/** The members that the API shows, in their order; no others. */
export function toApiStatus({
  id,
  sha,
  context,
  state,
  description,
  target_url,
  created_at,
  updated_at,
}: CommitStatus): CommitStatus {
  return { id, sha, context, state, description, target_url, created_at, updated_at }
}

/**
 * `pending_since` of what a report makes of the status that it replaces.
 * @param updated_at of what it makes of it
 */
export function pendingSince(
  previous: StoredStatus | undefined,
  state: State,
  updated_at: string,
): Pick<StoredStatus, 'pending_since'> {
  const known = previous?.state === 'pending' ? previous.pending_since : undefined
  const since = known ?? (state === 'pending' ? updated_at : undefined)
  return since === undefined ? {} : { pending_since: since }
}

export function isState(text: string): text is State {
  return STATES.some((state) => state === text)
}

export function hasFailed({ state }: { readonly state: State }): boolean {
  return state === 'failure' || state === 'error'
}

/**
 * The combined state of a commit over the statuses of all its contexts ("Combined state", rules 1-4).
 * @returns `null` for a commit with no statuses.
 */
export function combinedState(states: readonly State[]): 'failure' | 'pending' | 'success' | null {
  if (states.length === 0) return null
  if (states.some((state) => hasFailed({ state }))) return 'failure'
  if (states.includes('pending')) return 'pending'
  return 'success'
}

/** The state of one commit among many. */
export interface CommitState {
  readonly state: ReturnType<typeof combinedState>
  /** How many statuses it has. */
  readonly statuses: number
  /** Where they were asked for: the contexts that failed, ordered by their UTF-8 bytes, the first of them. */
  readonly failed?: readonly string[]
}

/** The states of the commits that were asked for and are there, by full id in lower case. */
export interface CommitStates {
  readonly states: Readonly<Record<string, CommitState>>
}

/** How many commits may be asked for at once. */
export const MAX_STATES = 100

/** How many contexts that failed are named for each of them. */
export const MAX_FAILED = 20

/** @param states of each of its statuses */
export function commitState(states: readonly State[]): CommitState {
  return { state: combinedState(states), statuses: states.length }
}
