import type { Logger } from '../logger.js'
import type { Meter } from '../meter.js'
import { isDatabaseUrl, levelFolder, withoutPassword } from './address.js'
import type { Store } from './store.js'

/**
 * Opens the store that an address names: `level:` and a folder, or the URL of a database. Only the driver that it
 * takes is loaded.
 * @throws StoreLocked, StoreUnavailable
 */
export async function openStore(address: string, logger?: Logger, meter?: Meter): Promise<Store> {
  const folder = levelFolder(address)
  if (folder !== undefined) {
    const { LevelStore } = await import('./level/level-store.js')
    return await LevelStore.open(folder, logger, meter)
  }
  if (!isDatabaseUrl(address)) throw new TypeError(`no store of this kind: ${withoutPassword(address)}`)
  const { PostgresStore } = await import('./postgres/postgres-store.js')
  return await PostgresStore.open(address, logger, meter)
}

/**
 * Makes the tables of a store in a database, or changes them to what this program works with; a LevelDB store needs
 * none.
 * @returns the versions before and after; `undefined` where there is nothing to do ever
 * @throws StoreUnavailable
 */
export async function migrateStore(address: string): Promise<{ from: number; to: number } | undefined> {
  if (levelFolder(address) !== undefined) return undefined
  const { migrate } = await import('./postgres/schema.js')
  return await migrate(address)
}
