import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Level, type Iterator } from 'level'
import { errorMessage, StoreLocked, StoreUnavailable } from '../../errors.js'
import type { MaybePromise } from '../../concurrency/maybe-promise.js'
import { SyncWhileFast } from '../../concurrency/sync-while-fast.js'
import { BATCH_SIZE } from '../../concurrency/task.js'
import type { Batch, BatchOperation } from './batch.js'
import { CommitFilter } from './commit-filter.js'
import { SPACE_PROBE } from './disk-space.js'
import { DatabaseFiles } from './database-files.js'
import { STATUSES, type KeyRange } from './key-range.js'
import { Turns } from '../turns.js'
import { makeFolder } from './make-folder.js'
import { makeFilesPrivate } from './private-files.js'
import { unreadable } from './record.js'

declare module 'level' {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- as they are published
  interface Level<KDefault = string, VDefault = string> {
    /** A method of LevelDB itself, which the published types leave out. */
    approximateSize(start: KDefault, end: KDefault): Promise<number>
  }
}

/** The most bytes of a page, which is read at once. */
const PAGE_BYTES = 256 * 1024

/** How many keys are read at once. */
const KEYS = 1000

/** How many statuses a commit may well have. */
const FEW = 32

/**
 * Native memory of an iterator until it is collected. V8 cannot see it, so a buffer of that size hangs on it; without,
 * a million lists grew to 1 GB. It can go when classic-level reports that memory to V8.
 */
const ITERATOR_BYTES = 8 * 1024

/**
 * The LevelDB database of a folder; the one place where `level` is used. Keys are ordered by their UTF-8 bytes.
 * LevelDB allows one process at a time.
 */
export class LevelDatabase {
  readonly folder: string
  readonly files: DatabaseFiles
  readonly #level: Level
  readonly #reopened: (() => void)[] = []
  readonly #syncReads = new SyncWhileFast()
  readonly #turns = new Turns()
  readonly #reported: CommitFilter

  private constructor(folder: string, level: Level, files: DatabaseFiles) {
    this.folder = folder
    this.#level = level
    this.files = files
    this.#reported = new CommitFilter(() => this.#keyPages(STATUSES), files.isNew)
  }

