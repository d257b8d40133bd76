import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** The id that every answer and its log lines carry: the request's own when it is short and plain, else a new one. */
export function requestId({ headers }: IncomingMessage): string {
  return sentId(headers) ?? randomUUID()
}

/** @param headers `undefined` of what a host hands over that is no request of node:http */
function sentId(headers: IncomingHttpHeaders | undefined): string | undefined {
  const sent = headers?.['x-request-id']
  return typeof sent === 'string' && /^[\w.-]{1,64}$/.test(sent) ? sent : undefined
}
