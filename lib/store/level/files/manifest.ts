import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Bytes } from './bytes.js'
import { readLog } from './log-format.js'

/** The tags of a version edit (db/version_edit.cc). */
const COMPARATOR = 1
const LOG_NUMBER = 2
const NEXT_FILE = 3
const LAST_SEQUENCE = 4
const COMPACT_POINTER = 5
const DELETED_FILE = 6
const NEW_FILE = 7
const PREVIOUS_LOG = 9

/** After a user's key stand its sequence number and kind. */
const KEY_TRAILER = 8

/** A range of keys, both ends belong to it. */
export interface TableRange {
  readonly first: Buffer
  readonly last: Buffer
}

/** A table of the database. */
export interface TableFile extends TableRange {
  readonly number: number
}

/** What makes up a database: its tables, and the log of what is in none of them yet. */
export interface Manifest {
  /** Name of its file. */
  readonly name: string
  readonly log: number
  readonly tables: readonly TableFile[]
  /** What is not as it was written, in words. */
  readonly damage: readonly string[]
}

/** Reads what the database of a folder is made of. Rejects when it cannot be told. */
export async function readManifest(folder: string): Promise<Manifest> {
  const name = (await readFile(join(folder, 'CURRENT'), 'utf8')).trimEnd()
  const tables = new Map<number, TableFile>()
  let log = 0
  const { records, damage } = readLog(await readFile(join(folder, name)))
  for (const record of records) {
    const edit = new Bytes(record)
    while (edit.left > 0) {
      const tag = edit.varint()
      if (tag === COMPARATOR) edit.prefixed()
      else if (tag === LOG_NUMBER) log = edit.varint()
      else if (tag === NEXT_FILE || tag === LAST_SEQUENCE || tag === PREVIOUS_LOG) edit.varint()
      else if (tag === COMPACT_POINTER) {
        edit.varint()
        edit.prefixed()
      } else if (tag === DELETED_FILE) {
        edit.varint()
        tables.delete(edit.varint())
      } else if (tag === NEW_FILE) {
        const [, number] = [edit.varint(), edit.varint(), edit.varint()]
        tables.set(number, {
          number,
          first: edit.prefixed().subarray(0, -KEY_TRAILER),
          last: edit.prefixed().subarray(0, -KEY_TRAILER),
        })
      } else throw new Error(`${name} has an entry of unknown kind ${tag}`)
    }
  }
  return { name, log, tables: [...tables.values()], damage }
}
