import { mkdir, readdir } from 'node:fs/promises'
import { Level } from 'level'
import { reasonOf } from '../../reason.js'
import { StoreLocked, StoreUnavailable } from '../store.js'

/** One change of the database. */
export type Operation =
  | { readonly type: 'put'; readonly key: string; readonly value: string }
  | { readonly type: 'del'; readonly key: string }

/**
 * The LevelDB database of a folder; the one place where `level` is used. Keys are ordered by their UTF-8 bytes.
 * LevelDB allows one process at a time.
 */
export class Database {
  readonly folder: string
  readonly #level: Level

  private constructor(folder: string, level: Level) {
    this.folder = folder
    this.#level = level
  }

  /**
   * Opens the database of a folder, which is made when it is missing.
   * @throws StoreUnavailable when it cannot be opened, `StoreLocked` when another process has it open
   */
  static async open(folder: string): Promise<Database> {
    try {
      // What is private in it stays private on a machine with other users. Before `level` comes to be: it begins to
      // open by itself, and would make a folder that others may enter.
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const level = new Level(folder, { createIfMissing: await isNew(folder) })
      await level.open()
      return new Database(folder, level)
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      if (cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_LOCKED') throw new StoreLocked(folder, cause)
      throw new StoreUnavailable(`the store ${folder} cannot be opened: ${reasonOf(cause)}`, { cause })
    }
  }

  /** Closes and opens it again, whatever state it is in. Until this has resolved, reading may fail. */
  async reopen(): Promise<void> {
    await this.#level.close()
    await this.#level.open({ createIfMissing: false })
  }

  /** The values of keys, in their order; `undefined` where there is none. */
  async read(keys: string[]): Promise<(string | undefined)[]> {
    return await this.#level.getMany(keys).catch(unreadable)
  }

  /** Every key that begins with `prefix`, with its value, as they were when the reading began. */
  async *scan(prefix: string): AsyncGenerator<readonly [key: string, value: string]> {
    try {
      yield* this.#level.iterator(within(prefix))
    } catch (cause) {
      unreadable(cause)
    }
  }

  /** As `scan`, at once: for what is known to be small. */
  async all(prefix: string): Promise<[key: string, value: string][]> {
    try {
      return await this.#level.iterator(within(prefix)).all()
    } catch (cause) {
      unreadable(cause)
    }
  }

  /** Collects changes, too many to hold as objects, to be made all or none and to be on disk once `write` has resolved. */
  batch(): { add(operation: Operation): void; write(): Promise<void>; discard(): Promise<void> } {
    const batch = this.#level.batch()
    return {
      add(operation) {
        if (operation.type === 'put') batch.put(operation.key, operation.value)
        else batch.del(operation.key)
      },
      write: async () => await batch.write({ sync: true }),
      discard: async () => await batch.close(),
    }
  }

  /** Makes changes, all or none. On disk once it has resolved. */
  async write(operations: Operation[]): Promise<void> {
    await this.#level.batch(operations, { sync: true })
  }

  async close(): Promise<void> {
    await this.#level.close()
  }
}

/** LevelDB takes a folder without the file CURRENT for a new one, and would remove the tables that are there. */
async function isNew(folder: string): Promise<boolean> {
  const names = await readdir(folder)
  if (names.includes('CURRENT')) return false
  if (names.some((name) => /^\d+\.(?:ldb|sst|log)$/.test(name))) throw new Error('its file CURRENT is missing; restore the store from a backup')
  return true
}

function unreadable(cause: unknown): never {
  throw new StoreUnavailable('the store cannot be read', { cause })
}

/** The range of keys that begin with `prefix`; its last character must not be U+FFFF. */
function within(prefix: string): { gte: string; lt: string } {
  const last = prefix.charCodeAt(prefix.length - 1)
  return { gte: prefix, lt: prefix.slice(0, -1) + String.fromCharCode(last + 1) }
}
