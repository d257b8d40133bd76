/** What waits, and for which repository. */
interface QueuedTask {
  readonly directory: string
}

/**
 * A line for each repository. They take turns (fair queuing), so that a long one does not hold up the others. Where
 * there is no place left, the longest gives one up.
 */
export class FairQueue<T extends QueuedTask> {
  readonly #max: number
  /** The one whose turn is next comes first; none is empty. */
  readonly #lines = new Map<string, T[]>()
  #length = 0

  constructor(max: number) {
    this.#max = max
  }

  /** @returns who has lost the place: the last one of the longest line, which may be the one that was added */
  add(item: T): T | undefined {
    const line = this.#lines.get(item.directory) ?? []
    line.push(item)
    this.#lines.set(item.directory, line)
    this.#length++
    if (this.#length <= this.#max) return undefined
    const longest = [...this.#lines.values()].reduce((one, other) => (other.length > one.length ? other : one), line)
    return this.#out(longest, -1)
  }

  /** Does nothing for what does not wait. */
  remove(item: T): void {
    const line = this.#lines.get(item.directory) ?? []
    if (line.includes(item)) this.#out(line, line.indexOf(item))
  }

  /** Takes out the first one of the line whose turn it is, of those that may. */
  take(may: (directory: string) => boolean): T | undefined {
    for (const [directory, line] of this.#lines) {
      if (!may(directory)) continue
      this.#lines.delete(directory)
      this.#lines.set(directory, line)
      return this.#out(line, 0)
    }
    return undefined
  }

  /** Takes out all. */
  clear(): readonly T[] {
    const all = [...this.#lines.values()].flat()
    this.#lines.clear()
    this.#length = 0
    return all
  }

  #out(line: T[], index: number): T | undefined {
    const [item] = line.splice(index, 1)
    this.#length--
    if (item && line.length === 0) this.#lines.delete(item.directory)
    return item
  }
}
