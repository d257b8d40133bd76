import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linesOf } from './ndjson.js'

/**
 * Keeps lines on disk, however many there are, until all are checked: a pipe is read only once, and the service may run
 * as another user than the command, so that it cannot open a file of it. Nobody else can read them, and whatever
 * happens nothing is left.
 */
export class Spool {
  readonly #file: FileHandle
  #bytes = 0

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(): Promise<Spool> {
    const folder = await mkdtemp(join(tmpdir(), 'commit-status-'))
    try {
      // It has no name any more as soon as it is open.
      return new Spool(await open(join(folder, 'spool'), 'wx+', 0o600))
    } finally {
      await rm(folder, { recursive: true })
    }
  }

  /** How many bytes there are: where the next line will begin. */
  get bytes(): number {
    return this.#bytes
  }

  async add(lines: readonly string[]): Promise<void> {
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    await this.#file.writeFile(bytes)
    this.#bytes += bytes.length
  }

  /** The lines between two places. */
  lines(start: number, end: number): AsyncGenerator<string> {
    return linesOf(this.#file.createReadStream({ start, end: end - 1, autoClose: false }))
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}
