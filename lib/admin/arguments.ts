import { parseObjectId, type ObjectId } from '../object-id.js'
import { isOwnerName, parseRepositoryName, type RepositoryName } from '../repository-name.js'
import { AdministrationError } from './administration-error.js'

/*
 * What an admin names, checked where it enters. All throw AdministrationError for what breaks the name rules.
 */

export function checkUser(user: string): string {
  if (!isOwnerName(user)) throw new AdministrationError(`${JSON.stringify(user)} is no user name: 1 to 100 of A-Z a-z 0-9 . _ -, not starting with . or -`)
  return user
}

export function checkRepository(full: string): RepositoryName {
  const name = parseRepositoryName(full)
  if (!name) throw new AdministrationError(`${JSON.stringify(full)} is no repository name: <owner>/<repo>`)
  return name
}

export function checkCommit(sha: string): ObjectId {
  const commit = parseObjectId(sha)
  if (!commit) throw new AdministrationError(`${sha} is not a full 40 or 64 character hex commit id`)
  return commit
}

/** What a right is on: `owner` or `owner/repo`. */
export function target(on: string): { owner: string; repository?: RepositoryName } {
  if (on.includes('/')) {
    const repository = checkRepository(on)
    return { owner: repository.owner, repository }
  }
  if (!isOwnerName(on)) throw new AdministrationError(`${JSON.stringify(on)} is no owner name: 1 to 100 of A-Z a-z 0-9 . _ -, not starting with . or -`)
  return { owner: on }
}
