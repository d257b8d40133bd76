import { parseObject, type Signature } from './commit-content.js'
import type { GitProcesses } from './git-process.js'
import { Objects, type PeeledRef } from './objects.js'
import type { Ref } from './ref-list.js'

/** Tags with more bytes, which nobody writes by hand, are not read. */
const MAX_BYTES = 256 * 1024

/** What an annotated tag says. */
export interface Annotation {
  /** Without a signature. */
  readonly message: string
  readonly tagger: Signature
}

export interface Tag extends PeeledRef {
  /** Absent of one that is a name alone, and of one with more than 256 kB. */
  readonly annotation?: Annotation
}

/** Reads tags of bare repositories, through the installed git. */
export class Tags {
  readonly #objects: Objects

  constructor(git: Pick<GitProcesses, 'run'>) {
    this.#objects = new Objects(git)
  }

  /** Refs with what they name; without those that name nothing that is there. Throws RepositoryUnreadable. */
  async peeled(directory: string, refs: readonly Ref[]): Promise<readonly PeeledRef[]> {
    return await this.#objects.peeled(directory, refs)
  }

  /** Tags with what they say, as `peeled` finds them. Throws RepositoryUnreadable. */
  async read(directory: string, refs: readonly Ref[]): Promise<readonly Tag[]> {
    const tags = await this.peeled(directory, refs)
    const annotated = tags.map(({ object }) => object).filter(({ type, size }) => type === 'tag' && size <= MAX_BYTES)
    const contents = await this.#objects.contents(directory, annotated)
    const annotations = new Map(contents.map(({ id, bytes }) => [id, annotationIn(bytes)]))
    return tags.map((tag) => {
      const annotation = annotations.get(tag.object.id)
      return { ...tag, ...(annotation && { annotation }) }
    })
  }
}

function annotationIn(bytes: Buffer): Annotation {
  const { signature, text } = parseObject(bytes)
  return { message: text.replace(/^-----BEGIN [A-Z ]*SIGN.*/ms, '').trim(), tagger: signature('tagger') }
}
