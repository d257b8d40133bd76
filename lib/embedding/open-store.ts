import type { CacheShares } from '../contracts/cache-shares.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import type { WholeStore } from '../contracts/store.js'
import type { Migration } from '../store/postgres/schema.js'
import { isDatabaseUrl, levelFolder, schemeOnly } from '../store/address.js'

/**
 * Opens the store that an address names: `level:` and a folder, or the URL of a database. Only the driver that it
 * takes is loaded.
 * @throws StoreLocked, StoreUnavailable; TypeError for another kind of address
 */
export async function openStore(
  address: string,
  logger?: Logger,
  meter?: Meter,
  shares?: CacheShares,
): Promise<WholeStore> {
  const folder = levelFolder(address)
  if (folder !== undefined) {
    const { LevelStore } = await import('../store/level/level-store.js')
    return await LevelStore.open(folder, logger, meter, shares)
  }
  refuseOthers(address)
  const { PostgresStore } = await import('../store/postgres/postgres-store.js')
  return await PostgresStore.open(address, logger, meter, shares)
}

/**
 * Makes the tables of a store in a database, or changes them to what this program works with; a LevelDB store needs
 * none.
 * @returns the versions before and after; `undefined` where there is nothing to do ever
 * @throws StoreUnavailable; TypeError for another kind of address
 */
export async function migrateStore(
  address: string,
  migration: Migration = {},
): Promise<{ from: number; to: number } | undefined> {
  if (levelFolder(address) !== undefined) return undefined
  refuseOthers(address)
  const { migrate } = await import('../store/postgres/schema.js')
  return await migrate(address, migration)
}

function refuseOthers(address: string): void {
  if (!isDatabaseUrl(address)) throw new TypeError(`no store of this kind: ${schemeOnly(address)}`)
}
