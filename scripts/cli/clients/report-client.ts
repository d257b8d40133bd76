import { setTimeout } from 'node:timers/promises'
import pRetry from 'p-retry'
import type { ReportShape } from '../../../lib/domain/report.js'
import { visible } from '../terminal/visible.js'
import { ReportRefused, ServiceNotReached } from './report-failure.js'
import { AnswerTooLarge, errorIn, RequestFailed, retryAfter, send, withName } from './service-client.js'

/** How long one attempt may take: longer than the service itself waits for anything. */
const ATTEMPT_MILLISECONDS = 15_000

/** The pause after the first attempt, doubled after each further one, and up to twice as long by chance. */
const PAUSE_MILLISECONDS = 500
const LONGEST_PAUSE_MILLISECONDS = 30_000

/** What a service answers is smaller by far. */
const MAX_ANSWER_BYTES = 1024 * 1024

/** What is shown of a text of the service. */
const MAX_CHARACTERS = 500

export interface Delivery {
  /** Where to post the report. */
  readonly address: URL
  /** `owner/repo` */
  readonly repository: string
  readonly token: string
  readonly report: ReportShape
  /** How long to go on trying. */
  readonly milliseconds: number
  readonly attemptMilliseconds?: number
  /** Called for every attempt that is repeated. */
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
  let latest: RequestFailed | undefined
  try {
    return await pRetry(async () => await attempt(delivery, Math.min(attemptMilliseconds, left())), {
      signal: deadline,
      retries: Infinity,
      minTimeout: PAUSE_MILLISECONDS,
      maxTimeout: LONGEST_PAUSE_MILLISECONDS,
      randomize: true,
      shouldRetry: ({ error }) => error instanceof RequestFailed,
      onFailedAttempt: async ({ error }) => {
        if (!(error instanceof RequestFailed)) return
        latest = error
        deadline.throwIfAborted()
        if (error.retryAfter >= left())
          throw new ServiceNotReached(
            `${error.message}, and asks to come again in ${Math.ceil(error.retryAfter / 1000)} s, which is too late`,
          )
        onFailedAttempt(`${error.message}; trying again`)
        await setTimeout(error.retryAfter, undefined, { signal: deadline })
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

async function attempt({ address, repository, token, report }: Delivery, milliseconds: number): Promise<object> {
  const answer = await send(address, token, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(report),
    patience: milliseconds,
    maxBytes: MAX_ANSWER_BYTES,
  }).catch((error: unknown) => {
    throw error instanceof AnswerTooLarge ? new ReportRefused(error.message, { cause: error }) : error
  })
  const { origin, status, headers, body } = answer
  const isOfService = typeof body === 'object' && body !== null
  if (status === 201 && isOfService) return body
  const reason = errorIn(answer)
  const because = reason === undefined ? '' : ` (${beginning(withName(reason, repository))})`
  const words = `${origin} answers ${status}${because}`
  const location = headers.get('location')
  if (location !== null) {
    const target = beginning(location.replaceAll(token, '***'))
    throw new ReportRefused(`${words}, a redirect to ${target}: if that is the service, give its address`)
  }
  if (status !== 429 && status !== 503)
    throw new ReportRefused(
      isOfService ? words : `${words}, not as a commit-status service does: is the address right?`,
    )
  throw new RequestFailed(words, { retryAfter: retryAfter(answer) })
}

function beginning(text: string): string {
  return visible(text.slice(0, MAX_CHARACTERS))
}
