import { promisify } from 'node:util'
import { constants, deflateRawSync, inflateRaw } from 'node:zlib'
import type { SymbolicRefs } from '../domain/gate-rule.js'
import type { IsHidden } from './hidden-refs.js'

/** A ref of a repository, by its full name, and the id that it has: of an annotated tag, the tag's own. */
export interface Ref {
  readonly name: string
  readonly id: string
}

/** Which refs are wanted, of those whose names begin alike. */
export interface RefQuery {
  /** What full names begin with. */
  readonly prefix: string
  /** Absent: all. */
  readonly selects?: (ref: Ref) => boolean
  /** Whether the last name comes first. */
  readonly descending?: boolean
  readonly skip: number
  readonly limit: number
}

/** How git prints a list for this: by name, byte by byte. */
export const REF_FORMAT = '--format=%(objectname) %(refname) %(symref)'

/** Refs in a block: as many are unpacked for one that is wanted. */
const BLOCK_REFS = 500

const [LINE_FEED, SPACE] = [0x0a, 0x20]

const inflate = promisify(inflateRaw)

/** Lines of git, packed: 100,000 refs take some 3 MB. */
interface Block {
  readonly firstName: Buffer
  readonly packed: Buffer
}

/** All refs of a repository, in the order of their names. */
export class RefList {
  readonly symbolic: SymbolicRefs
  /** About what it takes in memory. */
  readonly bytes: number
  readonly #blocks: readonly Block[]
  readonly #length: number

  constructor(blocks: readonly Block[], length: number, symbolic: SymbolicRefs) {
    this.#blocks = blocks
    this.#length = length
    this.symbolic = symbolic
    this.bytes =
      blocks.reduce((sum, { firstName, packed }) => sum + 200 + firstName.length + packed.length, 1024) +
      [...symbolic].reduce((sum, [name, end]) => sum + 100 + 2 * (name.length + end.length), 0)
  }

  /** Those that are wanted, and how many there are on all pages. */
  async page({ prefix, selects, descending = false, skip, limit }: RefQuery): Promise<{ refs: Ref[]; total: number }> {
    const [start, end] = [await this.#place(Buffer.from(prefix)), await this.#place(behind(prefix))]
    const refs: Ref[] = []
    if (!selects) {
      const [from, to] = descending ? [end - skip - limit, end - skip] : [start + skip, start + skip + limit]
      const part = this.#parts(Math.max(start, from), Math.max(0, Math.min(end, to)), descending)
      for await (const some of part) refs.push(...some)
      return { refs, total: end - start }
    }
    let total = 0
    for await (const some of this.#parts(start, end, descending)) {
      const found = some.filter(selects)
      refs.push(...found.slice(Math.max(0, skip - total), Math.max(0, skip + limit - total)))
      total += found.length
    }
    return { refs, total }
  }

  /** Refs from one place to another, block by block. */
  async *#parts(start: number, end: number, descending: boolean): AsyncGenerator<readonly Ref[]> {
    const blocks = [...this.#blocks.entries()].slice(Math.floor(start / BLOCK_REFS), Math.ceil(end / BLOCK_REFS))
    for (const [at, block] of descending ? blocks.reverse() : blocks) {
      const place = at * BLOCK_REFS
      const refs = (await linesIn(block)).slice(Math.max(0, start - place), end - place).map(toRef)
      yield descending ? refs.reverse() : refs
    }
  }

  /** How many names come before a text. */
  async #place(text: Buffer): Promise<number> {
    const next = this.#blocks.findIndex(({ firstName }) => firstName.compare(text) >= 0)
    const before = next === -1 ? this.#blocks : this.#blocks.slice(0, next)
    const block = before.at(-1)
    if (!block) return 0
    const inBlock = (await linesIn(block)).findIndex((line) => nameIn(line).compare(text) >= 0)
    return inBlock === -1
      ? Math.min(before.length * BLOCK_REFS, this.#length)
      : (before.length - 1) * BLOCK_REFS + inBlock
  }
}

/** Makes a list of what git prints, as it comes. */
export class RefListBuilder {
  readonly #blocks: Block[] = []
  readonly #symbolic = new Map<string, string>()
  readonly #isHidden: IsHidden | undefined
  /** The beginning of a line, where some are hidden. */
  #rest = Buffer.alloc(0)
  #pieces: Buffer[] = []
  #length = 0

  constructor(isHidden?: IsHidden) {
    this.#isHidden = isHidden
  }

  take(chunk: Buffer): void {
    if (this.#isHidden) this.#takeSome(chunk, this.#isHidden)
    else this.#take(chunk)
  }

  /** Without those that are hidden, but for where they lead: what holds for another ref may hold by them. */
  #takeSome(chunk: Buffer, isHidden: IsHidden): void {
    const text = Buffer.concat([this.#rest, chunk])
    const shown: Buffer[] = []
    let begin = 0
    for (let end = text.indexOf(LINE_FEED); end !== -1; end = text.indexOf(LINE_FEED, begin)) {
      const line = text.subarray(begin, end + 1)
      if (isHidden(nameIn(line).toString())) this.#noteSymbolic(line)
      else shown.push(line)
      begin = end + 1
    }
    this.#rest = Buffer.from(text.subarray(begin))
    this.#take(Buffer.concat(shown))
  }

  #take(chunk: Buffer): void {
    let begin = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, end + 1)) {
      this.#length++
      if (this.#length % BLOCK_REFS !== 0) continue
      this.#pieces.push(chunk.subarray(begin, end + 1))
      this.#endBlock()
      begin = end + 1
    }
    this.#pieces.push(chunk.subarray(begin))
  }

  list(): RefList {
    this.#endBlock()
    return new RefList(this.#blocks, this.#length, this.#symbolic)
  }

  #endBlock(): void {
    const text = Buffer.concat(this.#pieces)
    this.#pieces = []
    if (text.length === 0) return
    this.#noteSymbolic(text)
    const packed = deflateRawSync(text, { level: constants.Z_BEST_SPEED })
    // A copy: a part would keep all of the text in memory.
    this.#blocks.push({ firstName: Buffer.from(nameIn(text)), packed })
  }

  #noteSymbolic(text: Buffer): void {
    for (const [, name = '', end = ''] of text.toString().matchAll(/^[^ ]+ ([^ ]+) ([^ \n]+)$/gm))
      this.#symbolic.set(name, end)
  }
}

async function linesIn({ packed }: Block): Promise<readonly Buffer[]> {
  const text = await inflate(packed)
  const lines: Buffer[] = []
  for (let begin = 0, end = text.indexOf(LINE_FEED); end !== -1; end = text.indexOf(LINE_FEED, begin)) {
    lines.push(text.subarray(begin, end))
    begin = end + 1
  }
  return lines
}

/** Of the first line: between its two blanks, which no name has. */
function nameIn(line: Buffer): Buffer {
  const begin = line.indexOf(SPACE) + 1
  return line.subarray(begin, line.indexOf(SPACE, begin))
}

function toRef(line: Buffer): Ref {
  const name = nameIn(line)
  return { name: name.toString(), id: line.toString('latin1', 0, line.indexOf(SPACE)) }
}

/** What comes next behind all that begins with a prefix. No text of UTF-8 ends with the greatest byte. */
function behind(prefix: string): Buffer {
  const bytes = Buffer.from(prefix)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) + 1, bytes.length - 1)
  return bytes
}
