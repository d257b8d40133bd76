import { setTimeout } from 'node:timers/promises'
import pRetry from 'p-retry'
import { errorMessage } from '../../../lib/errors.js'
import type { ReportShape } from '../../../lib/domain/report.js'
import { visible } from '../terminal/visible.js'
import { answerText } from './answer-text.js'
import { certificateAdvice } from './certificate.js'
import { ReportRefused, ServiceNotReached } from './report-failure.js'

/** How long one attempt may take: longer than the service itself waits for anything. */
const ATTEMPT_MILLISECONDS = 15_000

/** The pause after the first attempt, doubled after each further one, and up to twice as long by chance. */
const PAUSE_MILLISECONDS = 500
const LONGEST_PAUSE_MILLISECONDS = 30_000

/** What a service answers is smaller by far. */
const MAX_ANSWER_BYTES = 1024 * 1024

/** What is shown of a text of the service. */
const MAX_CHARACTERS = 500

/** An attempt that is worth repeating. */
class NotNow extends Error {
  readonly retryAfterMilliseconds: number

  constructor(message: string, options: { retryAfterMilliseconds?: number; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.retryAfterMilliseconds = options.retryAfterMilliseconds ?? 0
  }
}

export interface Delivery {
  /** Where to post the report. Redirects are not followed: the token is for this host. */
  readonly address: URL
  readonly token: string
  readonly report: ReportShape
  /** How long to go on trying. */
  readonly milliseconds: number
  readonly attemptMilliseconds?: number
  /** Told of every attempt that is repeated. */
  readonly onFailedAttempt: (words: string) => void
}

/**
 * Reports a status over HTTP. Tries again, jittered, while the service is not reached or answers 429 or 503, and not
 * before the time that its `Retry-After` names.
 * @returns the saved status, as the service sent it
 * @throws ReportRefused, ServiceNotReached
 */
export async function deliver(delivery: Delivery): Promise<object> {
  const { milliseconds, attemptMilliseconds = ATTEMPT_MILLISECONDS, onFailedAttempt } = delivery
  const until = performance.now() + milliseconds
  const left = (): number => Math.max(0, Math.ceil(until - performance.now()))
  const deadline = AbortSignal.timeout(milliseconds)
  let latest: NotNow | undefined
  try {
    return await pRetry(async () => await attempt(delivery, Math.min(attemptMilliseconds, left())), {
      signal: deadline,
      retries: Infinity,
      minTimeout: PAUSE_MILLISECONDS,
      maxTimeout: LONGEST_PAUSE_MILLISECONDS,
      randomize: true,
      shouldRetry: ({ error }) => error instanceof NotNow,
      onFailedAttempt: async ({ error }) => {
        if (!(error instanceof NotNow)) return
        latest = error
        deadline.throwIfAborted()
        const { retryAfterMilliseconds } = error
        if (retryAfterMilliseconds >= left())
          throw new ServiceNotReached(
            `${error.message}, and asks to come again in ${Math.ceil(retryAfterMilliseconds / 1000)} s, which ` +
              `is too late`,
          )
        onFailedAttempt(`${error.message}; trying again`)
        await setTimeout(retryAfterMilliseconds, undefined, { signal: deadline })
      },
    })
  } catch (error) {
    if (error instanceof ReportRefused || error instanceof ServiceNotReached || !deadline.aborted) throw error
    throw new ServiceNotReached(
      `${latest?.message ?? `${delivery.address.origin} did not answer`}; gave up after ${milliseconds / 1000} s`,
      { cause: error },
    )
  }
}

async function attempt({ address, token, report }: Delivery, milliseconds: number): Promise<object> {
  const { origin } = address
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'application/json' }
  let response: Response
  let text: string
  try {
    response = await fetch(address, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body: JSON.stringify(report),
      signal: AbortSignal.timeout(milliseconds),
    })
    text = await answerText(response, MAX_ANSWER_BYTES)
  } catch (cause) {
    if (isTooLarge(cause))
      throw new ReportRefused(`${origin} sends an answer without end: it is no commit-status service`, { cause })
    const words = `${origin} cannot be reached: ${connectionReason(cause, milliseconds)}`
    const advice = certificateAdvice(cause)
    if (advice !== undefined) throw new ServiceNotReached(`${words}; ${advice}`, { cause })
    throw new NotNow(words, { cause })
  }
  // Should a proxy show what it was sent.
  const masked = (sent: string): string => sent.replaceAll(token, '***')
  const answer = parsed(masked(text))
  const { status } = response
  if (status === 201 && answer) return answer
  const words = `${origin} answers ${status}${reasonIn(answer)}`
  const location = response.headers.get('location')
  if (location !== null)
    throw new ReportRefused(
      `${words}, a redirect to ${shown(masked(location))}: if that is the service, give its address`,
    )
  if (status !== 429 && status !== 503)
    throw new ReportRefused(answer ? words : `${words}, not as a commit-status service does: is the address right?`)
  throw new NotNow(words, { retryAfterMilliseconds: retryAfter(response.headers.get('retry-after')) })
}

/** Seconds or a date (RFC 9110, 10.2.3), as milliseconds from now. */
function retryAfter(value: string | null): number {
  if (value === null) return 0
  const time = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(time) ? 0 : Math.max(0, time)
}

function parsed(text: string): object | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return typeof answer === 'object' && answer !== null ? answer : undefined
  } catch {
    return undefined
  }
}

function reasonIn(answer: object | undefined): string {
  return answer && 'error' in answer && typeof answer.error === 'string' ? ` (${shown(answer.error)})` : ''
}

function shown(text: string): string {
  return visible(text.slice(0, MAX_CHARACTERS))
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'entity.too.large'
}

/**
 * fetch says no more than that it failed; why is in its causes, of which one that tried two addresses has no message.
 */
function connectionReason(error: unknown, milliseconds: number): string {
  if (!(error instanceof Error)) return errorMessage(error)
  if (error.name === 'TimeoutError') return `no answer within ${milliseconds / 1000} s`
  if (error.cause instanceof Error) return connectionReason(error.cause, milliseconds)
  return error.message === '' && 'code' in error ? String(error.code) : errorMessage(error)
}
