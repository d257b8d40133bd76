import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ObjectFormat, ObjectId } from '../domain/object-id.js'
import type { ObjectKind } from './nodegit.js'
import { PacedFiles } from './paced-files.js'
import { openRegularFile, readSmallFile } from './regular-file.js'
import { stampOf } from './stamp.js'
import { undefinedFor } from './stat.js'

/** How deep git and libgit2 follow alternates of alternates. */
const ALTERNATES_DEPTH = 6

/**
 * How many object folders a repository may borrow from, in whatever way, since each of them is looked into for an id
 * that is not there; and how many paths a file of alternates may name. And how long it may be.
 */
const MAX_ALTERNATES = 64
const MAX_ALTERNATES_BYTES = 64 * 1024

/** How long an object id is. */
const BYTES: Readonly<Record<ObjectFormat, number>> = { sha1: 20, sha256: 32 }

/** How long the 256 running totals of a pack's index are. */
const TOTALS_BYTES = 256 * 4

/**
 * The object folders of a repository: its own and those it borrows from (gitrepository-layout,
 * objects/info/alternates).
 */
export class ObjectDatabase {
  readonly #folders: ReadonlySet<string>
  readonly #files: PacedFiles
  #packsProved: Promise<void> | undefined
  #packsAreProved = false

  private constructor(folders: ReadonlySet<string>, files: PacedFiles) {
    this.#folders = folders
    this.#files = files
  }

  /** Rejects also where libgit2 must not open the repository, as it would take too long. */
  static async open(repository: string, files = new PacedFiles()): Promise<ObjectDatabase> {
    const alternates = new Alternates(files)
    await alternates.follow(`${repository}/objects`, ALTERNATES_DEPTH)
    return new ObjectDatabase(alternates.folders, files)
  }

