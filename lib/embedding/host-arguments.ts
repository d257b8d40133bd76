import { HOST_USER, parseRepositoryName, type RepositoryName } from '../domain/repository-name.js'
import { callerOf } from '../http/authentication.js'
import type { Caller } from '../service/repository-access.js'
import { isIdentity } from './guarded-parts.js'

/** For whom a host asks: a user, or whom `authenticate` has told, with the limits of the token. Throws TypeError. */
export function callerFor(user: unknown): Caller {
  const caller = isIdentity(user) ? callerOf(user) : { user: checkUser(user) }
  if (caller.user === HOST_USER)
    throw new TypeError(`no user can be called ${HOST_USER}: that is this program, for which the user is left out`)
  return caller
}

/** Of a value that is no name, nobody knows whom the host meant. */
function checkUser(user: unknown): string {
  if (typeof user !== 'string' || user === '') {
    throw new TypeError('the user must be a text that is not empty, what authenticate() has told, or undefined')
  }
  return user
}

/** @throws TypeError for what is no repository name */
export function checkName(repository: unknown): RepositoryName {
  const name = parseRepositoryName(repository)
  if (!name) throw new TypeError(`${String(repository)} is no repository name: owner/repo`)
  return name
}
