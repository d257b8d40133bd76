import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { errorMessage } from '../../../lib/errors.js'
import { nameAtPath, parseRepositoryName } from '../../../lib/domain/repository-name.js'
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
  return await configured(io, 'commit-status.url')
}

async function configured(io: Io, key: string): Promise<string | undefined> {
  return await git(io, 'config', '--get', key).catch(() => undefined)
}

/**
 * The repository, `owner/repo`, that the checkout is a clone of: what its configuration names, else by the URL of
 * `origin`, or of its only remote.
 * @throws CheckoutError
 */
export async function clonedRepository(io: Io): Promise<string> {
  const named = await configured(io, 'commit-status.repository')
  if (named !== undefined) {
    if (parseRepositoryName(named)) return named
    throw new CheckoutError(`commit-status.repository of git is ${JSON.stringify(named)}, and no <owner>/<repo>`)
  }
  const remotes = (await git(io, 'remote')).split('\n').filter((name) => name !== '')
  const remote = remotes.length === 1 ? remotes[0] : remotes.find((name) => name === 'origin')
  if (remote === undefined)
    throw new CheckoutError(
      remotes.length === 0 ? 'the checkout has no remote' : 'no remote of the checkout is called origin',
    )
  const repository = repositoryAt(await git(io, 'remote', 'get-url', remote), await configured(io, TOP_OWNER))
  // Without the URL: it may hold a password.
  if (repository === undefined)
    throw new CheckoutError(`the URL of the remote ${remote} tells none: git config commit-status.repository does`)
  return repository
}

const TOP_OWNER = 'commit-status.topOwner'

/** Where servers have their repositories: what stands behind it is the name. */
const FOLDER =
  /^\/(?:(?:srv|home|opt|data|var(?:\/lib)?)\/)?(?:c?git|gitolite3?|scm|repos(?:itories)?)\/(?:repos(?:itories)?\/)?/

/**
 * The repository that a git URL names, in any of the forms that git-clone(1) lists. It is the whole path behind the
 * host, without a folder that servers have repositories in (`/srv/git/`), and of a path without a host the last two
 * parts, where it is in no such folder; two parts are a name as they are.
 * @param topOwner owns a repository in no other folder
 */
export function repositoryAt(url: string, topOwner = 'git'): string | undefined {
  const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(url) ?? []
  // As scp: what stands before the first colon is the host, unless a slash comes first; it may be `[host:port]`.
  const host = scheme === undefined ? /^(?:[^/]*\]|[^/:]*):/ : /^[^:]+:\/\/[^/]*/
  const path = unescaped(url.replace(host, ''), scheme)
  const parts = partsOf(path)
  const isOfServer = scheme === undefined ? host.test(url) && !path.startsWith('/') : !/^file:/i.test(scheme)
  const rest = partsOf(path.replace(FOLDER, ''))
  const isInFolder = parts.length > 2 && rest.length < parts.length
  const meant = isInFolder ? rest : isOfServer ? parts : parts.slice(-2)
  if (meant.length < 2 && !isInFolder && !host.test(url)) return undefined
  return nameAtPath(meant.join('/').replace(/\.git$/, ''), topOwner)?.full
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '')
}

/** Of what is a URL to git, too. */
function unescaped(path: string, scheme: string | undefined): string {
  try {
    return scheme === undefined ? path : decodeURIComponent(path)
  } catch {
    return path
  }
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
