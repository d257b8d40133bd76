import { open, opendir, readFile, readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ObjectFormat, ObjectId } from '../object-id.js'

/** How deep git and libgit2 follow alternates of alternates. */
const ALTERNATES_DEPTH = 6

/**
 * A file system stamps changes by a clock that stands still for some milliseconds: what changed this recently may
 * change again without a new stamp.
 */
const STAMP_MILLISECONDS = 20

/** The object folders of a repository: its own and those it borrows from (gitrepository-layout, objects/info/alternates). */
export class ObjectDatabase {
  readonly #folders: readonly string[]
  #packsProved: Promise<void> | undefined

  private constructor(folders: readonly string[]) {
    this.#folders = folders
  }

  static async open(repository: string): Promise<ObjectDatabase> {
    const folders = new Set<string>()
    await addWithAlternates(folders, join(repository, 'objects'), ALTERNATES_DEPTH)
    return new ObjectDatabase([...folders])
  }

  /**
   * Tells whether packs or alternates came or went: equal stamps mean that they did not.
   * @returns `undefined` while they are changing, or did so just now
   */
  async stamp(): Promise<string | undefined> {
    const now = Date.now()
    const paths = this.#folders.flatMap((folder) => [packsOf(folder), alternatesOf(folder)])
    // What cannot be looked at stays so until it changes; the proof meets the error.
    const stamps = await Promise.all(paths.map(async (path) => await stat(path, { bigint: true }).catch(() => undefined)))
    const changing = stamps.some((found) => found && Math.abs(now - Number(found.ctimeMs)) < STAMP_MILLISECONDS)
    return changing ? undefined : stamps.map((found) => (found ? `${found.ino}.${found.ctimeNs}` : '-')).join()
  }

  /**
   * Proves that an object which libgit2 did not find is really not there: libgit2 passes over packs and files that
   * it cannot read, as if they did not exist. Packs are read once, so the proof holds while `stamp()` stays the same.
   * @throws any error that keeps the proof from being made
   */
  async proveReadable(missing: ObjectId): Promise<void> {
    for (const folder of this.#folders) {
      const loose = join(folder, missing.hex.slice(0, 2), missing.hex.slice(2))
      if (await stat(loose).catch(undefinedFor('ENOENT'))) throw new Error(`${loose} is there, but cannot be read as an object`)
      // Each time: this fails where libgit2 has just failed for want of a file descriptor.
      await (await opendir(packsOf(folder))).close()
    }
    await (this.#packsProved ??= this.#provePacks())
  }

  async #provePacks(): Promise<void> {
    for (const folder of this.#folders) {
      for (const file of await readdir(packsOf(folder))) {
        if (file.endsWith('.idx')) await provePack(join(packsOf(folder), file.slice(0, -'.idx'.length)))
      }
    }
  }
}

/** Each folder once, however often and in whatever circles it is borrowed from. */
async function addWithAlternates(folders: Set<string>, folder: string, depth: number): Promise<void> {
  folders.add(folder)
  if (depth === 0) return
  const text = (await readFile(alternatesOf(folder), 'utf8').catch(undefinedFor('ENOENT', 'ENOTDIR'))) ?? ''
  for (const path of text.split('\n')) {
    if (path === '' || path.startsWith('#')) continue
    // libgit2 would look for it below the working directory of the process.
    if (!/^[/.]/.test(path)) throw new Error(`${alternatesOf(folder)} has a path that begins with neither / nor a dot`)
    const borrowed = resolve(folder, path)
    if (!folders.has(borrowed)) await addWithAlternates(folders, borrowed, depth - 1)
  }
}

function packsOf(folder: string): string {
  return join(folder, 'pack')
}

function alternatesOf(folder: string): string {
  return join(folder, 'info', 'alternates')
}

/**
 * Proves what libgit2 asks of a pack and its index before it looks into them, and that they belong together: the
 * trailer of a pack is a checksum that its index repeats, so that a cut file fails here (gitformat-pack).
 */
async function provePack(base: string): Promise<void> {
  const [index, pack] = [await readEnds(`${base}.idx`), await readEnds(`${base}.pack`)]
  const isPack = pack.head.toString('latin1', 0, 4) === 'PACK' && pack.head.readUInt32BE(4) === 2
  const objects = pack.head.readUInt32BE(8)
  const fits = (['sha1', 'sha256'] satisfies ObjectFormat[]).some((format) => {
    const bytes = format === 'sha1' ? 20 : 32
    const checksum = index.tail.subarray(-2 * bytes, -bytes)
    return isIndexOf(objects, index, bytes) && checksum.equals(pack.tail.subarray(-bytes))
  })
  if (!isPack || !fits) throw new Error(`${base}.pack and its index do not fit together`)
}

/** Whether an index of version 1 or 2 is as long as so many objects make it, and its 256 running totals end with them. */
function isIndexOf(objects: number, { head, size }: Ends, bytes: number): boolean {
  const isVersion2 = head.readUInt32BE(0) === 0xff744f63 && head.readUInt32BE(4) === 2
  const [start, entry] = isVersion2 ? [8, bytes + 8] : [0, bytes + 4]
  const totals = Array.from({ length: 256 }, (_, at) => head.readUInt32BE(start + at * 4))
  const grow = totals.every((total, at) => at === 0 || total >= head.readUInt32BE(start + (at - 1) * 4))
  const least = start + totals.length * 4 + objects * entry + 2 * bytes
  // Version 2 has 8 bytes more for each object that begins beyond 2 GB of the pack.
  const most = isVersion2 ? least + objects * 8 : least
  return size >= least && size <= most && grow && totals.at(-1) === objects
}

interface Ends {
  readonly head: Buffer
  readonly tail: Buffer
  readonly size: number
}

async function readEnds(path: string): Promise<Ends> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const [head, tail] = [Buffer.alloc(8 + 256 * 4), Buffer.alloc(64)]
    await file.read(head, 0, head.length, 0)
    await file.read(tail, 0, tail.length, Math.max(0, size - tail.length))
    return { head, tail, size }
  } finally {
    await file.close()
  }
}

function undefinedFor(...codes: string[]): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code === undefined || !codes.includes(error.code)) throw error
    return undefined
  }
}
