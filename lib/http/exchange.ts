import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Reporter } from '../domain/commit-status.js'
import { FailedLogIn, ServiceError, toServiceError } from '../errors.js'
import { unreadableError } from '../git/commits.js'
import { chain, settle, type MaybePromise } from '../concurrency/maybe-promise.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter, RouteName } from '../contracts/meter.js'
import type { SentList } from '../domain/status-list.js'
import type { InFlight } from '../service/in-flight.js'
import { pathname } from './request-target.js'

/** What an operation answers. */
export interface Answer {
  readonly status: number
  /** Sent as JSON; a buffer is sent as it is, as JSON unless `headers` say what else. */
  readonly body: object
  /** Tells the body from every other one: the entity tag of the answer is made of it. */
  readonly digest?: string
  /** In place of the body: read as it is sent, no faster than the client takes it, and closed then. */
  readonly stream?: SentList
  /** In place of the body: sent until one of both sides ends it. */
  readonly events?: { send(response: ServerResponse): Promise<void>; close(): void }
  readonly headers?: OutgoingHttpHeaders
  /** Who reported what was saved, for the log. */
  readonly reporter?: Reporter | undefined
  /** Milliseconds that the client wanted to wait, and did: they are not the service's. */
  readonly waited?: number
}

/** An answer for which a client may wait. */
export interface PolledAnswer extends Answer {
  /** Whether it is still to come; absent: while the client knows the list by its entity tag. */
  readonly isPending?: boolean
  /** Milliseconds after which it may be another one although nothing changes. */
  readonly expiresIn?: number
}

/** The answer to a refusal or failure. */
type Refuse = (error: ServiceError) => MaybePromise<Answer>

/** One request and its answer: everything is answered here, and every answer is logged and measured here. */
export class Exchange {
  readonly request: IncomingMessage
  readonly #response: ServerResponse
  readonly #route: RouteName
  readonly #logger: Logger
  readonly #meter: Meter
  readonly #defaultHeaders: OutgoingHttpHeaders | undefined
  readonly #startedAt = performance.now()
  #knownId: string | undefined

