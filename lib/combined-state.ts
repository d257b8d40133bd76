import type { State } from './commit-status.js'

/**
 * The combined state of a commit over the statuses of all its contexts ("Combined state", rules 1-4).
 * @returns `null` for a commit with no statuses.
 */
export function combinedState(states: readonly State[]): 'failure' | 'pending' | 'success' | null {
  if (states.length === 0) return null
  if (states.some((state) => state === 'failure' || state === 'error')) return 'failure'
  if (states.includes('pending')) return 'pending'
  return 'success'
}

/** What is told of one commit among many. */
export interface CommitState {
  readonly state: ReturnType<typeof combinedState>
  /** How many statuses it has. */
  readonly statuses: number
}

/** The states of the commits that were asked for and are there, by full id in lower case. */
export interface CommitStates {
  readonly states: Readonly<Record<string, CommitState>>
}

/** How many commits may be asked for at once. */
export const MAX_STATES = 100

/** @param states of each of its statuses */
export function commitState(states: readonly State[]): CommitState {
  return { state: combinedState(states), statuses: states.length }
}
