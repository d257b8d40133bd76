import { askForEntries, configurationEntries, type ConfigurationEntry } from '../domain/git-configuration.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'

/** Of all entries. */
const MAX_BYTES = 1024 * 1024

/**
 * Reads git's configuration for a bare repository: of the system, the user and the repository; where those of the first
 * two cannot be read, of the repository.
 * @param keys a regular expression of `git config`
 * @throws RepositoryUnreadable
 */
export async function readConfiguration(
  git: Pick<GitProcesses, 'run'>,
  directory: string,
  keys: string,
): Promise<ConfigurationEntry[]> {
  let said = ''
  for (const readsAllConfiguration of [true, false]) {
    const { code, output, error } = await git.run(directory, askForEntries(keys), MAX_BYTES, { readsAllConfiguration })
    // 1: there are none.
    if (code === 0 || code === 1) return configurationEntries(output.toString())
    said = error
  }
  throw new RepositoryUnreadable(directory, new Error(`git config: ${said}`))
}
