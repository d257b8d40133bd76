import type { Logger } from '../logger.js'
import type { Meter } from '../meter.js'
import { levelFolder } from './address.js'
import { LevelStore } from './level/level-store.js'
import type { Store } from './store.js'

/**
 * Opens the store that an address names: `level:` and a folder.
 * @throws StoreLocked, StoreUnavailable
 */
export async function openStore(address: string, logger?: Logger, meter?: Meter): Promise<Store> {
  return await LevelStore.open(levelFolder(address), logger, meter)
}
