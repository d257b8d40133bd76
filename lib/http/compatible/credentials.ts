import type { IncomingMessage } from 'node:http'
import { tokenOf, type ReadCredentials } from '../authentication.js'
import { headerValues } from '../header-values.js'

/**
 * Reads the token that a request carries in `Authorization`, as `Bearer`, `token` or `Basic`, or in another header.
 * Where a request carries two that differ, one part of a system may believe one and another the other: it is refused.
 * @param headers that hold a token, in lower case
 */
export function credentialsIn(...headers: readonly string[]): ReadCredentials {
  return (request) => {
    const tokens = headers.flatMap((header) => headerValues(request, header))
    const authorization = authorizationOf(request)
    if (authorization) tokens.push(authorization.token ?? '')
    const [token] = tokens
    if (token === undefined) return undefined
    return token !== '' && tokens.every((other) => other === token) ? { token } : {}
  }
}

function authorizationOf(request: IncomingMessage): { readonly token?: string | undefined } | undefined {
  // A host that has authenticated the request itself may have taken the header away.
  if (request.headers.authorization === undefined) return undefined
  const [credentials = '', ...more] = headerValues(request, 'authorization')
  return more.length === 0 ? { token: tokenOf(credentials) ?? basicToken(credentials) } : {}
}

/** The password; where a client has put the token in the place of the name, the name. */
function basicToken(credentials: string): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(credentials) ?? []
  if (encoded === undefined) return undefined
  const [, name, password = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return password === '' || password === 'x-oauth-basic' ? name : password
}

/** Whether a request asks to be carried out as another user, which nobody may here. */
export function actsForAnother({ headers }: IncomingMessage, query: URLSearchParams): boolean {
  return headers['sudo'] !== undefined || query.has('sudo')
}
