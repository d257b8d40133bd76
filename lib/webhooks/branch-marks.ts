import type { BranchDelivery } from '../contracts/hooks.js'

/** What a hook is taken to know of the branches of a repository: those that are not named are well. */
export type BranchMarks = readonly string[]

/** The most branches of a repository that a hook takes for broken. */
const MAX_MARKS = 1000

/** Stands before a branch of which something was sent, and nobody knows whether it arrived: no name has it. */
const UNCERTAIN = '?'

/** Whether there is nothing to tell of a branch that has come to this. */
export function isKnown(marks: BranchMarks, branch: string, event: BranchDelivery['event']): boolean {
  return !marks.includes(UNCERTAIN + branch) && marks.includes(branch) === (event === 'broken')
}

/**
 * Marks once an event is known of some branches.
 * @param sending those that are being told of it
 */
export function marksAfter(
  marks: BranchMarks,
  event: BranchDelivery['event'],
  told: readonly string[],
  sending: readonly string[] = [],
): BranchMarks {
  const changed = new Set([...told, ...sending].flatMap((branch) => [branch, UNCERTAIN + branch]))
  const broken = event === 'broken' ? told : []
  const uncertain = sending.map((branch) => UNCERTAIN + branch)
  return [...marks.filter((mark) => !changed.has(mark)), ...broken, ...uncertain].slice(-MAX_MARKS)
}
