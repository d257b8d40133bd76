import { BackupRefused, type StoreCounts, type StoreFindings, type StoreMaintenance } from '../store.js'
import { Backup } from './backup.js'
import type { Database } from './database.js'
import { isGrant } from './grants.js'
import { isStatus } from './statuses.js'
import { isTokenRecord, isTokenUse } from './tokens.js'

/** How many keys of damaged values are told. */
const MOST_KEYS = 1000

/** How many entries are written at once. */
const MOST_IN_BATCH = 5000

const REFUSED = 'the store is damaged, and a copy of it must not take the place of a sound one; to keep what is there, stop the service and copy its folder. See store verify:'

/** What an admin does with a whole LevelDB store. */
export class LevelMaintenance implements StoreMaintenance {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async verify(): Promise<StoreFindings> {
    await this.#database.inspect()
    const tally = new Tally()
    for await (const [key, value] of this.#database.everything()) tally.add(key, value)
    return { ...tally.counts, damaged: tally.damaged, keys: tally.keys, problems: this.#database.damage }
  }

  async backUp(folder: string): Promise<StoreCounts> {
    const tally = new Tally()
    const backup = await Backup.begin(folder)
    try {
      // A copy of what is left would look sound.
      await this.#database.inspect()
      if (this.#database.damage.length > 0) throw new BackupRefused(`${REFUSED} ${this.#database.damage.join('; ')}`)
      // Through the open database: to open and close one of its files would give up its lock.
      let batch: { type: 'put'; key: string; value: string }[] = []
      for await (const [key, value] of this.#database.everything()) {
        tally.add(key, value)
        batch.push({ type: 'put', key, value })
        if (batch.length < MOST_IN_BATCH) continue
        await backup.database.write(batch)
        batch = []
      }
      await backup.database.write(batch)
      if (tally.damaged > 0) throw new BackupRefused(`${REFUSED} ${tally.damaged} values are not what was written`)
      await backup.finish()
    } catch (error) {
      await backup.discard()
      throw error
    }
    return tally.counts
  }
}

/** Counts entries by what they are. */
class Tally {
  readonly keys: string[] = []
  damaged = 0
  #statuses = 0
  #tokens = 0
  #grants = 0

  get counts(): StoreCounts {
    return { statuses: this.#statuses, tokens: this.#tokens, grants: this.#grants }
  }

  add(key: string, value: string): void {
    try {
      if (isStatus(key, value)) this.#statuses++
      else if (isTokenRecord(key, value)) this.#tokens++
      else if (isGrant(key, value)) this.#grants++
      else if (!isTokenUse(key, value)) throw new Error('this is the key of nothing')
    } catch {
      this.damaged++
      if (this.keys.length < MOST_KEYS) this.keys.push(key)
    }
  }
}
