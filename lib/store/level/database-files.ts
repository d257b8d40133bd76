import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { TaskStep } from '../../concurrency/task.js'
import { StoreCorrupt } from '../../errors.js'
import { Inspection } from './files/inspection.js'
import { noteLost } from './files/lost.js'

/** The place of a backup while it is not whole, in the folder that it will fill. */
export const INCOMPLETE = 'incomplete'

/** Opening waits so long for tables to be looked at; those of a large store are looked at after it. */
const INSPECTION_MILLISECONDS = 150

/** The files of a database: their size, what is known to be wrong with them, and what of them is not to be read. */
export class DatabaseFiles {
  readonly #folder: string
  #inspections: Inspection[]
  /** What was lost at earlier openings. */
  readonly #lost: readonly string[]
  /** Whether there is no database yet. */
  readonly isNew: boolean

  private constructor(folder: string, inspection: Inspection | undefined, lost: readonly string[]) {
    this.#folder = folder
    this.isNew = inspection === undefined
    this.#inspections = inspection ? [inspection] : []
    this.#lost = lost
  }

  /**
   * Looks at the files of a database that is about to be opened.
   * @throws Error when LevelDB would remove or pass over what is there
   */
  static async of(folder: string): Promise<DatabaseFiles> {
    const inspection = (await isNew(folder)) ? undefined : await inspected(folder)
    if (inspection?.missingLog !== undefined) throw new Error(withoutLog(inspection.missingLog))
    return new DatabaseFiles(folder, inspection, await noteLost(folder, inspection?.lostInLogs ?? []))
  }

  /** Size of all files. */
  async bytes(): Promise<number> {
    // LevelDB removes files meanwhile; nor does the folder count that the socket of the commands is in.
    const sizes = (await readdir(this.#folder)).map(
      async (name) =>
        await stat(join(this.#folder, name)).then(
          (found) => (found.isFile() ? found.size : 0),
          () => 0,
        ),
    )
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }

  /** What is wrong with the files, as far as they have been looked at, in words. */
  get damage(): readonly string[] {
    return [...new Set([...this.#lost, ...this.#inspections.flatMap(({ damage }) => damage)])]
  }

  /**
   * Whether a table is known to be damaged. A write would make LevelDB merge it, and end the process over keys out of
   * order.
   */
  get hasDamagedTables(): boolean {
    return this.#inspections.some((inspection) => inspection.hasDamagedTables)
  }

  /**
   * Goes on with looking at the tables: opening waits only so long for that.
   * @param goOn asked before each table
   */
  async checkTables(goOn: () => boolean): Promise<void> {
    for (const inspection of this.#inspections) await inspection.checkTables(goOn)
  }

  /** Looks at all files as they are now, one after the other. What cannot be trusted is refused from then on. */
  async *inspect(): AsyncGenerator<TaskStep<never>> {
    const inspection = await Inspection.of(this.#folder)
    for (let done = 1, isDone = false; !isDone; done++) {
      let left = 1
      isDone = await inspection.checkTables(() => left-- > 0)
      yield { progress: { phase: 'checking files', done } }
    }
    // What an earlier inspection found may have been copied to another table, with a checksum that is right.
    this.#inspections = [...this.#inspections.filter(({ damage }) => damage.length > 0), inspection]
  }

  /** @throws StoreCorrupt where what lies between two keys, both included, cannot be trusted */
  refuseDamaged(from: string, to: string): void {
    if (this.#inspections.some((inspection) => inspection.isDamaged(from, to)))
      throw new StoreCorrupt(`what is stored at ${JSON.stringify(from)} lies in a damaged table`)
  }
}

/** LevelDB takes a folder without the file CURRENT for a new one, and would remove the tables that are there. */
async function isNew(folder: string): Promise<boolean> {
  const names = await readdir(folder)
  if (names.includes(INCOMPLETE)) throw new Error('it is a backup that was not finished')
  if (names.includes('CURRENT')) return false
  if (names.some((name) => /^\d+\.(?:ldb|sst|log)$/.test(name)))
    throw new Error('its file CURRENT is missing; restore the store from a backup')
  return true
}

async function inspected(folder: string): Promise<Inspection> {
  const until = performance.now() + INSPECTION_MILLISECONDS
  const inspection = await Inspection.of(folder)
  await inspection.checkTables(() => performance.now() < until)
  return inspection
}

function withoutLog(name: string): string {
  return (
    `its file ${name} is gone, or its MANIFEST is older than its tables; restore the store from a backup. To go ` +
    `on without what is missing, which may be much, keep a copy of the folder and make an empty file ${name}`
  )
}
