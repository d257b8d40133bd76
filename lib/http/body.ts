import type { IncomingMessage, ServerResponse } from 'node:http'
import getRawBody from 'raw-body'
import { ServiceError } from '../errors.js'
import { invalidBody } from '../domain/report.js'
import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { InFlight } from '../service/in-flight.js'
import type { Caller } from '../service/repository-access.js'
import type { ReportBody } from '../service/status-reports.js'

/** "Request body" of the specification. */
const MAX_BYTES = 16_384

/** A body that takes longer is late: with the head of a report held open, a right could be kept that was revoked. */
const LATE_MILLISECONDS = 10

const BODY_IS_GONE = 'the body was read by somebody else: mount the service before anything that reads request bodies'

/** A byte order mark stays, so that JSON refuses it. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Waits for the body of a report (checks 5 and 6).
 * @param read reads it
 * @param authenticate called once more when it was late: the token may have been revoked meanwhile (check 1)
 * @throws ServiceError as `read` and `authenticate`; `shutting_down`, `overloaded`
 */
export async function receiveReport(
  inFlight: InFlight,
  read: () => Promise<unknown>,
  authenticate: () => MaybePromise<Caller>,
): Promise<ReportBody> {
  const begun = performance.now()
  const body = await inFlight.exceptWhileReceiving(read())
  const isLate = performance.now() - begun > LATE_MILLISECONDS
  return isLate ? { body, isLate, caller: await authenticate() } : { body, isLate }
}

/**
 * Reads the JSON body of a request, whatever its Content-Type says.
 * @throws ServiceError `body_too_large`, `invalid_body`
 */
export async function readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const bytes = await readBytes(request, response)
  return parseJson(bytes)
}

/** @throws ServiceError `invalid_body` */
export function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw invalidBody('it is not UTF-8', cause)
  }
}

/** @throws ServiceError `invalid_body` */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    throw invalidBody('it is not UTF-8 JSON', cause)
  }
}

/**
 * Reads a form that a browser sends.
 * @throws ServiceError `body_too_large`, `invalid_body`
 */
export async function readForm(request: IncomingMessage, response: ServerResponse): Promise<URLSearchParams> {
  return new URLSearchParams((await readBytes(request, response)).toString())
}

/**
 * Reads the body of a request. A client that waits to be invited to send it (`Expect: 100-continue`) is, unless it says
 * that the body is too large.
 * @throws ServiceError `body_too_large`, `invalid_body`
 */
export async function readBytes(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  if (request.readableDidRead)
    // Said to the client too: whoever embeds the service may have no log, and it is about nothing else.
    throw new ServiceError('internal', { text: BODY_IS_GONE, cause: new Error(BODY_IS_GONE) })
  const length = request.headers['content-length']
  if (!(Number(length) > MAX_BYTES)) invite(request, response)
  try {
    return await getRawBody(request, { limit: MAX_BYTES, length: length ?? null })
  } catch (cause) {
    // The rest is read and thrown away: closing on a client that is still sending would reset the connection, and
    // the answer would be lost. The server's request time-out bounds it.
    request.resume()
    if (isTooLarge(cause)) throw new ServiceError('body_too_large', { cause })
    throw invalidBody('it did not arrive whole', cause)
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'entity.too.large'
}

/** Unless node:http has done so: it does before it calls a host that has no listener for `checkContinue`. */
function invite({ headers, httpVersion }: IncomingMessage, response: ServerResponse): void {
  const waits = /\b100-continue\b/i.test(headers.expect ?? '') && httpVersion === '1.1'
  // A second invitation would do no harm (RFC 9110, 15.2), should the member be gone one day.
  if (waits && Reflect.get(response, '_sent100') !== true) response.writeContinue()
}
