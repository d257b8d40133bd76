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
