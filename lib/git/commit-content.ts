import { TextDecoder } from 'node:util'
import { LRUCache } from 'lru-cache'
import { cacheShares } from '../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import type { ObjectId } from '../domain/object-id.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'

/** Commits with more bytes, which nobody writes by hand, are not read. */
const MAX_BYTES = 256 * 1024

/** Who wrote or committed, and when. */
export interface Signature {
  readonly name: string
  readonly email: string
  /** Seconds since 1970 UTC. */
  readonly seconds: number
}

export interface CommitContent {
  readonly tree: string
  readonly parents: readonly string[]
  readonly author: Signature
  readonly committer: Signature
  readonly message: string
}

/** What commits of bare repositories say, read through the installed git. */
export class CommitContents {
  readonly #git: Pick<GitProcesses, 'run'>
  /** By id: what has the same id is the same. */
  readonly #known: LRUCache<string, CommitContent>

  /** @param cacheBytes of commits that are remembered */
  constructor(git: Pick<GitProcesses, 'run'>, meter: Meter = noopMeter, cacheBytes = cacheShares().contents) {
    this.#git = git
    this.#known = new LRUCache({ maxSize: cacheBytes, sizeCalculation: bytesOf })
    meter.cacheSize('contents', () => this.#known.calculatedSize)
  }

  /**
   * @param directory absolute path of a bare repository
   * @param id of a commit in it
   * @throws RepositoryUnreadable when it cannot be read, and for a commit of more than 256 kB
   */
  async read(directory: string, id: ObjectId): Promise<CommitContent> {
    const known = this.#known.get(id.hex)
    if (known) return known
    // git would hold all of it in memory before it prints any.
    const size = await this.#ask(directory, ['cat-file', '-s', id.hex])
    if (!(Number(size) <= MAX_BYTES)) {
      throw new RepositoryUnreadable(directory, new Error(`commit ${id.hex} has ${size.toString().trim()} bytes`))
    }
    const content = parseCommit(await this.#ask(directory, ['cat-file', 'commit', id.hex]))
    this.#known.set(id.hex, content)
    return content
  }

  async #ask(directory: string, args: readonly string[]): Promise<Buffer> {
    const { code, output, error } = await this.#git.run(directory, args, MAX_BYTES)
    if (code !== 0) throw new RepositoryUnreadable(directory, new Error(`git cat-file: ${error}`))
    return output
  }
}

/** About what a commit takes in memory: it may have been pushed with many parents, or long names. */
function bytesOf({ parents, author, committer, message }: CommitContent): number {
  const texts = [author.name, author.email, committer.name, committer.email, message]
  return 1024 + 100 * parents.length + 2 * texts.reduce((sum, { length }) => sum + length, 0)
}

/** Takes a commit apart as git has stored it; what it lacks is empty. */
export function parseCommit(bytes: Buffer): CommitContent {
  const end = bytes.indexOf('\n\n')
  const [head, body] = end === -1 ? [bytes, bytes.subarray(0, 0)] : [bytes.subarray(0, end), bytes.subarray(end + 2)]
  const lines = head.toString('latin1').split('\n')
  const valuesOf = (name: string): string[] =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
  const decoder = decoderOf(valuesOf('encoding')[0])
  const signature = (line = ''): Signature => {
    const [, name = '', email = '', seconds = '0'] = /^(.*?) ?<([^<>]*)> ?(-?\d+)?/.exec(line) ?? []
    const decoded = (text: string): string => decoder.decode(Buffer.from(text, 'latin1'))
    return { name: decoded(name), email: decoded(email), seconds: Number(seconds) }
  }
  return {
    tree: valuesOf('tree')[0] ?? '',
    parents: valuesOf('parent'),
    author: signature(valuesOf('author')[0]),
    committer: signature(valuesOf('committer')[0]),
    message: decoder.decode(body),
  }
}

/** Decodes a text; one of an unknown encoding becomes what UTF-8 makes of it. */
function decoderOf(encoding: string | undefined): TextDecoder {
  try {
    return new TextDecoder(encoding)
  } catch {
    return new TextDecoder()
  }
}
