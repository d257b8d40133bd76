import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { ServiceError } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Meter, Route } from '../meter.js'
import { refusalFor } from '../refusal.js'
import { requestId } from './request-id.js'

/** What an operation answers. */
export interface Answer {
  readonly status: number
  /** Sent as JSON; a buffer is sent as it is, as JSON unless `headers` say what else. */
  readonly body: object
  /** The entity tag of the body: a request that names it is answered with 304 (RFC 9110, 13.1.2). */
  readonly etag?: string
  readonly headers?: OutgoingHttpHeaders
}

/** One request and its answer: everything is answered here, and every answer is logged and measured here. */
export class Exchange {
  readonly request: IncomingMessage
  readonly #response: ServerResponse
  readonly #route: Route
  readonly #logger: Logger
  readonly #meter: Meter
  readonly #id: string
  readonly #startedAt = performance.now()

  constructor(request: IncomingMessage, response: ServerResponse, route: Route, { logger, meter }: { logger: Logger; meter: Meter }) {
    this.request = request
    this.#response = response
    this.#route = route
    this.#logger = logger
    this.#meter = meter
    this.#id = requestId(request)
  }

  /** Runs an operation and answers what it resolves to, or the refusal or failure it ends in. Never rejects. */
  async answer(operation: () => Promise<Answer> | Answer): Promise<void> {
    let answer: Answer
    let error: unknown
    try {
      answer = await operation()
    } catch (thrown) {
      error = thrown
      answer = refusal(refusalFor(thrown))
    }
    let { status } = answer
    try {
      status = this.#send(answer)
    } catch (failure) {
      this.#logger.error({ request: this.#id, err: failure }, 'the answer could not be sent')
      this.#response.destroy()
    }
    this.#note(status, error)
  }

  /** @returns the status that was sent */
  #send({ status, body, etag, headers }: Answer): number {
    const all: OutgoingHttpHeaders = { 'Cache-Control': 'private, no-cache', 'X-Content-Type-Options': 'nosniff', 'X-Request-Id': this.#id }
    if (etag !== undefined) all['ETag'] = etag
    if (etag !== undefined && names(this.request.headers['if-none-match'], etag)) {
      this.#response.writeHead(304, all)
      this.#response.end()
      return 304
    }
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    all['Content-Type'] = 'application/json; charset=utf-8'
    all['Content-Length'] = bytes.length
    if (headers) Object.assign(all, headers)
    this.#response.writeHead(status, all)
    this.#response.end(bytes)
    return status
  }

  /** Of the address only the path: a query may hold what is nobody's business. */
  #note(status: number, error: unknown): void {
    const milliseconds = performance.now() - this.#startedAt
    this.#meter.requestAnswered(this.#route, status, milliseconds / 1000)
    const facts = {
      request: this.#id,
      method: this.request.method,
      path: pathOf(this.request),
      status,
      ms: Math.round(milliseconds),
    }
    // Refusals without a cause are none of our faults, and there may be thousands: overloaded, shutting down.
    const failed = status >= 500 && error !== undefined && !(error instanceof ServiceError && error.cause === undefined)
    if (failed) this.#logger.error({ ...facts, err: error }, 'request failed')
    else this.#logger.debug(facts, 'request')
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** Whether an If-None-Match names an entity tag, weakly compared as it is for that header. */
function names(condition: string | undefined, etag: string): boolean {
  if (condition === undefined || condition === etag) return condition !== undefined
  return condition.trim() === '*' || (condition.match(/"[^"]*"/g)?.includes(etag) ?? false)
}

/** The answer that tells a client of a refusal or failure ("Error body" of the specification, RFC 9110). */
export function refusal(error: ServiceError): Answer {
  return {
    status: error.status,
    body: { error: error.message },
    headers: {
      ...(error.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...(error.retryAfter !== undefined && { 'Retry-After': error.retryAfter }),
    },
  }
}

/**
 * The answer to a method that an address does not take.
 * @param allowed the methods that it does (RFC 9110, 10.2.1)
 */
export function otherMethod(allowed: string): Answer {
  const { headers, ...answer } = refusal(new ServiceError('method_not_allowed'))
  return { ...answer, headers: { ...headers, Allow: allowed } }
}
