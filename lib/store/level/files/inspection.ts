import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../../errors.js'
import { readLog } from './log-format.js'
import { readManifest, type TableFile, type TableRange } from './manifest.js'
import { damagedRanges } from './table.js'

/** How often the files are looked at again when they change meanwhile: then another process has the database open. */
const MAX_ATTEMPTS = 3

/**
 * What is wrong with the files of a database, found by their checksums. LevelDB itself passes over what is damaged in
 * a log, and does not look at the checksums of its tables: without this, entries could vanish without a word.
 *
 * This folder can go when `classic-level` takes LevelDB's options `paranoid_checks` and `verify_checksums`, and opens
 * with an error what they find.
 */
export class Inspection {
  /** What is wrong, in words. */
  readonly damage: string[] = []
  /** The part of it of which LevelDB leaves no trace when it opens the database. */
  readonly lostInLogs: string[] = []
  readonly #folder: string
  readonly #unchecked: TableFile[] = []
  readonly #ranges: TableRange[] = []
  #missingLog: string | undefined
  #buffer = Buffer.alloc(0)

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Looks at the list of tables and at the logs. What LevelDB does at opening would wipe out the traces. */
  static async of(folder: string): Promise<Inspection> {
    let [attempts, isSteady] = [0, false]
    let inspection: Inspection
    do {
      const before = await stampOf(folder)
      inspection = new Inspection(folder)
      const missingLog = await inspection.#inspectLogs()
      isSteady = (await stampOf(folder)) === before
      if (isSteady && missingLog !== undefined) inspection.#miss(missingLog)
    } while (!isSteady && ++attempts < MAX_ATTEMPTS)
    return inspection
  }

  /**
   * The log that the list of tables names, where it is gone. LevelDB would open then, and remove the tables that are
   * not in the list.
   */
  get missingLog(): string | undefined {
    return this.#missingLog
  }

  /**
   * Looks at the tables, until all have been looked at or `goOn` says no more.
   * @returns whether all have been looked at
   */
  async checkTables(goOn: () => boolean): Promise<boolean> {
    while (goOn()) {
      const table = this.#unchecked.pop()
      if (!table) return true
      const bytes = (await this.#bytes(nameOf(table.number, 'ldb'))) ?? (await this.#bytes(nameOf(table.number, 'sst')))
      const ranges = bytes ? damagedRanges(bytes, table) : []
      this.#ranges.push(...ranges)
      if (ranges.length > 0)
        this.damage.push(`${nameOf(table.number, 'ldb')} is damaged: ${ranges.map(describeRange).join(', ')}`)
    }
    return this.#unchecked.length === 0
  }

  /** Whether anything in a table cannot be trusted. */
  get hasDamagedTables(): boolean {
    return this.#ranges.length > 0
  }

  /** Whether what lies between two keys, both included, cannot be trusted. */
  isDamaged(from: string, to: string): boolean {
    if (this.#ranges.length === 0) return false
    const [first, last] = [Buffer.from(from), Buffer.from(to)]
    return this.#ranges.some(
      (range) => Buffer.compare(range.first, last) <= 0 && Buffer.compare(first, range.last) <= 0,
    )
  }

  #miss(log: string): void {
    this.#missingLog = log
    this.damage.push(`${log} is gone`)
  }

  /** @returns the log that the list of tables names, where it is not there */
  async #inspectLogs(): Promise<string | undefined> {
    const manifest = await readManifest(this.#folder).catch((error: unknown) => errorMessage(error))
    if (typeof manifest === 'string') {
      this.damage.push(`its list of tables cannot be read: ${manifest}`)
      return undefined
    }
    const { damage, log, name, tables } = manifest
    this.damage.push(...damage.map((words) => `${name}: ${words}`))
    this.#unchecked.push(...tables)
    const names = (await readdir(this.#folder)).filter((file) => file.endsWith('.log'))
    for (const file of names.filter((candidate) => parseInt(candidate) >= log)) {
      const bytes = await this.#bytes(file)
      const found = bytes ? readLog(bytes).damage : []
      this.lostInLogs.push(...found.map((words) => `${file}: ${words}`))
    }
    this.damage.push(...this.lostInLogs)
    const used = nameOf(log, 'log')
    // A database that is being made has none yet.
    return names.includes(used) || log === 0 ? undefined : used
  }

  /**
   * Reads a file; its bytes are good until the next is read. `undefined` for a file that LevelDB has removed meanwhile,
   * or that cannot be read, as LevelDB will say too.
   */
  async #bytes(name: string): Promise<Buffer | undefined> {
    try {
      const file = await open(join(this.#folder, name))
      try {
        const { size } = await file.stat()
        // One for all tables: memory of their size would be let go of much later than it is taken.
        if (this.#buffer.length < size) this.#buffer = Buffer.alloc(size)
        let length = 0
        let bytesRead = 1
        while (bytesRead > 0 && length < size) {
          ;({ bytesRead } = await file.read(this.#buffer, length, size - length))
          length += bytesRead
        }
        return this.#buffer.subarray(0, length)
      } finally {
        await file.close()
      }
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      if (!isGone) this.damage.push(`${name} cannot be read: ${errorMessage(error)}`)
      return undefined
    }
  }
}

function nameOf(number: number, ending: string): string {
  return `${String(number).padStart(6, '0')}.${ending}`
}

function describeRange({ first, last }: TableRange): string {
  return `${JSON.stringify(first.toString())} to ${JSON.stringify(last.toString())}`
}

/** Changes when tables come or go. */
async function stampOf(folder: string): Promise<string> {
  const name = (await readFile(join(folder, 'CURRENT'), 'utf8')).trimEnd()
  const found = await stat(join(folder, name)).catch(() => undefined)
  return `${name} ${found?.size} ${found?.mtimeMs}`
}
