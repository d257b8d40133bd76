import type { DeliveryResult, HookAttempt, HookRecord } from '../contracts/hooks.js'

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]

/** The longest pause after so many failures; after more of them it is a day. */
const PAUSES = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR]

/** No pause is longer; what says so was written while a clock was wrong. */
export const LONGEST_PAUSE_MILLISECONDS = DAY

/** The longest time without success for which a receiver is tried. */
const PATIENCE_MILLISECONDS = 3 * DAY

/** What a hook is after a delivery that succeeded. */
export function afterSuccess(hook: HookRecord, last: HookAttempt): HookRecord {
  const { failing_since: _since, attempts: _attempts, next_attempt_at: _next, ...rest } = hook
  return { ...rest, last }
}

/**
 * What a hook is after a delivery that failed. Of several that were on their way when it began to fail, one counts.
 * @param tried the hook as it was when the delivery was begun
 * @param since when the oldest of what waits for it began to
 * @param now milliseconds since 1970 UTC
 * @param random 0 to 1: full jitter, so that those who were cut off together do not come back together
 */
export function afterFailure(
  hook: HookRecord,
  tried: HookRecord,
  last: HookAttempt,
  { kind, retryAfterSeconds = 0 }: DeliveryResult,
  since: string,
  now: number,
  random: number,
): HookRecord {
  if (hook.state === 'stopped') return hook
  if (kind === 'gone') return stopped({ ...hook, last }, 'its receiver wants no more (410)', since)
  if (hook.attempts !== tried.attempts) return { ...hook, last }
  const failing_since = hook.failing_since ?? new Date(now).toISOString()
  const attempts = (hook.attempts ?? 0) + 1
  const pause = (PAUSES[attempts - 1] ?? DAY) * random
  const next_attempt_at = new Date(now + Math.max(pause, SECOND, retryAfterSeconds * SECOND)).toISOString()
  const failing = { ...hook, last, failing_since, attempts, next_attempt_at }
  // What was tried a few times, and then had nothing to be tried with, was not tried for so long.
  return now - Date.parse(failing_since) > PATIENCE_MILLISECONDS && attempts > PAUSES.length
    ? stopped(failing, 'no delivery has succeeded for three days', since)
    : failing
}

/** A hook that the service stops. @param since when the oldest of what waits for it began to: none of it is kept */
export function stopped(hook: HookRecord, stopped_because: string, since: string): HookRecord {
  const { behind_since = since } = hook
  return { ...hook, state: 'stopped', stopped_because, behind_since: behind_since < since ? behind_since : since }
}

/** A hook that goes on: with a fresh start. */
export function resumed(hook: HookRecord): HookRecord {
  const { failing_since: _since, attempts: _attempts, next_attempt_at: _next, stopped_because: _why, ...rest } = hook
  return { ...rest, state: 'active' }
}
