import type { Command } from 'commander'
import { listRepositories } from '../../../lib/git/repository-listing.js'
import { settingsOf } from '../administration/command-settings.js'
import type { Io } from '../terminal/io.js'

/** Longer nobody waits at a key. */
const MILLISECONDS = 1000

/** How many names are of use at a key, counted in entries of folders. */
const MAX_ENTRIES = 50_000

/** The names of the repositories in the folder that the settings name, without a look into the store. */
export async function repositoryNames(io: Io, command: Command): Promise<string[]> {
  const { repositories, topOwner } = settingsOf(io, command)
  const { found } = await listRepositories(repositories, {
    topOwner,
    milliseconds: MILLISECONDS,
    maxEntries: MAX_ENTRIES,
    onUnreadable: () => undefined,
  })
  return found.map(({ name }) => name.full)
}
