import type { State } from '../../domain/commit-status.js'
import {
  joinedList,
  listHead,
  type SerialisedList,
  type StatusList,
  type StatusText,
} from '../../domain/status-list.js'

/** A list in memory into which statuses can be put, at a cost that hardly depends on how many it has. */
export class EditableList {
  #list: SerialisedList
  /** The contexts, states, lengths and reporters of the statuses, in their order. */
  readonly #contexts: string[]
  readonly #states: State[]
  readonly #lengths: number[]
  readonly #reporters: (string | undefined)[]

  constructor(list: SerialisedList) {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- what it was made from
    const { statuses } = JSON.parse(list.bytes.toString()) as StatusList
    this.#list = list
    this.#contexts = statuses.map(({ context }) => context)
    this.#states = statuses.map(({ state }) => state)
    this.#lengths = statuses.map((status) => Buffer.byteLength(JSON.stringify(status)))
    this.#reporters = [...list.reporters.users]
  }

  get list(): SerialisedList {
    return this.#list
  }

  /** How many statuses it has. */
  get size(): number {
    return this.#contexts.length
  }

  /**
   * Puts statuses in, each in place of the one of its context.
   * @param saved by context
   */
  put(saved: ReadonlyMap<string, StatusText>): void {
    const { bytes } = this.#list
    const pieces: Buffer[] = []
    let [read, place] = [listHead(this.#states).length, 0]
    /** Takes over the statuses before this place. */
    const copyTo = (next: number): void => {
      const length = this.#lengths.slice(place, next).reduce((sum, each) => sum + each + 1, 0)
      place = next
      if (length > 0) pieces.push(bytes.subarray(read, read + length - 1))
      read += length
    }
    const sorted = [...saved].map(([context, text]) => ({ context, key: Buffer.from(context), text }))
    sorted.sort((one, other) => Buffer.compare(one.key, other.key))
    const edits: { at: number; replaced: number; context: string; text: StatusText; length: number }[] = []
    for (const { context, key, text } of sorted) {
      const at = this.#placeOf(key)
      const replaced = this.#contexts[at] === context ? 1 : 0
      copyTo(at)
      const piece = Buffer.from(text.json)
      pieces.push(piece)
      for (const length of this.#lengths.slice(at, at + replaced)) read += length + 1
      place += replaced
      edits.push({ at, replaced, context, text, length: piece.length })
    }
    copyTo(this.#contexts.length)
    for (const { at, replaced, context, text, length } of edits.toReversed()) {
      this.#contexts.splice(at, replaced, context)
      this.#states.splice(at, replaced, text.state)
      this.#lengths.splice(at, replaced, length)
      this.#reporters.splice(at, replaced, text.reporter)
    }
    this.#list = joinedList(pieces, this.#states, [...this.#reporters])
  }

  /** Where a context stands, or would. */
  #placeOf(key: Buffer): number {
    let [low, high] = [0, this.#contexts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const { [middle]: context = '' } = this.#contexts
      if (Buffer.compare(Buffer.from(context), key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
