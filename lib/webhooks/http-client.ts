import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Clock } from '../contracts/clock.js'
import type { DeliveryResult } from '../contracts/hooks.js'
import { errorMessage } from '../errors.js'
import { retryAfterMilliseconds } from '../http/retry-after.js'
import { RefusedAddress, type AddressPolicy } from './address-policy.js'

/** What is sent. */
export interface Message {
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
}

/** How long a name may take to be looked up, a message to be sent and its answer to arrive, all together. */
const ANSWER_MILLISECONDS = 10_000

/** Nobody reads an answer; as much of it is taken as lets a receiver end in peace. */
const ANSWER_BYTES = 1024

/** The longest time that a receiver may ask for. */
const RETRY_AFTER_SECONDS = 3600

/**
 * Sends messages to receivers: each over a connection of its own, to an address that the policy allows. Redirects are
 * not followed, and proxies of the environment not asked.
 */
export class HttpClient {
  readonly #policy: AddressPolicy
  readonly #clock: Clock
  readonly #answerMilliseconds: number

  constructor(policy: AddressPolicy, clock: Clock, answerMilliseconds = ANSWER_MILLISECONDS) {
    this.#policy = policy
    this.#clock = clock
    this.#answerMilliseconds = answerMilliseconds
  }

  /** Tries once. Never rejects. @param stopped ends it at once */
  async post(address: string, message: Message, stopped: AbortSignal): Promise<DeliveryResult> {
    const start = performance.now()
    const late = AbortSignal.timeout(this.#answerMilliseconds)
    const result = await this.#answer(address, message, AbortSignal.any([late, stopped])).catch(
      (error: unknown): Omit<DeliveryResult, 'milliseconds'> => {
        if (error instanceof RefusedAddress) return { kind: 'refused', reason: error.message }
        if (stopped.aborted) return { kind: 'failed', reason: 'it was broken off, since the service stops' }
        const seconds = this.#answerMilliseconds / 1000
        return { kind: 'failed', reason: late.aborted ? `no whole answer within ${seconds} s` : failureOf(error) }
      },
    )
    return { ...result, milliseconds: Math.round(performance.now() - start) }
  }

  async #answer(
    address: string,
    { headers, body }: Message,
    signal: AbortSignal,
  ): Promise<Omit<DeliveryResult, 'milliseconds'>> {
    const url = this.#policy.parse(address)
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const { lookup } = this.#policy
      const options = { method: 'POST', headers: { ...headers, 'Content-Length': body.length }, signal, lookup }
      request(url, { ...options, agent: false })
        .on('response', resolve)
        .on('error', reject)
        // What switches to another protocol ends without an error.
        .on('close', () => reject(new Error('the connection was closed without an answer')))
        .end(body)
    })
    await drained(response)
    // An answer that ends with its connection ends well for Node.js, whoever has closed it.
    signal.throwIfAborted()
    const { statusCode = 0 } = response
    const retryAfterSeconds = this.#retryAfter(response.headers['retry-after'])
    return {
      kind: statusCode >= 200 && statusCode < 300 ? 'ok' : statusCode === 410 ? 'gone' : 'failed',
      status: statusCode,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      reason: reasonOf(statusCode),
    }
  }

  #retryAfter(text = ''): number | undefined {
    const milliseconds = retryAfterMilliseconds(text, this.#clock.now())
    return milliseconds === undefined
      ? undefined
      : Math.min(Math.max(Math.ceil(milliseconds / 1000), 0), RETRY_AFTER_SECONDS)
  }
}

/** Takes an answer to its end, or as much of it as is taken of any. */
async function drained(response: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let bytes = 0
    response
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= ANSWER_BYTES) return
        resolve()
        response.destroy()
      })
      .on('end', resolve)
      .on('error', reject)
  })
}

/** Without the receiver's own words, which may repeat the path of the address. */
function reasonOf(status: number): string {
  return status >= 300 && status < 400
    ? `the answer was ${status}: redirects are not followed`
    : `the answer was ${status}`
}

/** What Node.js says; of several addresses that were tried, of each. */
function failureOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(errorMessage).join(', ') : errorMessage(error)
}
