import { TextDecoder } from 'node:util'
import { LRUCache } from 'lru-cache'
import { cacheShares } from '../contracts/cache-shares.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import { RepositoryUnreadable } from './commits.js'
import type { GitProcesses } from './git-process.js'
import { Objects, type ObjectHeader } from './objects.js'

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

/** What has the id of a commit. */
interface Identified {
  readonly id: string
}

interface WithContent {
  readonly content: CommitContent
}

/** What commits of bare repositories say, read through the installed git. */
export class CommitContents {
  readonly #objects: Objects
  /** By id: what has the same id is the same. */
  readonly #known: LRUCache<string, CommitContent>

  /** @param cacheBytes of commits that are remembered */
  constructor(git: Pick<GitProcesses, 'run'>, meter: Meter = noopMeter, cacheBytes = cacheShares().contents) {
    this.#objects = new Objects(git)
    this.#known = new LRUCache({ maxSize: cacheBytes, sizeCalculation: bytesOf })
    meter.cacheSize('contents', () => this.#known.calculatedSize)
  }

  /**
   * Reads what commits say: of many at once.
   * @param directory absolute path of a bare repository
   * @param named what has the ids of commits in it
   * @returns the same with what they say
   * @throws RepositoryUnreadable when one cannot be read, is not there, or has more than 256 kB
   */
  async read<const Named extends readonly Identified[]>(
    directory: string,
    named: Named,
  ): Promise<{ readonly [Index in keyof Named]: Named[Index] & WithContent }>
  async read(directory: string, named: readonly Identified[]): Promise<readonly (Identified & WithContent)[]> {
    return await this.#contentsOf(directory, named, async (ids) => {
      const headers = await this.#objects.headers(directory, ids)
      for (const { id, size } of headers)
        if (size > MAX_BYTES) throw new RepositoryUnreadable(directory, new Error(`commit ${id} has ${size} bytes`))
      return headers
    })
  }

  /**
   * The same for a list, in which none may hide the others: a commit of more than 256 kB says nothing, and one that is
   * not there is left out.
   */
  async list<Named extends Identified>(
    directory: string,
    named: readonly Named[],
  ): Promise<readonly (Named & WithContent)[]> {
    return await this.#contentsOf(directory, named, async (ids) => {
      const there = await this.#objects.peeled(
        directory,
        ids.map((id) => ({ id })),
      )
      return there.map(({ object }) => object)
    })
  }

  /** @param headersOf finds what is there of ids */
  async #contentsOf<Named extends Identified>(
    directory: string,
    named: readonly Named[],
    headersOf: (ids: readonly string[]) => Promise<readonly ObjectHeader[]>,
  ): Promise<readonly (Named & WithContent)[]> {
    const found: Record<string, CommitContent> = {}
    const unknown: string[] = []
    for (const id of new Set(named.map(({ id }) => id))) {
      const content = this.#known.get(id)
      if (content) found[id] = content
      else unknown.push(id)
    }
    // git holds all of an object in memory before it prints any.
    const headers = await headersOf(unknown)
    for (const { id, type } of headers) {
      if (type !== 'commit') throw new RepositoryUnreadable(directory, new Error(`${id} is no commit`))
      found[id] = EMPTY
    }
    const small = headers.filter(({ size }) => size <= MAX_BYTES)
    for (const { id, bytes } of await this.#objects.contents(directory, small)) {
      const content = parseCommit(bytes)
      found[id] = content
      this.#known.set(id, content)
    }
    return named.flatMap((one) => {
      const { [one.id]: content } = found
      return content ? [{ ...one, content }] : []
    })
  }
}

/** About what a commit takes in memory: it may have been pushed with many parents, or long names. */
function bytesOf({ parents, author, committer, message }: CommitContent): number {
  const texts = [author.name, author.email, committer.name, committer.email, message]
  return 1024 + 100 * parents.length + 2 * texts.reduce((sum, { length }) => sum + length, 0)
}

/** Takes a commit apart as git has stored it; what it lacks is empty. */
export function parseCommit(bytes: Buffer): CommitContent {
  const { valuesOf, signature, text } = parseObject(bytes)
  return {
    tree: valuesOf('tree')[0] ?? '',
    parents: valuesOf('parent'),
    author: signature('author'),
    committer: signature('committer'),
    message: text,
  }
}

/** A commit or an annotated tag: lines, then a text. */
interface ParsedObject {
  readonly valuesOf: (name: string) => string[]
  /** Of a line; one that is not there is empty. */
  readonly signature: (name: string) => Signature
  readonly text: string
}

export function parseObject(bytes: Buffer): ParsedObject {
  const end = bytes.indexOf('\n\n')
  const [head, body] = end === -1 ? [bytes, bytes.subarray(0, 0)] : [bytes.subarray(0, end), bytes.subarray(end + 2)]
  const lines = head.toString('latin1').split('\n')
  const valuesOf = (name: string): string[] =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
  const decoder = decoderOf(valuesOf('encoding')[0])
  const decoded = (text: string): string => decoder.decode(Buffer.from(text, 'latin1'))
  const signature = (line: string): Signature => {
    const [value = ''] = valuesOf(line)
    const [, name = '', email = '', seconds = '0'] = /^(.*?) ?<([^<>]*)> ?(-?\d+)?/.exec(value) ?? []
    return { name: decoded(name), email: decoded(email), seconds: Number(seconds) }
  }
  return { valuesOf, signature, text: decoder.decode(body) }
}

/** Decodes a text; one of an unknown encoding becomes what UTF-8 makes of it. */
function decoderOf(encoding: string | undefined): TextDecoder {
  try {
    return new TextDecoder(encoding)
  } catch {
    return new TextDecoder()
  }
}

const EMPTY = parseCommit(Buffer.alloc(0))
