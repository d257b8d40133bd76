import type { Command } from 'commander'
import type { Administration } from '../../../lib/admin/administration.js'
import type { Actor } from '../../../lib/admin/audit-log.js'
import { ServiceNotRunning, remoteAdministration } from '../../../lib/admin/client.js'
import { socketPath } from '../../../lib/admin/socket-path.js'
import { StoreLocked, StoreUnavailable } from '../../../lib/errors.js'
import { levelFolder } from '../../../lib/store/address.js'
import type { GivenSettings } from '../../../lib/stand-alone/settings.js'
import type { Io } from '../terminal/io.js'
import { currentUser } from './change-log.js'
import type { IfMissing } from './local.js'
import { lockHolder } from './lock-holder.js'
import { retryWhileLocked } from './retry-while-locked.js'

export type Use<T> = (administration: Administration, by: Actor, over: AbortSignal) => Promise<T>

/**
 * Does what an admin asked for: in a database; or in a LevelDB store, through the service when one is running.
 * @param use gets who the admin is, to say it with every change, and a signal that is given when it is over:
 *   through a service at its end, in the store when it is interrupted, since there something is to be put in order then
 * @param ifMissing what becomes of a LevelDB store that is not there
 */
export async function administer<T>(
  io: Io,
  command: Command,
  use: Use<T>,
  ifMissing: IfMissing = 'refused',
): Promise<T> {
  // Only here: what checks settings is half of what a command loads that has none.
  const [{ givenSettings }, { explained }] = await Promise.all([
    import('./command-settings.js'),
    import('./explained-failure.js'),
  ])
  const given = givenSettings(io, command)
  return await explained(io, given, async () => await administered(io, given, use, ifMissing))
}

async function administered<T>(io: Io, given: GivenSettings, use: Use<T>, ifMissing: IfMissing): Promise<T> {
  const folder = levelFolder(given.settings.store)
  const by = currentUser()
  const atHand = async (): Promise<T> => {
    // Only here: a command that the service carries out, or that reports over HTTP, does without LevelDB.
    const { withLocalAdministration: inStore } = await import('./local.js')
    return await inStore(
      io,
      given,
      folder,
      async (administration, interrupted) => await use(administration, by, interrupted),
      ifMissing,
    )
  }
  if (folder === undefined) return await atHand()
  try {
    return await retryWhileLocked(async () => {
      const ended = new AbortController()
      try {
        // At a signal, this process just ends: then the service ends the work.
        return await use(remoteAdministration(socketPath(folder)), by, ended.signal)
      } catch (error) {
        if (!(error instanceof ServiceNotRunning)) throw error
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
