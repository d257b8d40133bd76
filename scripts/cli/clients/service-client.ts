import { Readable } from 'node:stream'
import getRawBody from 'raw-body'
import { catalogue, errorMessage } from '../../../lib/errors.js'
import { retryAfterMilliseconds } from '../../../lib/http/retry-after.js'
import { visible } from '../terminal/visible.js'
import { certificateAdvice } from './certificate.js'
import { ServiceNotReached } from './report-failure.js'

/** What is shown of a text of the service. */
const MAX_CHARACTERS = 300

/** A repository of a service, and as whom it is asked. */
export interface Endpoint {
  /** Base of the service's addresses. */
  readonly url: URL
  readonly token: string | undefined
  /** `owner/repo` */
  readonly repository: string
}

interface ServiceRequest extends Pick<RequestInit, 'method' | 'body'> {
  readonly headers?: Readonly<Record<string, string>>
  /** For how many milliseconds an answer is waited for, or until what. */
  readonly patience: number | AbortSignal
  /** A longer answer is none of a service. */
  readonly maxBytes: number
}

export interface ServiceAnswer {
  readonly origin: string
  readonly status: number
  readonly headers: Headers
  /** What its JSON says; `undefined` where it is none. */
  readonly body: unknown
}

/** The service has answered with something else than what was asked for, or not at all. */
export class RequestFailed extends Error {
  override readonly name: string = 'RequestFailed'
  /** Of the answer; `undefined`: there was none, or it is of another program. */
  readonly status: number | undefined
  /** What the service says. */
  readonly reason: string | undefined
  /** Milliseconds after which the service wants to be asked again. */
  readonly retryAfter: number

  constructor(message: string, more: { status?: number; reason?: string; retryAfter?: number; cause?: unknown } = {}) {
    super(message, { cause: more.cause })
    this.status = more.status
    this.reason = more.reason
    this.retryAfter = more.retryAfter ?? 0
  }
}

/** The answer was longer than any of a service. */
export class AnswerTooLarge extends RequestFailed {
  override readonly name = 'AnswerTooLarge'
}

/**
 * Sends a request to a service, and waits for its answer. Redirects are not followed: the token is for this host.
 * @throws RequestFailed when no answer came; ServiceNotReached when none will, as the certificate is not trusted
 */
export async function send(address: URL, token: string | undefined, request: ServiceRequest): Promise<ServiceAnswer> {
  return await reaching(address, request.patience, async () => {
    return await answerIn(address, token, await fetched(address, token, request), request.maxBytes)
  })
}

/**
 * The same for an answer without an end, which is handed over while it comes. Any other is read as by `send`.
 * @param type what an answer without an end is
 */
export async function sendForStream(
  address: URL,
  token: string | undefined,
  type: string,
  request: ServiceRequest,
): Promise<ServiceAnswer | Readable> {
  return await reaching(address, request.patience, async () => {
    const response = await fetched(address, token, { ...request, headers: { ...request.headers, Accept: type } })
    const isStream = response.status === 200 && response.headers.get('content-type')?.startsWith(type) === true
    if (isStream && response.body) return Readable.fromWeb(response.body)
    return await answerIn(address, token, response, request.maxBytes)
  })
}

async function fetched(
  address: URL,
  token: string | undefined,
  { patience, maxBytes: _, headers, ...request }: ServiceRequest,
): Promise<Response> {
  return await fetch(address, {
    ...request,
    redirect: 'manual',
    headers: {
      Accept: 'application/json',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    signal: typeof patience === 'number' ? AbortSignal.timeout(patience) : patience,
  })
}

async function answerIn(
  { origin }: URL,
  token: string | undefined,
  response: Response,
  maxBytes: number,
): Promise<ServiceAnswer> {
  const text = await answerText(response, maxBytes)
  // Should a proxy show what it was sent.
  const body = parsed(token === undefined ? text : text.replaceAll(token, '***'))
  return { origin, status: response.status, headers: response.headers, body }
}

/** @throws RequestFailed, ServiceNotReached: what keeps an answer away, in words */
async function reaching<T>({ origin }: URL, patience: ServiceRequest['patience'], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Error && 'type' in cause && cause.type === 'entity.too.large')
      throw new AnswerTooLarge(`${origin} sends an answer without end: it is no commit-status service`, { cause })
    const words = `${origin} cannot be reached: ${connectionReason(cause, patience)}`
    const advice = certificateAdvice(cause)
    throw advice === undefined
      ? new RequestFailed(words, { cause })
      : new ServiceNotReached(`${words}; ${advice}`, { cause })
  }
}

/** What a service says of a refusal or failure; `undefined` for an answer that is none of a service. */
export function errorIn({ body }: ServiceAnswer): string | undefined {
  const isError = typeof body === 'object' && body !== null && 'error' in body
  return isError && typeof body.error === 'string' ? body.error : undefined
}

/** What a service says, with the name of a repository that it does not find: a checkout may tell a wrong one. */
export function withName(reason: string, repository: string): string {
  return reason === catalogue.repository_not_found.text ? `${reason}: ${repository}` : reason
}

/** What an answer is that nobody asked for. */
export function unexpected(answer: ServiceAnswer, repository: string): RequestFailed {
  const { origin, status } = answer
  const reason = errorIn(answer)
  const words =
    reason === undefined
      ? ', not as a commit-status service does: is the address right?'
      : ` (${shown(withName(reason, repository))})`
  return new RequestFailed(`${origin} answers ${status}${words}`, {
    ...(reason !== undefined && { status, reason }),
    retryAfter: retryAfter(answer),
  })
}

/** Whether the same request would be refused again. */
export function isRefusal({ status }: RequestFailed): boolean {
  return status !== undefined && [400, 401, 403, 404, 422].includes(status)
}

/** How many milliseconds an answer asks to wait. */
export function retryAfter({ headers }: ServiceAnswer): number {
  return Math.max(0, retryAfterMilliseconds(headers.get('retry-after') ?? '', Date.now()) ?? 0)
}

/** A text of the service, so long and no longer, as it may be shown on a terminal. */
export function shown(text: string): string {
  return visible(text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text)
}

/** The body of an answer. Of one that is longer than the limit the rest is let go: nobody hears when it fails later. */
async function answerText({ body }: Response, limit: number): Promise<string> {
  if (!body) return ''
  const stream = Readable.fromWeb(body)
  try {
    return await getRawBody(stream, { limit, encoding: 'utf8' })
  } finally {
    stream.destroy()
  }
}

/** Whether a value that came from elsewhere is an object with these members. */
export function has<K extends string>(value: unknown, ...members: K[]): value is Record<K, unknown> {
  return typeof value === 'object' && value !== null && members.every((member) => Object.hasOwn(value, member))
}

/** `undefined` for what is no JSON. */
export function parsed(text: string): unknown {
  try {
    const content: unknown = JSON.parse(text)
    return content
  } catch {
    return undefined
  }
}

/** fetch says no more than that it failed; why is in its causes, of which one with two addresses has no message. */
function connectionReason(error: unknown, patience: number | AbortSignal): string {
  if (!(error instanceof Error)) return errorMessage(error)
  if (error.name === 'TimeoutError' || error.name === 'AbortError')
    return typeof patience === 'number' ? `no answer within ${patience / 1000} s` : 'no answer in time'
  if (error.cause instanceof Error) return connectionReason(error.cause, patience)
  return error.message === '' && 'code' in error ? String(error.code) : shown(errorMessage(error))
}
