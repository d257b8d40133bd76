import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dayOf } from '../day.js'

/** The file that it stands in, as `2031-01-31`. LevelDB passes over it. */
const CLAIMED = 'claimed-day.txt'

/** The day that was claimed last, for the one process that has the store open: kept over its restarts. */
export class ClaimedDay {
  readonly #path: string
  #last: Promise<unknown> = Promise.resolve()

  constructor(folder: string) {
    this.#path = join(folder, CLAIMED)
  }

  async claim(now: number): Promise<boolean> {
    const claim = this.#last.then(async () => await this.#claim(now))
    this.#last = claim.catch(() => undefined)
    return await claim
  }

  async #claim(now: number): Promise<boolean> {
    const { start, wrong } = dayOf(now)
    // What cannot be read is no claim; it cannot be written either.
    const last = Date.parse(await readFile(this.#path, 'utf8').catch(() => ''))
    if (last >= start && last < wrong) return false
    await writeFile(this.#path, new Date(start).toISOString().slice(0, 'YYYY-MM-DD'.length), { mode: 0o600 })
    return true
  }
}
