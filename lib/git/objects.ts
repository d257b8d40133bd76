import { RepositoryUnreadable } from './commits.js'
import type { GitOutput, GitProcesses } from './git-process.js'
import type { Ref } from './ref-list.js'

/** What an object is, without its content. */
export interface ObjectHeader {
  readonly id: string
  readonly type: string
  /** Bytes of its content. */
  readonly size: number
}

export interface ReadObject extends ObjectHeader {
  readonly bytes: Buffer
}

interface Peeled {
  readonly object: ObjectHeader
  /** What an annotated tag leads to; of any other object, that itself. */
  readonly target: ObjectHeader
}

/** A ref, and the object that it names. */
export type PeeledRef = Ref & Peeled

/** All that git says besides where what is named is not there; whatever else, it may only not be readable. */
const NOT_THERE = /^(?:error: missing object referenced by '[0-9a-f]+'(?:\n|$))*$/

/** Of a line that git prints of an object: an id, a type, a size. */
const MAX_LINE_BYTES = 128

/** Reads objects of bare repositories through the installed git: of many no more than one. */
export class Objects {
  readonly #git: Pick<GitProcesses, 'run'>

  constructor(git: Pick<GitProcesses, 'run'>) {
    this.#git = git
  }

  /**
   * What objects are, in the order of their ids.
   * @throws RepositoryUnreadable, also where one is not there
   */
  async headers(directory: string, ids: readonly string[]): Promise<readonly ObjectHeader[]> {
    const { output } = await this.#ask(directory, '--batch-check', ids, ids.length * MAX_LINE_BYTES)
    const lines = output.toString().split('\n')
    return ids.map((_, index) => headerOf(directory, String(lines[index])))
  }

  /**
   * Refs with what they name, and what that leads to where it is an annotated tag. One that leads to what is not there
   * is left out.
   * @throws RepositoryUnreadable
   */
  async peeled<Named extends { readonly id: string }>(
    directory: string,
    refs: readonly Named[],
  ): Promise<readonly (Named & Peeled)[]> {
    const names = refs.flatMap(({ id }) => [id, `${id}^{}`])
    // git ends with an error where an object is there and cannot be read.
    const { output, error } = await this.#ask(directory, '--batch-check', names, names.length * MAX_LINE_BYTES)
    const lines = output.toString().split('\n')
    return refs.flatMap((ref, index) => {
      const [object = '', target = ''] = lines.slice(2 * index)
      if ([object, target].some((line) => line.endsWith(' missing')) && NOT_THERE.test(error)) return []
      return { ...ref, object: headerOf(directory, object), target: headerOf(directory, target) }
    })
  }

  /**
   * Objects with their contents.
   * @throws RepositoryUnreadable
   */
  async contents(directory: string, objects: readonly ObjectHeader[]): Promise<readonly ReadObject[]> {
    const length = objects.reduce((sum, { size }) => sum + size + MAX_LINE_BYTES, 0)
    const ids = objects.map(({ id }) => id)
    const { output } = await this.#ask(directory, '--batch', ids, length)
    let place = 0
    return objects.map(() => {
      const begin = output.indexOf('\n', place) + 1
      const header = headerOf(directory, output.toString('latin1', place, begin - 1))
      place = begin + header.size + 1
      return { ...header, bytes: output.subarray(begin, place - 1) }
    })
  }

  async #ask(
    directory: string,
    how: string,
    names: readonly string[],
    maxBytes: number,
  ): Promise<Pick<GitOutput, 'output' | 'error'>> {
    // It would read a name from nothing.
    if (names.length === 0) return { output: Buffer.alloc(0), error: '' }
    const input = `${names.join('\n')}\n`
    const { code, output, error } = await this.#git.run(directory, ['cat-file', how], maxBytes, { input })
    if (code !== 0) throw new RepositoryUnreadable(directory, new Error(`git cat-file: ${error}`))
    return { output, error }
  }
}

function headerOf(directory: string, line: string): ObjectHeader {
  const [, id = '', type = '', size = ''] = /^([0-9a-f]+) ([a-z]+) (\d+)$/.exec(line) ?? []
  if (id === '') throw new RepositoryUnreadable(directory, new Error(`git cat-file: ${line}`))
  return { id, type, size: Number(size) }
}
