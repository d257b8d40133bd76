import { ArgumentError, errorMessage } from '../../../lib/errors.js'
import { fullRefNames, isRefName } from '../../../lib/git/ref-name.js'
import { parseObjectId } from '../../../lib/domain/object-id.js'
import type { Io } from '../terminal/io.js'
import { askGit } from './git.js'
import { canBePushed } from './rules.js'

/**
 * The full name of the ref that git would push to: the one that is there, or a branch to be created.
 * @param name short or full
 * @throws ArgumentError
 */
export async function pushedRef(io: Io, name: string): Promise<string> {
  const names = isRefName(name) ? fullRefNames(name).filter(canBePushed) : []
  const [first] = names
  if (first === undefined)
    throw new ArgumentError(`${JSON.stringify(name)} is no ref that can be pushed to: give one like refs/heads/main`)
  if (names.length === 1) return first
  const listed = (await ask(io, 'for-each-ref', '--format=%(refname)', ...names)).split('\n')
  const there = names.filter((each) => listed.includes(each))
  if (there.length > 1) throw new ArgumentError(`${name} is more than one ref: ${there.join(', ')}`)
  return there[0] ?? first
}

/**
 * The full id of what a revision names; of an annotated tag its own.
 * @throws ArgumentError
 */
export async function pushedId(io: Io, revision: string): Promise<string> {
  // A full id is one to git whether or not there is such an object.
  const id = revision.startsWith('-') ? '' : await ask(io, 'rev-parse', '--verify', '--quiet', revision)
  if (!parseObjectId(id) || (await ask(io, 'rev-parse', '--verify', '--quiet', `${id}^{object}`)) === '')
    throw new ArgumentError(`${JSON.stringify(revision)} is no revision of this repository`)
  return id
}

async function ask(io: Io, ...args: string[]): Promise<string> {
  try {
    return (await askGit(io, ...args)) ?? ''
  } catch (error) {
    throw new ArgumentError(errorMessage(error))
  }
}
