import type { Report } from '../domain/commit-status.js'

/** What may wait for its turn to be written: past that, a change is refused at once. */
export interface QueueBounds {
  readonly changes: number
  /** Characters that they will write. */
  readonly size: number
}

export const QUEUE_BOUNDS: QueueBounds = { changes: 10_000, size: 32 * 1024 * 1024 }

/** About what a status takes besides its texts. */
const OTHER_CHARACTERS = 400

/** About how many characters a report will write. */
export function sizeOf({ context, description, target_url }: Report): number {
  return context.length + (description?.length ?? 0) + (target_url?.length ?? 0) + OTHER_CHARACTERS
}
