import { setTimeout } from 'node:timers/promises'
import type { StatusList } from '../../../lib/domain/status-list.js'
import { patternMatcher } from '../../../lib/domain/verdict/pattern.js'
import { MAX_REQUIRED, type VerdictQuery } from '../../../lib/domain/verdict/rule.js'
import type { Verdict } from '../../../lib/domain/verdict/verdict.js'
import { isRefusal, RequestFailed, shown } from '../clients/service-client.js'
import { askList, askVerdict, type AskedCommit } from '../clients/verdict-client.js'
import { warn, type Io } from '../terminal/io.js'
import { SettledStatuses } from './settled-statuses.js'

/** Exit statuses. */
const SUCCESS = 0
const FAILED = 1
const NO_VERDICT = 3
const REFUSED = 4

/** How long one question is left with the service, and how much longer an answer may take. */
const WAIT_SECONDS = 30
const ANSWER_MILLISECONDS = 15_000

/** Past the end of the time, for an answer that is on its way. */
const GRACE_MILLISECONDS = 2_000

/** Without a requirement nobody knows what is still to come: so long nothing may have changed. */
const QUIET_SECONDS = 10

/** Before the next question to a service that lets nobody wait. */
const POLL_MILLISECONDS = 2_000

const FIRST_PAUSE_MILLISECONDS = 500
const LONGEST_PAUSE_MILLISECONDS = 30_000

export interface WaitingTime {
  /** How long to wait at the most. */
  readonly milliseconds: number
  readonly failFast: boolean
  readonly json: boolean
}

/** Waits for the verdict of a commit, and prints what comes. @returns the exit status */
export async function waitForVerdict(
  io: Io,
  commit: AskedCommit,
  query: VerdictQuery,
  time: WaitingTime,
): Promise<number> {
  const until = performance.now() + time.milliseconds
  const left = (): number => Math.max(0, until - performance.now())
  /** An answer that comes after the time is none. */
  const within = (milliseconds: number): AbortSignal =>
    AbortSignal.timeout(Math.ceil(Math.min(milliseconds, left() + GRACE_MILLISECONDS)))
  const settled = new SettledStatuses(io, time.json)
  let pause = FIRST_PAUSE_MILLISECONDS
  let known: string | undefined
  let verdict: Verdict | undefined
  let quietSince = Infinity
  let failure: RequestFailed | undefined
  /** Shows the list when it is another one than before. @param seconds how long to wait for that */
  const look = async (seconds: number): Promise<boolean> => {
    const signal = within(seconds * 1000 + ANSWER_MILLISECONDS)
    const found = await askList(commit, known === undefined ? undefined : { etag: known, seconds }, signal)
    // Some proxies answer as if nothing had been known.
    if (!found || (known !== undefined && found.etag === known)) return false
    known = found.etag === '' ? undefined : found.etag
    settled.show(found.list)
    quietSince = Infinity
    return true
  }
  const judge = async (rule: VerdictQuery) => await askVerdict(commit, rule, within(ANSWER_MILLISECONDS))
  while (left() > 0) {
    try {
      const seconds = Math.min(WAIT_SECONDS, Math.ceil(left() / 1000), secondsOfQuiet(quietSince))
      const asked = performance.now()
      const isChanged = await look(seconds)
      let isFailed
      do {
        verdict = await judge(query)
        isFailed =
          verdict.verdict === 'failure' && (time.failFast || !(await isToCome(verdict, settled.list, query, judge)))
        // What was reported since the list is shown before the verdict that counts it.
      } while (known !== undefined && (await look(0)))
      failure = undefined
      pause = FIRST_PAUSE_MILLISECONDS
      if (verdict.verdict === 'success') {
        if (verdict.required.length > 0) return settled.end(verdict, SUCCESS)
        quietSince = Math.min(quietSince, performance.now())
        if (performance.now() - quietSince >= QUIET_SECONDS * 1000) return settled.end(verdict, SUCCESS)
      } else quietSince = Infinity
      if (isFailed) return settled.end(verdict, FAILED)
      if (performance.now() - asked < POLL_MILLISECONDS / 2 && (!isChanged || known === undefined))
        await setTimeout(Math.min(POLL_MILLISECONDS, left()))
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error
      if (isRefusal(error)) {
        warn(io, error.message)
        return REFUSED
      }
      failure = error
      warn(io, `${error.message}; trying again`)
      await setTimeout(Math.min(left(), Math.max(pause * (1 + Math.random()), error.retryAfter)))
      pause = Math.min(pause * 2, LONGEST_PAUSE_MILLISECONDS)
    }
  }
  if (verdict?.verdict === 'failure' && !failure) return settled.end(verdict, FAILED)
  const missing = verdict || !failure ? [describeMissing(verdict, settled.list)] : []
  warn(io, `no verdict in time: ${[...missing, ...(failure ? [failure.message] : [])].join('; ')}`)
  return NO_VERDICT
}

function secondsOfQuiet(since: number): number {
  if (since === Infinity) return WAIT_SECONDS
  return Math.max(1, Math.ceil(QUIET_SECONDS - (performance.now() - since) / 1000))
}

/** Whether something that is required is still to come: else a failure is all that there will be. */
async function isToCome(
  { required, reasons = [] }: Verdict,
  list: StatusList | undefined,
  { by, stale }: VerdictQuery,
  judge: (rule: VerdictQuery) => Promise<Verdict>,
): Promise<boolean> {
  // What others have reported is still to come from whom it is required.
  if (reasons.length > 0 || required.some(({ state }) => state === null)) return true
  const patterns = (required.length > 0 ? required.map(({ require }) => require) : ['*']).map(patternMatcher)
  const pending = (list?.statuses ?? [])
    .filter(({ context, state }) => state === 'pending' && patterns.some((matches) => matches(context)))
    .map(({ context }) => context)
  if (!by?.length && stale === undefined) return pending.length > 0
  // Who has reported it, and when it is stale, only the service knows.
  for (let start = 0; start < pending.length; start += MAX_REQUIRED) {
    const rule = { require: pending.slice(start, start + MAX_REQUIRED), ...(by && { by }), ...(stale && { stale }) }
    const { required: judged } = await judge(rule)
    if (judged.some(({ state }) => state === 'pending')) return true
  }
  return false
}

function describeMissing(verdict: Verdict | undefined, list: StatusList | undefined): string {
  const missing = verdict?.required.filter(({ state }) => state === null || state === 'pending') ?? []
  if (missing.length > 0) {
    const named = missing.map(({ require, state }) => `${shown(require)} (${state ?? 'no report yet'})`).join(', ')
    return [named, ...(verdict?.reasons ?? []).map(shown)].join('; ')
  }
  const pending = list?.statuses.filter(({ state }) => state === 'pending').map(({ context }) => shown(context)) ?? []
  return pending.length > 0 ? `${pending.join(', ')} (pending)` : 'no report yet'
}
