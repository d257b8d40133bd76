import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { errorMessage } from '../../../lib/errors.js'
import { parseRepositoryName } from '../../../lib/domain/repository-name.js'
import type { Io } from '../terminal/io.js'

/** The checkout that a command stands in does not say what is asked; the message says why. */
export class CheckoutError extends Error {
  override readonly name = 'CheckoutError'
}

/**
 * The full id of the commit that is checked out.
 * @throws CheckoutError
 */
export async function headCommit(io: Io): Promise<string> {
  return await git(io, 'rev-parse', '--verify', 'HEAD^{commit}')
}

/** The full id of the commit that a revision names in the checkout: a branch, a short id; `undefined`: none. */
export async function commitNamed(io: Io, revision: string): Promise<string | undefined> {
  const asked = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
  return await git(io, ...asked).catch(() => undefined)
}

/** The address of the service that git's configuration has for the checkout, as it has for the gate. */
export async function configuredUrl(io: Io): Promise<string | undefined> {
  return await git(io, 'config', '--get', 'commit-status.url').catch(() => undefined)
}

/**
 * The repository, `owner/repo`, that the checkout is a clone of: by the URL of `origin`, or of its only remote.
 * @throws CheckoutError
 */
export async function clonedRepository(io: Io): Promise<string> {
  const remotes = (await git(io, 'remote')).split('\n').filter((name) => name !== '')
  const remote = remotes.length === 1 ? remotes[0] : remotes.find((name) => name === 'origin')
  if (remote === undefined)
    throw new CheckoutError(
      remotes.length === 0 ? 'the checkout has no remote' : 'no remote of the checkout is called origin',
    )
  const repository = repositoryAt(await git(io, 'remote', 'get-url', remote))
  // Without the URL: it may hold a password.
  if (repository === undefined)
    throw new CheckoutError(`the URL of the remote ${remote} does not end in <owner>/<repo>`)
  return repository
}

/** `owner/repo` of a git URL in any of the forms that git-clone(1) lists; `undefined` when it does not end in one. */
export function repositoryAt(url: string): string | undefined {
  const path = /^[a-z][a-z0-9+.-]*:\/\//i.test(url)
    ? url.replace(/^[^:]+:\/\/[^/]*/, '')
    : // As scp: what stands before the first colon is the host, unless a slash comes first; it may be `[host:port]`.
      url.replace(/^(?:[^/]*\]|[^/:]*):/, '')
  const parts = path.split('/').filter((part) => part !== '')
  return parseRepositoryName(
    parts
      .slice(-2)
      .join('/')
      .replace(/\.git$/, ''),
  )?.full
}

async function git(io: Io, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('git', args, { cwd: io.cwd(), env: io.env })
    return stdout.trimEnd()
  } catch (error) {
    const said =
      error instanceof Error && 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : ''
    throw new CheckoutError(said === '' ? errorMessage(error) : `git says: ${errorMessage(said)}`, { cause: error })
  }
}
