import { hash } from 'node:crypto'
import type { CommitStatus } from '../../domain/commit-status.js'

/*
 * Go, Java and Ruby clients take nothing but numbers for ids, and ours are texts. The numbers are made of what they
 * stand for, so that they are the same after every read, restart, export and import, and in every instance.
 */

/** Of a report: another one for each, as where the clients come from. Exact in JavaScript, `long` in Java. */
export function reportNumber({ id, updated_at }: CommitStatus): number {
  return firstBits48(`${id} ${updated_at}`)
}

/** Of a status: the same one when it is reported on again. */
export function statusNumber({ id }: CommitStatus): number {
  return firstBits48(id)
}

/**
 * Of a repository that clients ask for by its number. It has 48 bits: whoever may make repositories can look for a name
 * with the number of another's, and finds one with 31 in minutes.
 */
export function projectNumber(name: string): number {
  return firstBits48(name)
}

/** Of a person, repository or pipeline, by its name: 31 bits, as some clients count with no more. */
export function nameNumber(name: string): number {
  return Math.max(1, hash('sha256', name, 'buffer').readUInt32BE(0) >>> 1)
}

function firstBits48(text: string): number {
  return Math.max(1, hash('sha256', text, 'buffer').readUIntBE(0, 6))
}
