import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { undefinedFor } from '../../../lib/git/stat.js'
import type { SentPush } from '../../../lib/service/pushes.js'

/** The most pushes that wait in a repository. */
const MAX_PUSHES = 1_000

/** Digits of a time in milliseconds since 1970, for as long as git lives. */
const DIGITS = 15

/**
 * Pushes that the service has not been told of, in a folder of their repository: a file for each, so that those who
 * push at the same time are in nobody's way.
 */
export class WaitingPushes {
  readonly #folder: string
  readonly #max: number

  /** @param repository the folder of the repository itself */
  constructor(repository: string, max = MAX_PUSHES) {
    this.#folder = join(repository, 'commit-status-pushed')
    this.#max = max
  }

  /**
   * Adds a push behind those that wait, in parts; they are on disk once this has resolved.
   * @returns how many of the oldest parts were given up for it
   */
  async add(parts: readonly SentPush[]): Promise<number> {
    // Where several users push, each may hand over what those before could not.
    const isShared = ((await stat(dirname(this.#folder))).mode & 0o020) !== 0
    const isNew = (await mkdir(this.#folder, { recursive: true, mode: 0o700 })) !== undefined
    if (isNew && isShared) await chmod(this.#folder, 0o2770)
    const names = await this.list()
    const latest = Number(names.at(-1)?.slice(0, DIGITS) ?? 0)
    const first = Math.max(Date.now(), latest + 1)
    for (const [index, part] of parts.entries())
      await this.#write(`${String(first + index).padStart(DIGITS, '0')}-${part.id}.json`, part, isShared)
    const tooMany = names.slice(0, Math.max(0, names.length + parts.length - this.#max))
    for (const name of tooMany) await this.remove(name)
    return tooMany.length
  }

  /** All or nothing of a file is there, whatever becomes of this process. */
  async #write(name: string, part: SentPush, isShared: boolean): Promise<void> {
    const draft = join(this.#folder, `${part.id}.new`)
    const file = await open(draft, 'w', 0o600)
    try {
      if (isShared) await file.chmod(0o660)
      await file.writeFile(JSON.stringify(part))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, join(this.#folder, name))
  }

  /** The names of all, the oldest first. */
  async list(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(undefinedFor('ENOENT'))
    return names?.filter((name) => name.endsWith('.json')).sort() ?? []
  }

  /** Its text; `undefined` where it has gone meanwhile. */
  async read(name: string): Promise<string | undefined> {
    return await readFile(join(this.#folder, name), 'utf8').catch(undefinedFor('ENOENT'))
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true })
  }
}
