import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { errorMessage } from '../../../lib/errors.js'
import { loadLibgit2 } from '../../../lib/git/nodegit.js'
import { isTooOld, neededGit } from '../../../lib/git/needed-git.js'
import { RepositoryFolder } from '../../../lib/git/repository-folder.js'
import { versionText } from '../terminal/version.js'
import { doubtful, ok, wrong, type Finding } from './findings.js'

/** How many repositories are looked into, and how many of what is wrong are named. */
const MAX_REPOSITORIES = 10_000
const MAX_NAMED = 3

/** Less free space than this is worth a word, or stops writes before long. */
const LITTLE_BYTES = 1024 ** 3
const NO_BYTES = 64 * 1024 ** 2

/** The programs that take part: this one, Node.js, libgit2 and git. */
export async function programs(): Promise<{ findings: Finding[]; git: string | undefined }> {
  const findings = [ok('version', `${versionText()}, Node.js ${process.version.slice(1)}`)]
  try {
    const { lacks } = await loadLibgit2()
    findings.push(lacks === undefined ? ok('libgit2', 'built for SHA-1 and SHA-256') : doubtful('libgit2', lacks))
  } catch (error) {
    findings.push(wrong('libgit2', errorMessage(error)))
  }
  const git = await promisify(execFile)('git', ['version']).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
  findings.push(
    git === undefined ? wrong('git', 'there is no command git: pages and branches need it') : ok('git', git),
  )
  return { findings, git }
}

/** What can be read in the folder of the repositories, and whether the installed git knows their formats. */
export async function repositories(folder: string, git: string | undefined): Promise<Finding[]> {
  const problems: string[] = []
  const old: string[] = []
  let count = 0
  try {
    const found = new RepositoryFolder(folder)
    for await (const { name } of found.list((error) => void problems.push(errorMessage(error)))) {
      if (++count > MAX_REPOSITORIES) break
      const needed = await neededGit(`${found.path}/${name.full}.git`).catch((error: unknown) => {
        problems.push(errorMessage(error))
        return undefined
      })
      if (needed && git !== undefined && isTooOld(git, needed))
        old.push(`${name.full} (extensions.${needed.extension} needs git ${needed.version ?? 'of a later version'})`)
    }
  } catch (error) {
    return [wrong('repositories', errorMessage(error))]
  }
  const counted = count > MAX_REPOSITORIES ? `more than ${MAX_REPOSITORIES}` : String(count)
  return [
    count === 0
      ? doubtful('repositories', `${folder} has none that is <owner>/<repo>.git`)
      : ok('repositories', `${counted} in ${folder}`),
    ...(problems.length > 0 ? [wrong('repositories', `cannot be read: ${some(problems)}`)] : []),
    ...(old.length > 0 ? [wrong('repositories', `the installed git is too old for ${some(old)}`)] : []),
  ]
}

/** How much room is left where a folder is. */
export async function freeSpace(folder: string): Promise<Finding[]> {
  try {
    const { bavail, bsize } = await statfs(folder)
    const bytes = bavail * bsize
    const words = `${(bytes / 1024 ** 3).toFixed(1)} GiB free at ${folder}`
    return [
      bytes < NO_BYTES ? wrong('disk', words) : bytes < LITTLE_BYTES ? doubtful('disk', words) : ok('disk', words),
    ]
  } catch {
    // That the folder is missing is said where it is looked into.
    return []
  }
}

function some(texts: readonly string[]): string {
  const named = texts.slice(0, MAX_NAMED).join('; ')
  return texts.length > MAX_NAMED ? `${named}; and ${texts.length - MAX_NAMED} more` : named
}