  /** @param dependencies.headers default headers; an answer's own override them */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    route: RouteName,
    dependencies: { readonly logger: Logger; readonly meter: Meter; readonly headers?: OutgoingHttpHeaders },
  ) {
    this.request = request
    this.#response = response
    this.#route = route
    this.#logger = dependencies.logger
    this.#meter = dependencies.meter
    this.#defaultHeaders = dependencies.headers
  }

  /**
   * The id that every answer and its log lines carry: the request's own when it is short and plain, else a new one.
   * Made when it is used: thousands may wait for an answer.
   */
  get #id(): string {
    return (this.#knownId ??= sentId(this.request.headers) ?? randomUUID())
  }

  /**
   * Runs an operation and answers what comes of it, or the refusal or failure it ends in. Never throws or rejects.
   *
   * The answers of a turn of the event loop are sent together at its end: to send is most of what a list takes, and
   * the more so when the client is woken for each answer.
   * @param refuse makes the answer of a refusal; never throws or rejects
   */
  answer(operation: () => MaybePromise<Answer>, refuse: Refuse = errorAnswer): MaybePromise<void> {
    let answer: MaybePromise<Answer>
    try {
      answer = operation()
    } catch (error) {
      return this.#refuse(error, refuse)
    }
    if (answer instanceof Promise) return this.#answerLater(answer, refuse)
    this.#sendSoon(answer, undefined)
  }

  async #answerLater(operation: Promise<Answer>, refuse: Refuse): Promise<void> {
    try {
      this.#sendSoon(await operation, undefined)
    } catch (error) {
      await this.#refuse(error, refuse)
    }
  }

  #refuse(cause: unknown, refuse: Refuse): MaybePromise<void> {
    const error = unreadableError(cause)
    return chain(refuse(toServiceError(error)), (answer) => {
      this.#sendSoon(answer, error)
    })
  }

  #sendSoon(answer: Answer, error: unknown): void {
    // One for each answer: a host may know by its AsyncLocalStorage which request is answered.
    setImmediate(() => {
      if (answer.events) void this.#followed(answer, answer.events)
      else if (answer.stream) void this.#streamed(answer, answer.stream, error)
      else this.#sent(answer, error)
    })
  }

  #sent(answer: Answer, error: unknown): void {
    let { status } = answer
    try {
      status = this.#send(answer)
    } catch (cause) {
      this.#giveUp(cause)
    }
    this.#note(status, error, answer)
  }

  async #streamed(answer: Answer, stream: SentList, error: unknown): Promise<void> {
    let { status } = answer
    try {
      status = await this.#stream(answer, stream)
    } catch (cause) {
      this.#giveUp(cause)
    }
    this.#note(status, error, answer)
  }

  async #followed(answer: Answer, events: NonNullable<Answer['events']>): Promise<void> {
    const begun = performance.now()
    try {
      this.#response.writeHead(answer.status, this.#headers(undefined, answer.headers))
      if (this.request.method !== 'HEAD') await events.send(this.#response)
      this.#response.end()
    } catch (cause) {
      this.#giveUp(cause)
    } finally {
      events.close()
    }
    this.#note(answer.status, undefined, { ...answer, waited: performance.now() - begun })
  }

  #giveUp(cause: unknown): void {
    this.#logger.error({ request: this.#id, err: cause }, 'the answer could not be sent')
    // Of a response that is none, too: whatever the host has made of it.
    void settle(() => this.#response.destroy())
  }

  /** @returns the status that was sent */
  #send({ status, body, digest, headers }: Answer): number {
    const all = this.#headers(digest, headers)
    if (this.#isKnown(all)) return 304
    const bytes = Buffer.isBuffer(body) ? body : jsonBytes(body)
    all['Content-Type'] ??= 'application/json; charset=utf-8'
    all['Content-Length'] = bytes.length
    this.#response.writeHead(status, all)
    this.#response.end(bytes)
    return status
  }

  async #stream({ status, digest, headers }: Answer, stream: SentList): Promise<number> {
    try {
      const all = this.#headers(digest, headers)
      if (this.#isKnown(all)) return 304
      all['Content-Type'] = 'application/json; charset=utf-8'
      all['Content-Length'] = stream.length
      this.#response.writeHead(status, all)
      if (this.request.method !== 'HEAD') await this.#write(stream)
      this.#response.end()
      return status
    } finally {
      await stream.close()
    }
  }

  /** Writes until the client has all of it, or has gone. */
  async #write(stream: SentList): Promise<void> {
    const response = this.#response
    const gone = new AbortController()
    response.once('close', () => {
      gone.abort()
    })
    for await (const chunk of stream.chunks()) {
      if (gone.signal.aborted) return
      if (!response.write(chunk)) await once(response, 'drain', { signal: gone.signal }).catch(() => undefined)
    }
  }

  #headers(digest: string | undefined, more: OutgoingHttpHeaders | undefined): OutgoingHttpHeaders {
    const all: OutgoingHttpHeaders = {
      'Cache-Control': 'private, no-cache',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': this.#id,
    }
    // A strong entity tag (RFC 9110, 8.8.3).
    if (digest !== undefined) all['ETag'] = entityTag(digest)
    if (this.#defaultHeaders) Object.assign(all, this.#defaultHeaders)
    if (more) Object.assign(all, more)
    return all
  }

  /** Answers 304 to a request that names the entity tag (RFC 9110, 13.1.2). @returns whether it has */
  #isKnown(headers: OutgoingHttpHeaders): boolean {
    const { ETag: etag } = headers
    if (typeof etag !== 'string' || !names(this.request.headers['if-none-match'], etag)) return false
    const { 'Content-Type': _, ...known } = headers
    this.#response.writeHead(304, known)
    this.#response.end()
    return true
  }

  /** Logs and measures the answer. Only the path of the address: a query may hold what is nobody's business. */
  #note(status: number, error: unknown, answer: Answer): void {
    const { reporter } = answer
    const milliseconds = performance.now() - this.#startedAt - (answer.waited ?? 0)
    this.#meter.requestAnswered(this.#route, status, milliseconds / 1000)
    const facts = {
      request: this.#id,
      method: this.request.method,
      path: pathname(String(this.request.url)),
      status,
      ms: Math.round(milliseconds),
      ...(reporter && { reporter }),
    }
    // Refusals without a cause are none of our faults, and there may be thousands: overloaded, shutting down.
    const failed = status >= 500 && error !== undefined && !(error instanceof ServiceError && error.cause === undefined)
    if (failed) this.#logger.error({ ...facts, err: error }, 'request failed')
    else if (error instanceof FailedLogIn)
      this.#logger.info({ ...facts, ...error.attempt }, 'failed authentication attempt')
    else this.#logger.debug(facts, 'request')
  }
}

/** What is sent of an answer; with a line feed at its end, for terminals. */
export function jsonBytes(body: object): Buffer {
  return Buffer.from(`${JSON.stringify(body)}\n`)
}

/** @param headers `undefined` of what a host hands over that is no request of node:http */
function sentId(headers: IncomingHttpHeaders | undefined): string | undefined {
  const sent = headers?.['x-request-id']
  return typeof sent === 'string' && /^[\w.-]{1,64}$/.test(sent) ? sent : undefined
}

/** A strong one. */
function entityTag(digest: string): string {
  return `"${digest}"`
}

/** Whether a client has said, by its entity tag, that it knows what it would be answered. */
export function isKnown({ headers }: IncomingMessage, digest: string | undefined): boolean {
  return digest !== undefined && names(headers['if-none-match'], entityTag(digest))
}

/** Whether an If-None-Match names an entity tag, weakly compared as it is for that header. */
function names(condition: string | undefined, etag: string): boolean {
  if (condition === undefined || condition === etag) return condition !== undefined
  return condition.trim() === '*' || (condition.match(/"[^"]*"/g)?.includes(etag) ?? false)
}

/** The answer that a list is. One that is not held in memory counts as under way until it has been sent. */
export function listAnswer(list: SentList, inFlight: InFlight): Answer {
  const { bytes, digest } = list
  return bytes ? { status: 200, body: bytes, digest } : { status: 200, body: {}, digest, stream: inFlight.track(list) }
}

/** The answer that reports a refusal or failure to a client ("Error body" of the specification, RFC 9110). */
export function errorAnswer(error: ServiceError): Answer {
  return {
    status: error.status,
    body: { error: error.message },
    headers: {
      ...(error.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...(error.retryAfter !== undefined && { 'Retry-After': error.retryAfter }),
    },
  }
}

/** An answer that names the methods an address takes. */
export function allowing(allowed: string, answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, Allow: allowed } }
}
