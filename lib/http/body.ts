import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { ServiceError } from '../errors.js'
import { invalidBody } from '../report.js'

/** "Request body" of the specification. */
const MOST_BYTES = 16_384

/** A byte order mark stays, so that JSON refuses it. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the JSON body of a request, whatever its Content-Type says.
 * @throws ServiceError `body_too_large`, `invalid_body`
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(request)
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    throw invalidBody('it is not UTF-8 JSON', cause)
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  if (request.readableDidRead) throw new Error('the body was read by somebody else: mount the service before anything that reads request bodies')
  try {
    return await getRawBody(request, { limit: MOST_BYTES, length: request.headers['content-length'] ?? null })
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
