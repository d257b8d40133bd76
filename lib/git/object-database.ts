import { open, readFile, readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ObjectFormat, ObjectId } from '../object-id.js'

/** How deep git follows alternates of alternates. */
const ALTERNATES_DEPTH = 5

/**
 * A file system stamps changes by a clock that stands still for some milliseconds: what changed this recently may
 * change again without a new stamp.
 */
const STAMP_MILLISECONDS = 20

/** The object folders of a repository: its own and those it borrows from (gitrepository-layout, objects/info/alternates). */
export class ObjectDatabase {
  readonly #folders: readonly string[]
  #proved: string | undefined

  private constructor(folders: readonly string[]) {
    this.#folders = folders
  }

  static async open(repository: string): Promise<ObjectDatabase> {
    return new ObjectDatabase(await withAlternates(join(repository, 'objects'), ALTERNATES_DEPTH))
  }

  /**
   * Tells whether packs came or went: equal stamps mean that they did not.
   * @returns `undefined` while they are changing, or did so just now
   */
  async stamp(): Promise<string | undefined> {
    const now = Date.now()
    const folders = this.#folders.flatMap((folder) => [join(folder, 'pack'), join(folder, 'info')])
    const stamps = await Promise.all(folders.map(async (folder) => await stat(folder, { bigint: true }).catch(absent)))
    const changing = stamps.some((found) => found && Math.abs(now - Number(found.mtimeMs)) < STAMP_MILLISECONDS)
    return changing ? undefined : stamps.map((found) => (found ? `${found.ino}.${found.mtimeNs}` : '-')).join()
  }

  /**
   * Proves that an object which libgit2 did not find is really not there: libgit2 passes over packs and files that
   * it cannot read, as if they did not exist.
   * @param stamp what `stamp()` gave; packs are read once for each
   * @throws any error that keeps the proof from being made
   */
  async proveReadable(missing: ObjectId, stamp: string): Promise<void> {
    for (const folder of this.#folders) {
      const loose = join(folder, missing.hex.slice(0, 2), missing.hex.slice(2))
      if (await stat(loose).catch(absent)) throw new Error(`${loose} is there, but cannot be read as an object`)
    }
    if (this.#proved === stamp) return
    for (const folder of this.#folders) {
      for (const file of await readdir(join(folder, 'pack'))) {
        if (file.endsWith('.idx')) await provePack(join(folder, 'pack', file.slice(0, -'.idx'.length)))
      }
    }
    this.#proved = stamp
  }
}

async function withAlternates(folder: string, depth: number): Promise<string[]> {
  const text = depth > 0 ? await readFile(join(folder, 'info', 'alternates'), 'utf8').catch(absent) : undefined
  const borrowed = (text ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const further = await Promise.all(borrowed.map(async (path) => await withAlternates(resolve(folder, path), depth - 1)))
  return [folder, ...further.flat()]
}

/** The trailer of a pack is a checksum that its index repeats (gitformat-pack): a cut file fails here. */
async function provePack(base: string): Promise<void> {
  const [index, pack] = [await readEnds(`${base}.idx`), await readEnds(`${base}.pack`)]
  const isIndex = index.head.readUInt32BE(0) === 0xff744f63 && index.head.readUInt32BE(4) === 2
  const isPack = pack.head.toString('latin1', 0, 4) === 'PACK'
  const same = (['sha1', 'sha256'] satisfies ObjectFormat[]).some((format) => {
    const size = format === 'sha1' ? 20 : 32
    return index.tail.subarray(-2 * size, -size).equals(pack.tail.subarray(-size))
  })
  if (!isIndex || !isPack || !same) throw new Error(`${base}.pack and its index do not fit together`)
}

async function readEnds(path: string): Promise<{ head: Buffer; tail: Buffer }> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const [head, tail] = [Buffer.alloc(8), Buffer.alloc(64)]
    await file.read(head, 0, head.length, 0)
    await file.read(tail, 0, tail.length, Math.max(0, size - tail.length))
    return { head, tail }
  } finally {
    await file.close()
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
