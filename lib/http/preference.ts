import type { IncomingMessage } from 'node:http'
import { headerValues } from './header-values.js'

/** The seconds that a client prefers to wait (RFC 7240, 4.3); of several such preferences the first counts. */
export function preferredWait(request: IncomingMessage): number {
  for (const preference of headerValues(request, 'prefer').flatMap((value) => value.split(','))) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/i.exec(preference) ?? []
    if (seconds !== undefined) return Number(seconds)
  }
  return 0
}
