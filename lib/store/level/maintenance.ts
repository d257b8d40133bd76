import { BackupRefused } from '../../errors.js'
import type { StoreCounts, StoreFindings, StoreMaintenance } from '../../contracts/store-administration.js'
import type { Task } from '../../concurrency/task.js'
import { Backup } from './backup.js'
import type { LevelDatabase } from './database.js'
import { isGrant } from './grants.js'
import { isHookRecord } from './hooks.js'
import { isOfOutbox } from './outbox-record.js'
import { isStatus } from './status-record.js'
import { isTokenRecord, isTokenUse } from './tokens.js'

/** How many keys of damaged values are reported. */
const MAX_KEYS = 1000

/** How many entries are written at once, or some more. */
const LEAST_IN_BATCH = 2000

const REFUSED =
  'the store is damaged, and a copy of it must not take the place of a sound one; to keep what is there, stop the ' +
  'service and copy its folder. See store verify:'

/** What an admin does with a whole LevelDB store. */
export class LevelMaintenance implements StoreMaintenance {
  readonly #database: LevelDatabase

  constructor(database: LevelDatabase) {
    this.#database = database
  }

  async *verify(): Task<StoreFindings> {
    yield* this.#database.files.inspect()
    const tally = new Tally()
    for await (const { entries, share } of this.#database.pages()) {
      for (const [key, value] of entries) tally.add(key, value)
      yield { progress: { phase: 'checking', done: tally.total, share } }
    }
    return { ...tally.counts, damaged: tally.damaged, keys: tally.keys, problems: this.#database.files.damage }
  }

  async *backUp(folder: string): Task<StoreCounts> {
    const tally = new Tally()
    const backup = await Backup.begin(folder, this.#database.folder)
    let isFinished = false
    try {
      // A copy of what is left would look sound.
      yield* this.#database.files.inspect()
      if (this.#database.files.damage.length > 0)
        throw new BackupRefused(`${REFUSED} ${this.#database.files.damage.join('; ')}`)
      // Through the open database: to open and close one of its files would give up its lock.
      let batch: { type: 'put'; key: string; value: string }[] = []
      for await (const { entries, share } of this.#database.pages()) {
        for (const [key, value] of entries) {
          tally.add(key, value)
          batch.push({ type: 'put', key, value })
        }
        if (batch.length >= LEAST_IN_BATCH) {
          await backup.database.write(batch)
          batch = []
        }
        yield { progress: { phase: 'copying', done: tally.total, share } }
      }
      await backup.database.write(batch)
      if (tally.damaged > 0) throw new BackupRefused(`${REFUSED} ${tally.damaged} values are not what was written`)
      await backup.finish()
      isFinished = true
    } finally {
      if (!isFinished) await backup.discard()
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

  /** Entries, damaged or not. */
  total = 0

  get counts(): StoreCounts {
    return { statuses: this.#statuses, tokens: this.#tokens, grants: this.#grants }
  }

  add(key: string, value: string): void {
    this.total++
    try {
      if (isStatus(key, value)) this.#statuses++
      else if (isTokenRecord(key, value)) this.#tokens++
      else if (isGrant(key, value)) this.#grants++
      else if (![isTokenUse, isHookRecord, isOfOutbox].some((is) => is(key, value)))
        throw new Error('this is the key of nothing')
    } catch {
      this.damaged++
      if (this.keys.length < MAX_KEYS) this.keys.push(key)
    }
  }
}
