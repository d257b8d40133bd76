import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The id that every answer and its log lines carry: the request's own when it is short and plain, else a new one. */
export function requestId(request: IncomingMessage): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && /^[\w.-]{1,64}$/.test(sent) ? sent : randomUUID()
}