  /** Whether one borrows from the other, or both from a third. */
  sharesWith(other: ObjectDatabase): boolean {
    return [...this.#folders].some((folder) => other.#folders.has(folder))
  }

  /**
   * Tells whether packs or alternates came or went: equal stamps mean that they did not.
   * @returns `undefined` while they are changing, or did so just now
   */
  async stamp(): Promise<string | undefined> {
    const paths = [...this.#folders].flatMap((folder) => [packsOf(folder), alternatesOf(folder)])
    return await stampOf(paths, async (path) => await this.#files.exactStat(path))
  }

  /**
   * Proves that an object which libgit2 did not find is really not there: libgit2 passes over packs and files that
   * it cannot read, as if they did not exist. Packs are proved once, so the proof holds while `stamp()` stays the same.
   * @param find asks the same libgit2 for another object
   * @throws any error that keeps the proof from being made
   */
  async proveReadable(missing: ObjectId, find: (id: ObjectId) => Promise<ObjectKind>): Promise<void> {
    for (const folder of this.#folders) {
      const loose = looseOf(folder, missing)
      if (await this.#files.stat(loose)) throw new Error(`${loose} is there, but cannot be read as an object`)
    }
    if (this.#packsAreProved) return
    await (this.#packsProved ??= this.#provePacks(find))
    this.#packsAreProved = true
    if ((await find(missing)) !== 'nothing') throw new Error(`${missing.hex} has come only now`)
  }

  async #provePacks(find: (id: ObjectId) => Promise<ObjectKind>): Promise<void> {
    for (const folder of this.#folders) {
      for (const file of await readdir(packsOf(folder))) {
        // libgit2 passes over one that it cannot open.
        if (file === 'multi-pack-index') await (await openRegularFile(join(packsOf(folder), file))).close()
        if (!file.endsWith('.idx')) continue
        const base = join(packsOf(folder), file.slice(0, -'.idx'.length))
        const sample = await provePack(base)
        // What libgit2 knows of a pack it shares among all who have it open, from before it was mended too. An error
        // is about the object: the pack was found.
        if (sample && (await find(sample).catch(() => 'damaged')) === 'nothing')
          throw new Error(`${base}.pack can be read, but libgit2 does not see it`)
      }
    }
  }
}

/** Collects object folders. */
class Alternates {
  /** Each folder once, however often and in whatever circles it is borrowed from. */
  readonly folders = new Set<string>()
  readonly #files: PacedFiles
  readonly #named = new Set<string>()

  constructor(files: PacedFiles) {
    this.#files = files
  }

  async follow(path: string, depth: number): Promise<void> {
    // One path for each folder, as libgit2 has it. What is not there meets its error where it is read.
    const folder = await this.#files.realpath(path).catch(() => path)
    if (this.folders.has(folder)) return
    this.folders.add(folder)
    const file = alternatesOf(folder)
    if (depth === 0 || !(await this.#files.stat(file).catch(undefinedFor('ENOTDIR')))) return
    const text = await readSmallFile(file, MAX_ALTERNATES_BYTES)
    // It ends a line for libgit2, but neither for git nor here.
    if (text.includes('\r')) throw new Error(`${file} has a carriage return`)
    const paths = text.split('\n').filter((path) => path !== '' && !path.startsWith('#'))
    // libgit2 would look for it below the working directory of the process.
    if (!paths.every((path) => /^[/.]/.test(path)))
      throw new Error(`${file} has a path that begins with neither / nor a dot`)
    for (const path of paths) this.#named.add(resolve(folder, path))
    if (Math.max(paths.length, this.#named.size) > MAX_ALTERNATES)
      throw new Error(`${file}: more than ${MAX_ALTERNATES} alternates are named in it, or with those that it leads to`)
    for (const path of paths) await this.follow(resolve(folder, path), depth - 1)
  }
}

function packsOf(folder: string): string {
  return join(folder, 'pack')
}

function looseOf(folder: string, { hex }: ObjectId): string {
  return join(folder, hex.slice(0, 2), hex.slice(2))
}

function alternatesOf(folder: string): string {
  return join(folder, 'info', 'alternates')
}

/**
 * Proves what libgit2 asks of a pack and its index before it looks into them, and that they belong together: the
 * trailer of a pack is a checksum that its index repeats, so that a cut file fails here (gitformat-pack).
 * @returns one of its objects, if it has any
 */
async function provePack(base: string): Promise<ObjectId | undefined> {
  const [index, pack] = [await readEnds(`${base}.idx`), await readEnds(`${base}.pack`)]
  const isPack = pack.head.toString('latin1', 0, 4) === 'PACK' && pack.head.readUInt32BE(4) === 2
  const objects = pack.head.readUInt32BE(8)
  const format = (['sha1', 'sha256'] as const).find((each) => {
    const bytes = BYTES[each]
    const checksum = index.tail.subarray(-2 * bytes, -bytes)
    return isIndexOf(objects, index, bytes) && checksum.equals(pack.tail.subarray(-bytes))
  })
  if (!isPack || !format) throw new Error(`${base}.pack and its index do not fit together`)
  // Version 1 has the place of an object in front of its id.
  const first = isVersion2(index) ? 8 + TOTALS_BYTES : TOTALS_BYTES + 4
  return objects > 0 ? { format, hex: index.head.toString('hex', first, first + BYTES[format]) } : undefined
}

/**
 * Whether an index of version 1 or 2 is as long as so many objects make it, and its 256 running totals end with them.
 */
function isIndexOf(objects: number, index: Ends, bytes: number): boolean {
  const { head, size } = index
  const [start, entry] = isVersion2(index) ? [8, bytes + 8] : [0, bytes + 4]
  const totals = Array.from({ length: TOTALS_BYTES / 4 }, (_, at) => head.readUInt32BE(start + at * 4))
  const grow = totals.every((total, at) => at === 0 || total >= head.readUInt32BE(start + (at - 1) * 4))
  const least = start + TOTALS_BYTES + objects * entry + 2 * bytes
  // Version 2 has 8 bytes more for each object that begins beyond 2 GB of the pack.
  const most = isVersion2(index) ? least + objects * 8 : least
  return size >= least && size <= most && grow && totals.at(-1) === objects
}

function isVersion2({ head }: Ends): boolean {
  return head.readUInt32BE(0) === 0xff744f63 && head.readUInt32BE(4) === 2
}

interface Ends {
  readonly head: Buffer
  readonly tail: Buffer
  readonly size: number
}

async function readEnds(path: string): Promise<Ends> {
  const file = await openRegularFile(path)
  try {
    const { size } = await file.stat()
    const [head, tail] = [Buffer.alloc(8 + TOTALS_BYTES + BYTES.sha256), Buffer.alloc(2 * BYTES.sha256)]
    await file.read(head, 0, head.length, 0)
    const { bytesRead } = await file.read(tail, 0, tail.length, Math.max(0, size - tail.length))
    return { head, tail: tail.subarray(0, bytesRead), size }
  } finally {
    await file.close()
  }
}
