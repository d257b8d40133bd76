import type { Command } from 'commander'
import type { Administration } from '../../lib/admin/administration.js'
import type { UnixUser } from '../../lib/audit.js'
import { NoService, remoteAdministration } from '../../lib/admin/remote.js'
import { socketPath } from '../../lib/admin/socket-path.js'
import { levelFolder } from '../../lib/store/address.js'
import { StoreLocked, StoreUnavailable } from '../../lib/store/store.js'
import { currentUser } from './change-log.js'
import { lockHolder } from './lock-holder.js'
import { patiently } from './patience.js'
import { settingsOf } from './settings.js'

export type Use<T> = (administration: Administration, by: UnixUser, over: AbortSignal) => Promise<T>

/**
 * Does what an admin asked for: in a database; or in a LevelDB store, through the service when one is running.
 * @param use gets who the admin is, to say it with every change, and a signal that is given when it is over:
 *   through a service at its end, in the store when it is interrupted, since there something is to be put in order then
 */
export async function administer<T>(command: Command, use: Use<T>): Promise<T> {
  const settings = settingsOf(command)
  const folder = levelFolder(settings.store)
  const by = currentUser()
  const atHand = async (): Promise<T> => {
    // Only here: a command that the service carries out, or that reports over HTTP, does without LevelDB.
    const { inStore } = await import('./in-store.js')
    return await inStore(settings, folder, async (administration, interrupted) => await use(administration, by, interrupted))
  }
  if (folder === undefined) return await atHand()
  try {
    return await patiently(async () => {
      const ended = new AbortController()
      try {
        // At a signal, this process just ends: then the service ends the work.
        return await use(remoteAdministration(socketPath(folder)), by, ended.signal)
      } catch (error) {
        if (!(error instanceof NoService)) throw error
        return await atHand()
      } finally {
        ended.abort()
      }
    })
  } catch (error) {
    if (!(error instanceof StoreLocked)) throw error
    const holder = await lockHolder(folder)
    const words = holder === undefined ? error.message : `the store ${folder} is in use by process ${holder}`
    throw new StoreUnavailable(`${words}, which does not answer on ${socketPath(folder)}`, { cause: error })
  }
}
