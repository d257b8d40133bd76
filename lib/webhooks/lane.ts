import type { HookRecord } from '../contracts/hooks.js'

/** Deliveries on their way to one hook. */
const MAX_OF_HOOK = 4

/** Deliveries to one hook in a second: what answers each with another report goes in circles no faster. */
const [MAX_IN_WINDOW, WINDOW_MILLISECONDS] = [10, 1000]

/** Where more waits for a hook that takes what it is sent, it is sent as much as may be on its way to it. */
const BACKLOG = 100

/** What is known of a hook besides its record. */
export interface Lane {
  readonly id: string
  inFlight: number
  /** Before that, nothing is tried: something could not be read. */
  retryAt: number
  /** When the window began, and how many were sent in it. */
  window: { start: number; sent: number }
  cancel: (() => void) | undefined
  /** Nothing can be begun before the lane is woken; how often something was noted since. */
  isResting: boolean
  notes: number
  isRunning: boolean
  isWanted: boolean
}

export function newLane(id: string): Lane {
  return {
    id,
    inFlight: 0,
    retryAt: 0,
    window: { start: 0, sent: 0 },
    cancel: undefined,
    isResting: false,
    notes: 0,
    isRunning: false,
    isWanted: false,
  }
}

/**
 * How many deliveries to a hook may be begun now, as far as it is about this hook alone.
 * @param waiting how much waits for it
 * @returns `wait`: how long it is, where there will be room later by itself
 */
export function roomIn(
  lane: Lane,
  { failing_since }: HookRecord,
  waiting: number,
  now: number,
): { readonly room: number; readonly wait?: number } {
  if (Math.abs(now - lane.window.start) >= WINDOW_MILLISECONDS) lane.window = { start: now, sent: 0 }
  if (failing_since !== undefined) return { room: 1 - lane.inFlight }
  const room = MAX_OF_HOOK - lane.inFlight
  if (waiting > BACKLOG) return { room }
  const inWindow = MAX_IN_WINDOW - lane.window.sent
  return inWindow > 0 ? { room: Math.min(room, inWindow) } : { room: 0, wait: WINDOW_MILLISECONDS }
}
