import type { ConfigurationEntry } from '../domain/git-configuration.js'
import { readConfiguration } from './configuration.js'
import type { GitProcesses } from './git-process.js'

/** Whether a ref, by its full name, is hidden from who fetches. */
export type IsHidden = (ref: string) => boolean

/**
 * Reads which refs of a bare repository git shows to nobody who fetches: `transfer.hideRefs` and `uploadpack.hideRefs`.
 * @returns `undefined`: none
 * @throws as `readConfiguration`
 */
export async function hiddenRefs(git: Pick<GitProcesses, 'run'>, directory: string): Promise<IsHidden | undefined> {
  return matcher(await readConfiguration(git, directory, String.raw`^(transfer|uploadpack)\.hiderefs$`))
}

/** The last pattern that fits decides, as in git-config(1). */
function matcher(entries: readonly ConfigurationEntry[]): IsHidden | undefined {
  const rules = entries
    .map(({ value }) => ({
      hides: !value.startsWith('!'),
      // Without namespaces, with which we never read, `^` changes nothing.
      prefix: value.replace(/^!?\^?/, '').replace(/\/+$/, ''),
    }))
    .reverse()
  if (rules.length === 0) return undefined
  return (ref) => rules.find(({ prefix }) => ref === prefix || ref.startsWith(`${prefix}/`))?.hides ?? false
}
