import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { errorMessage } from '../../../lib/errors.js'
import type { Io } from '../terminal/io.js'

/** The gate cannot be sure: whatever is protected is refused, with these words. */
export class GateError extends Error {
  override readonly name = 'GateError'
}

/** What git itself sets for a hook: the repository that is pushed to, and where its new objects are, in quarantine. */
const KEPT = ['GIT_DIR', 'GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_QUARANTINE_PATH']

/** Of `git config` with all rules, or the names of many refs. */
const MAX_BYTES = 1 << 24

/**
 * What git prints.
 * @throws GateError
 */
export async function git(io: Io, ...args: string[]): Promise<string> {
  const answer = await askGit(io, ...args)
  if (answer === undefined) throw new GateError(`git ${args.join(' ')} fails`)
  return answer
}

/**
 * What git prints; `undefined` when it ends with 1: there is nothing of the kind.
 * @throws GateError
 */
export async function askGit(io: Io, ...args: string[]): Promise<string | undefined> {
  try {
    const options = { cwd: io.cwd(), env: gitEnvironment(io), maxBuffer: MAX_BYTES }
    return (await promisify(execFile)('git', args, options)).stdout.trimEnd()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 1) return undefined
    throw new GateError(`git says: ${gitSays(error)}`)
  }
}

/**
 * Without the variables of git from outside (sshd's `AcceptEnv`, a wrapper): `GIT_CONFIG`, for one, makes git read
 * another file in place of the rules.
 */
function gitEnvironment({ env }: Io): NodeJS.ProcessEnv {
  const given = Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || KEPT.includes(name))
  // Whoever pushes may push refs/replace/ too: a red tag would be shown as a green one.
  return { ...Object.fromEntries(given), GIT_NO_REPLACE_OBJECTS: '1' }
}

function gitSays(error: unknown): string {
  const said =
    error instanceof Error && 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : ''
  return errorMessage(said === '' ? error : said)
}
