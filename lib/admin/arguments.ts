import { ArgumentError } from '../errors.js'
import { parseObjectId, type ObjectId } from '../domain/object-id.js'
import type { TokenLimits } from '../contracts/token-limits.js'
import {
  HOST_USER,
  isOwnerName,
  isUserName,
  parseRepositoryName,
  parseStoredName,
  type RepositoryName,
} from '../domain/repository-name.js'
import { isPattern, PATTERN_RULE } from '../domain/verdict/pattern.js'

const NAME_RULE = '1 to 100 of A-Z a-z 0-9 . _ - + @ ~ , =, not starting with . or -'

/*
 * What an admin names, checked where it enters. All throw ArgumentError for what breaks the name rules.
 */

/** A user who is to be let in or given something: none may be called as the program that reports for itself. */
export function checkUser(user: string): string {
  if (user === HOST_USER)
    throw new ArgumentError(`nobody can be called ${HOST_USER}: it is the program that an embedded service lives in`)
  return checkFormerUser(user)
}

/** A user from whom something is taken: it may be one of a time when more names could be given. */
export function checkFormerUser(user: string): string {
  if (user !== HOST_USER && !isUserName(user))
    throw new ArgumentError(`${JSON.stringify(user)} is no user name: ${NAME_RULE}`)
  return user
}

/** The id of a token or a status: ours are shorter, but an import may bring others. */
export const ID = /^[\w-]{1,100}$/

export function checkTokenId(id: string): string {
  if (!ID.test(id)) throw new ArgumentError(`${JSON.stringify(id)} is no id of a token, as token list shows it`)
  return id
}

export function checkRepository(full: string): RepositoryName {
  const name = parseRepositoryName(full)
  if (name) return name
  const top = isOwnerName(full)
    ? `; at the top of the folder it is git/${full}, unless topOwner names another owner`
    : ''
  throw new ArgumentError(`${JSON.stringify(full)} is no repository name: <owner>/<repo>${top}`)
}

/** A repository of which something is stored: maybe of a time when more names could be given. */
export function checkStoredRepository(full: string): RepositoryName {
  return parseStoredName(full) ?? checkRepository(full)
}

export function checkCommit(sha: string): ObjectId {
  const commit = parseObjectId(sha)
  if (!commit) throw new ArgumentError(`${sha} is not a full 40 or 64 character hex commit id`)
  return commit
}

/** What a right is on: `owner` or `owner/repo`. */
export function grantTarget(on: string): { owner: string; repository?: RepositoryName } {
  if (on.includes('/')) {
    const repository = checkRepository(on)
    return { owner: repository.owner, repository }
  }
  if (!isOwnerName(on))
    throw new ArgumentError(`${JSON.stringify(on)} is no owner name: ${NAME_RULE}, nor ending in .git or .lock`)
  return { owner: on }
}

/** What people call a token: any text that every store can keep. */
export function checkTokenName(name: string): string {
  if (name.includes('\0') || !name.isWellFormed()) throw new ArgumentError(`${JSON.stringify(name)} is no name`)
  return name
}

/** A token that is to work for longer is one that never expires, or a slip of the pen. */
const MAX_YEARS = 100
const YEAR_MILLISECONDS = 365.25 * 24 * 60 * 60 * 1000

/**
 * When a token is to expire.
 * @param expiresAt ISO 8601, `null`: never
 * @param now milliseconds since 1970 UTC, as what is returned
 */
export function checkExpiry(expiresAt: string | null, now: number): number | null {
  if (expiresAt === null) return null
  const time = Date.parse(expiresAt)
  if (Number.isNaN(time)) throw new ArgumentError(`${expiresAt} is no time`)
  if (time > now + MAX_YEARS * YEAR_MILLISECONDS)
    throw new ArgumentError(`a token expires within ${MAX_YEARS} years or never, and ${expiresAt} is later`)
  return time
}

/** The most repositories, and the most patterns, that a token may be limited to. */
const MAX_LIMITS = 100

/** What a token is to be limited to. An empty list would make a token for nothing: it is a mistake. */
export function checkLimits({ repositories, contexts, access }: TokenLimits): void {
  for (const [what, list] of Object.entries({ repositories, contexts }))
    if (list && (!Array.isArray(list) || list.length === 0 || list.length > MAX_LIMITS))
      throw new ArgumentError(`a token is limited to a list of 1 to ${MAX_LIMITS} ${what}`)
  for (const repository of repositories ?? []) checkRepository(repository)
  for (const pattern of contexts ?? [])
    if (!isPattern(pattern)) throw new ArgumentError(`${JSON.stringify(pattern)} is no pattern: ${PATTERN_RULE}`)
  if (access !== undefined && !['read', 'write'].includes(access))
    throw new ArgumentError(`access must be read or write, not ${JSON.stringify(access)}`)
}