  /**
   * Opens the database of a folder, which is made when it is missing.
   * @throws StoreUnavailable when it cannot be opened, `StoreLocked` when another process has it open
   */
  static async open(folder: string): Promise<LevelDatabase> {
    try {
      // What is private in it stays private on a machine with other users. Before `level` comes to be: it begins to
      // open by itself, and would make a folder that others may enter.
      await makeFolder(resolve(folder))
      const files = await DatabaseFiles.of(folder)
      const level = new Level(folder, { createIfMissing: files.isNew })
      await level.open()
      await makeFilesPrivate(folder)
      await rm(join(folder, SPACE_PROBE), { force: true })
      return new LevelDatabase(folder, level, files)
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      if (cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_LOCKED')
        throw new StoreLocked(folder, cause)
      throw new StoreUnavailable(`the store ${folder} cannot be opened: ${errorMessage(cause)}`, { cause })
    }
  }

  /** Closes and opens it again, whatever state it is in. Until this has resolved, reading may fail. */
  async reopen(): Promise<void> {
    await this.#level.close()
    await this.#level.open({ createIfMissing: false })
    for (const listener of this.#reopened) listener()
  }

  /** Calls `listener` whenever it has been opened again: a change that had failed may be there after all. */
  onReopen(listener: () => void): void {
    this.#reopened.push(listener)
  }

  /**
   * The values of keys, in their order; `undefined` where there is none.
   * @throws StoreCorrupt when what is there cannot be trusted
   */
  async read(keys: string[]): Promise<(string | undefined)[]> {
    for (const key of keys) this.files.refuseDamaged(key, key)
    return await this.#level.getMany(keys).catch((cause: unknown) => unreadable(cause, keys[0]))
  }

  /** Reads values that are small and asked for by every request: synchronously while the disk is quick. */
  readSmall(keys: string[]): MaybePromise<(string | undefined)[]> {
    // While it is opened again, reads wait for that.
    if (this.#level.status !== 'open') return this.read(keys)
    return this.#syncReads.call(
      () => this.#readSync(keys),
      async () => await this.read(keys),
    )
  }

  #readSync(keys: readonly string[]): (string | undefined)[] {
    for (const key of keys) this.files.refuseDamaged(key, key)
    try {
      return keys.map((key) => this.#level.getSync(key))
    } catch (cause) {
      return unreadable(cause, keys[0])
    }
  }

  /** Every key that begins with `prefix`, with its value, as they were when the reading began. Throws as `read`. */
  async *scan(prefix: string): AsyncGenerator<readonly [key: string, value: string]> {
    const range = within(prefix)
    this.files.refuseDamaged(range.gte, range.lt)
    try {
      yield* this.#level.iterator({ ...range, highWaterMarkBytes: PAGE_BYTES })
    } catch (cause) {
      unreadable(cause, prefix)
    }
  }

  /** Every key that begins with `prefix`, as `scan`; also those whose values are damaged. */
  async *keys(prefix: string): AsyncGenerator<string> {
    try {
      yield* this.#level.keys(within(prefix))
    } catch (cause) {
      unreadable(cause, prefix)
    }
  }

  /**
   * Whether it is known, without a read, that a commit has no statuses.
   * @param prefix of the keys of its statuses
   * @throws StoreCorrupt when what is there cannot be trusted
   */
  hasNone(prefix: string): boolean {
    const range = within(prefix)
    this.files.refuseDamaged(range.gte, range.lt)
    return this.#reported.lacks(prefix)
  }

  /** How many keys begin with the `prefix` of those of a commit's statuses; the counting ends at `max`. */
  async count(prefix: string, max: number): Promise<number> {
    let found = 0
    if (this.hasNone(prefix)) return found
    for await (const page of this.#keyPages({ ...within(prefix), limit: max })) found += page.length
    return found
  }

  async *#keyPages(range: KeyRange & { readonly limit?: number }): AsyncGenerator<string[]> {
    const keys = this.#level.keys({ ...range, highWaterMarkBytes: PAGE_BYTES })
    try {
      for (let page = await keys.nextv(KEYS); page.length > 0; page = await keys.nextv(KEYS)) yield page
    } catch (cause) {
      unreadable(cause, range.gte)
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      await keys.close()
    }
  }

  /** Reads what `scan` does at once: for what is known to be small. */
  async all(prefix: string): Promise<[key: string, value: string][]> {
    return (await this.upTo(prefix, Infinity)).entries
  }

  /** Reads what `all` does, but no more where keys and values have more characters than `max`. */
  async upTo(prefix: string, max: number): Promise<{ entries: [key: string, value: string][]; isWhole: boolean }> {
    const range = within(prefix)
    this.files.refuseDamaged(range.gte, range.lt)
    let iterator: Iterator<Level, string, string> | undefined
    try {
      iterator = Object.assign(this.#level.iterator(range), { weight: Buffer.allocUnsafeSlow(ITERATOR_BYTES) })
      const found: [key: string, value: string][] = []
      let size = 0
      // Its own `all` reserves room for a thousand entries.
      for (let entries = await iterator.nextv(FEW); entries.length > 0; entries = await iterator.nextv(BATCH_SIZE)) {
        for (const [key, value] of entries) size += key.length + value.length
        if (size > max) return { entries: found, isWhole: false }
        found.push(...entries)
      }
      return { entries: found, isWhole: true }
    } catch (cause) {
      return unreadable(cause, prefix)
      /* c8 ignore next -- V8 counts a way out of the catch that there is not */
    } finally {
      await iterator?.close()
    }
  }

  /** What begins with `prefix`, as it is now, to be read in pages, several times; to be closed. Throws as `read`. */
  snapshot(prefix: string): { pages(): AsyncGenerator<[key: string, value: string][]>; close(): Promise<void> } {
    const range = within(prefix)
    this.files.refuseDamaged(range.gte, range.lt)
    const snapshot = this.#level.snapshot()
    const iterator = () => this.#level.iterator({ ...range, snapshot, highWaterMarkBytes: PAGE_BYTES })
    const turns = this.#turns
    return {
      async *pages() {
        const reading = Object.assign(iterator(), { weight: Buffer.allocUnsafeSlow(PAGE_BYTES) })
        try {
          for (;;) {
            const entries = await reading.nextv(BATCH_SIZE)
            if (entries.length === 0) return
            await turns.next()
            yield entries
          }
        } catch (cause) {
          unreadable(cause, prefix)
          /* c8 ignore next -- V8 counts a way out of the catch that there is not */
        } finally {
          await reading.close()
        }
      },
      close: async () => await snapshot.close(),
    }
  }

  /**
   * Everything in a range, or at all, that can be read, as it was when the reading began, whether or not it can be
   * trusted; with the share of it that has been read, 0 to 1, where LevelDB can tell.
   */
  async *pages(
    range?: KeyRange,
  ): AsyncGenerator<{ entries: [key: string, value: string][]; share: number | undefined }> {
    const { gte, lt } = range ?? { gte: '', lt: '\uffff' }
    let iterator: Iterator<Level, string, string> | undefined
    try {
      iterator = this.#level.iterator({ ...range, highWaterMarkBytes: PAGE_BYTES })
      // What is not in a table yet does not count.
      const total = await this.#level.approximateSize(gte, lt)
      for (;;) {
        const entries = await iterator.nextv(BATCH_SIZE)
        const last = entries.at(-1)
        if (!last) break
        const done = total > 0 ? await this.#level.approximateSize(gte, last[0]) : 0
        yield { entries, share: total > 0 ? Math.min(1, done / total) : undefined }
      }
    } catch (cause) {
      unreadable(cause, gte)
    } finally {
      await iterator?.close()
    }
  }

  /** Begins to collect changes. */
  batch(): Batch {
    const batch = this.#level.batch()
    return {
      add: (operation) => {
        this.#reported.note(operation.key)
        if (operation.type === 'put') batch.put(operation.key, operation.value)
        else batch.del(operation.key)
      },
      write: async () => await batch.write({ sync: true }),
      discard: async () => await batch.close(),
    }
  }

  /** Makes changes, all or none, `known` keys of which were there before. On disk once it has resolved. */
  async write(operations: Iterable<BatchOperation>, known: ReadonlySet<string> = new Set()): Promise<void> {
    // A chained batch takes two thirds of the processor time of an array.
    const batch = this.#level.batch()
    let characters = 0
    for (const operation of operations) {
      if (!known.has(operation.key)) this.#reported.note(operation.key)
      if (operation.type === 'put') {
        batch.put(operation.key, operation.value)
        characters += operation.key.length + operation.value.length
      } else batch.del(operation.key)
    }
    Object.assign(batch, { weight: Buffer.allocUnsafeSlow(characters) })
    await batch.write({ sync: true })
  }

  async close(): Promise<void> {
    await this.#level.close()
  }
}

/** The range of keys that begin with `prefix`; its last character must not be U+FFFF. */
export function within(prefix: string): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1)
  return { gte: prefix, lt: prefix.slice(0, -1) + String.fromCharCode(last + 1) }
}
