/** Where the time comes from; replaceable, so that a test or a host can set it. */
export interface Clock {
  /** Milliseconds since 1970 UTC. May step, back as well. For what people read and for token expiry. */
  now(): number
}

export const systemClock: Clock = { now: Date.now }
