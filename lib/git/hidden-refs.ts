import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'

const ENTRIES = ['config', '--null', '--includes', '--get-regexp', String.raw`^(transfer|uploadpack)\.hiderefs$`]

/** Of all patterns. */
const MAX_BYTES = 1024 * 1024

/** Whether a ref, by its full name, is hidden from who fetches. */
export type IsHidden = (ref: string) => boolean

/**
 * Reads which refs of a bare repository git shows to nobody who fetches: `transfer.hideRefs` and `uploadpack.hideRefs`
 * of the system, the user and the repository; where those of the first two cannot be read, of the repository.
 * @returns `undefined`: none
 * @throws RepositoryUnreadable
 */
export async function hiddenRefs(git: Pick<GitProcesses, 'run'>, directory: string): Promise<IsHidden | undefined> {
  let said = ''
  for (const readsAllConfiguration of [true, false]) {
    const { code, output, error } = await git.run(directory, ENTRIES, MAX_BYTES, { readsAllConfiguration })
    // 1: there are none.
    if (code === 0 || code === 1) return matcher(output.toString())
    said = error
  }
  throw new RepositoryUnreadable(directory, new Error(`git config: ${said}`))
}

/** The last pattern that fits decides, as in git-config(1). */
function matcher(entries: string): IsHidden | undefined {
  const rules = entries
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.slice(entry.indexOf('\n') + 1))
    .map((value) => ({
      hides: !value.startsWith('!'),
      // Without namespaces, with which we never read, `^` changes nothing.
      prefix: value.replace(/^!?\^?/, '').replace(/\/+$/, ''),
    }))
    .reverse()
  if (rules.length === 0) return undefined
  return (ref) => rules.find(({ prefix }) => ref === prefix || ref.startsWith(`${prefix}/`))?.hides ?? false
}
