import { chmod, open, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { BackupRefused } from '../../errors.js'
import { INCOMPLETE } from './database-files.js'
import { LevelDatabase } from './database.js'
import { makeFolder } from './make-folder.js'

/** A copy of a database in the making. */
export class Backup {
  readonly database: LevelDatabase
  readonly #folder: string
  /** The files that have their place. */
  readonly #moved: string[] = []

  private constructor(folder: string, database: LevelDatabase) {
    this.#folder = folder
    this.database = database
  }

  /**
   * @param store folder of the database that is copied
   * @throws BackupRefused when there is something in the folder, or when it is in that of the store
   */
  static async begin(folder: string, store: string): Promise<Backup> {
    const [target, source] = [await canonical(resolve(folder)), await canonical(resolve(store))]
    if (target === source || target.startsWith(`${source}/`)) {
      throw new BackupRefused(`${folder} is in the folder of the store: choose another one`)
    }
    await makeFolder(resolve(folder))
    // A file system that was just made has that folder.
    const names = (await readdir(folder)).filter((name) => name !== 'lost+found')
    if (names.length > 0)
      throw new BackupRefused(
        `${folder} is not empty${names.includes(INCOMPLETE) ? ': it has a backup that was not finished' : ''}`,
      )
    const incomplete = join(folder, INCOMPLETE)
    try {
      return new Backup(folder, await LevelDatabase.open(incomplete))
    } catch (error) {
      await rm(incomplete, { recursive: true, force: true })
      throw error
    }
  }

  /** Makes the folder a store: on disk once it has resolved. */
  async finish(): Promise<void> {
    await this.database.close()
    const incomplete = join(this.#folder, INCOMPLETE)
    // What makes it a store comes last.
    for (const name of (await readdir(incomplete)).sort(
      (one, other) => Number(one === 'CURRENT') - Number(other === 'CURRENT'),
    )) {
      this.#moved.push(name)
      // The folder may be open to others.
      await chmod(join(incomplete, name), 0o600)
      await rename(join(incomplete, name), join(this.#folder, name))
    }
    await rmdir(incomplete)
    for (const path of [this.#folder, dirname(this.#folder)]) {
      const directory = await open(path)
      await directory.sync().finally(async () => {
        await directory.close()
      })
    }
  }

  /** Leaves nothing behind but the folder. */
  async discard(): Promise<void> {
    await this.database.close()
    for (const name of [...this.#moved, INCOMPLETE])
      await rm(join(this.#folder, name), { recursive: true, force: true })
  }
}

/** The path without symbolic links, also of what is not there yet; the root always is. */
async function canonical(path: string): Promise<string> {
  return await realpath(path).catch(async () => join(await canonical(dirname(path)), basename(path)))
}
