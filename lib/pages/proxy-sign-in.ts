import { timingSafeEqual, hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../errors.js'
import { headerValues } from '../http/header-values.js'
import type { Meter } from '../contracts/meter.js'
import { isUserName } from '../domain/repository-name.js'
import { NOBODY, type Visitors } from './visitor.js'

/** In what a proxy proves that it is the one. */
const SECRET_HEADER = 'x-proxy-secret'

export interface ProxySignIn {
  /** In which an authenticating reverse proxy names the user. */
  readonly header: string
  /** What the proxy must send besides. */
  readonly secret?: string
  /** Whether the peer of a request's socket, and not whom it forwards for, is a trusted proxy. */
  readonly isTrusted: (request: IncomingMessage) => boolean
  readonly meter: Pick<Meter, 'signInIgnored'>
}

/**
 * Believes the user that a trusted reverse proxy names. Of anybody else the header is passed over and counted.
 * @throws ServiceError `malformed_request` for a header that is there twice, `user_invalid`
 */
export function proxyVisitors({ header, secret, isTrusted, meter }: ProxySignIn): Visitors {
  const name = header.toLowerCase()
  return (request) => {
    const [user, ...more] = headerValues(request, name)
    if (user === undefined) return NOBODY
    if (!isTrusted(request) || !hasSecret(request, secret)) {
      meter.signInIgnored()
      return NOBODY
    }
    // Of two, the proxy may have added one to that of its client.
    if (more.length > 0) throw new ServiceError('malformed_request')
    if (user === '') return NOBODY
    if (!isUserName(user)) throw new ServiceError('user_invalid')
    return { user, hasSession: false }
  }
}

function hasSecret(request: IncomingMessage, secret: string | undefined): boolean {
  if (secret === undefined) return true
  const [sent = '', ...more] = headerValues(request, SECRET_HEADER)
  // Of digests, so that the time shows nothing of the length either.
  return more.length === 0 && timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', secret, 'buffer'))
}
