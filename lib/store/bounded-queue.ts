import type { Logger } from '../contracts/logger.js'
import type { Report } from '../domain/commit-status.js'
import { StoreOverloaded } from '../errors.js'

/** What may wait for its turn to be written: past that, a change is refused at once. */
export interface QueueBounds {
  readonly changes: number
  /** Characters that they will write. */
  readonly size: number
}

const BOUNDS: QueueBounds = { changes: 10_000, size: 32 * 1024 * 1024 }

/** A change that is made together with others. */
interface Shared {
  /** About how many characters it will write. */
  readonly size: number
}

/** A change that is made alone. */
interface Alone {
  readonly alone: unknown
}

/** Changes that wait for their turn, in their order. */
export class BoundedQueue<S extends Shared, A extends Alone> {
  readonly #medium: string
  readonly #logger: Logger
  readonly #facts: Readonly<Record<string, string>>
  readonly #bounds: QueueBounds
  readonly #waiting: (S | A)[] = []
  #size = 0
  #isOverloaded = false

  /**
   * @param medium what they wait for, in words
   * @param facts what is logged besides
   */
  constructor(medium: string, logger: Logger, facts: Readonly<Record<string, string>> = {}, bounds = BOUNDS) {
    this.#medium = medium
    this.#logger = logger
    this.#facts = facts
    this.#bounds = bounds
  }

  get length(): number {
    return this.#waiting.length
  }

  get isAloneNext(): boolean {
    const [first] = this.#waiting
    return first !== undefined && isAlone(first)
  }

  /** @throws StoreOverloaded past the bounds, which is logged once until nothing waits any more */
  push(change: S | A): void {
    const size = isAlone(change) ? 0 : change.size
    const { length: waiting } = this.#waiting
    if (waiting >= this.#bounds.changes || this.#size + size > this.#bounds.size) {
      const message = `too many changes wait for the ${this.#medium}`
      if (!this.#isOverloaded) this.#logger.warn({ ...this.#facts, waiting }, `${message}: more are refused`)
      this.#isOverloaded = true
      throw new StoreOverloaded(message)
    }
    this.#waiting.push(change)
    this.#size += size
  }

  /**
   * Takes the next change, where it is made alone, or else those that may be made together, before the next one that
   * is made alone; `undefined` when there are none.
   * @param max how many at most are looked at
   * @param mayGo whether a change may be made now; one that may not keeps its place
   */
  next(max: number, mayGo?: (change: S) => boolean): S[] | A | undefined {
    const together: S[] = []
    const skipped: S[] = []
    for (const change of this.#waiting.slice(0, max)) {
      if (isAlone(change)) {
        if (together.length + skipped.length > 0) break
        this.#waiting.shift()
        return change
      }
      if (mayGo && !mayGo(change)) skipped.push(change)
      else together.push(change)
    }
    if (this.#waiting.length === 0) this.#isOverloaded = false
    if (together.length === 0) return undefined
    this.#waiting.splice(0, together.length + skipped.length, ...skipped)
    for (const { size } of together) this.#size -= size
    return together
  }

  /** Takes all. */
  clear(): (S | A)[] {
    this.#size = 0
    return this.#waiting.splice(0)
  }
}

function isAlone<A extends Alone>(change: Shared | A): change is A {
  return 'alone' in change
}

/** About what a status takes besides its texts. */
const OTHER_CHARACTERS = 400

/** About how many characters a report will write. */
export function reportSize({ context, description, target_url }: Report): number {
  return context.length + (description?.length ?? 0) + (target_url?.length ?? 0) + OTHER_CHARACTERS
}
