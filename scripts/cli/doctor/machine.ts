import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { errorMessage } from '../../../lib/errors.js'
import { loadLibgit2 } from '../../../lib/git/nodegit.js'
import { isTooOld, neededGit } from '../../../lib/git/needed-git.js'
import { RepositoryFolder } from '../../../lib/git/repository-folder.js'
import { skippedText } from '../../../lib/git/repository-listing.js'
import type { Settings } from '../../../lib/stand-alone/settings.js'
import { versionText } from '../terminal/version.js'
import { doubtful, ok, wrong, type Finding } from './findings.js'
import { installation } from './installation.js'

/** How many repositories are looked into, and how many of what is wrong are named. */
const MAX_REPOSITORIES = 10_000
const MAX_NAMED = 3

/** Less free space than this is worth a word, or stops writes before long. */
const LITTLE_BYTES = 1024 ** 3
const NO_BYTES = 64 * 1024 ** 2

/** The programs that take part: this one, Node.js, libgit2 and git. */
export async function programs(): Promise<{ findings: Finding[]; git: string | undefined }> {
  const findings = [ok('version', versionText()), installation()]
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

/**
 * What can be read in the folder of the repositories, what lies there and is not served, and whether the installed git
 * knows their formats.
 */
export async function repositories(
  { repositories: folder, topOwner }: Pick<Settings, 'repositories' | 'topOwner'>,
  git: string | undefined,
): Promise<Finding[]> {
  const problems: string[] = []
  const old: string[] = []
  const note = (error: unknown): undefined => {
    problems.push(errorMessage(error))
  }
  try {
    const { found, skipped } = await new RepositoryFolder(folder, { topOwner }).listing(note)
    for (const { name, directory } of found.slice(0, MAX_REPOSITORIES)) {
      const needed = await neededGit(directory).catch(note)
      if (needed && git !== undefined && isTooOld(git, needed))
        old.push(`${name.full} (extensions.${needed.extension} needs git ${needed.version ?? 'of a later version'})`)
    }
    const counted = found.length.toLocaleString('en')
    return [
      found.length === 0
        ? doubtful('repositories', `there is no bare repository in ${folder}`)
        : ok('repositories', `${counted} in ${folder}`),
      ...(skipped.length > 0 ? [doubtful('repositories', skippedText(skipped))] : []),
      ...(problems.length > 0 ? [wrong('repositories', `cannot be read: ${some(problems)}`)] : []),
      ...(old.length > 0 ? [wrong('repositories', `the installed git is too old for ${some(old)}`)] : []),
    ]
  } catch (error) {
    return [wrong('repositories', errorMessage(error))]
  }
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
