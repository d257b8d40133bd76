import type { Command } from 'commander'
import type { Administration } from '../../../lib/admin/administration.js'
import { remoteAdministration } from '../../../lib/admin/client.js'
import { socketPath } from '../../../lib/admin/socket-path.js'
import { levelFolder } from '../../../lib/store/address.js'
import { currentUser } from '../administration/change-log.js'
import { givenSettings } from '../administration/command-settings.js'
import type { Io } from '../terminal/io.js'
import type { Way } from './hand-over.js'

/**
 * To the service by the socket of its commands, or into the database that it has for a store.
 * @param repository `owner/repo`
 * @throws SettingsError
 */
export function localWay(io: Io, command: Command, repository: string): Way {
  const given = givenSettings(io, command)
  const folder = levelFolder(given.settings.store)
  const by = currentUser()
  return async (use) => {
    const through = async (administration: Administration): Promise<void> => {
      await use(async (push) => await administration.notePush(repository, push, by))
    }
    if (folder !== undefined) {
      await through(remoteAdministration(socketPath(folder)))
      return
    }
    // Only here: a command that the service carries out does without a store.
    const { withLocalAdministration } = await import('../administration/local.js')
    await withLocalAdministration(io, given, folder, through, 'refused')
  }
}
