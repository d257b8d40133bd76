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

/** What waits in all queues that share the bounds. */
export class Backlog {
  changes = 0
  size = 0
  isOverloaded = false
}

/** Changes that wait for their turn, in their order. */
export class BoundedQueue<S extends Shared, A extends Alone> {
  readonly #medium: string
  readonly #logger: Logger
  readonly #facts: Readonly<Record<string, string>>
  readonly #bounds: QueueBounds
  readonly #backlog: Backlog
  readonly #waiting: (S | A)[] = []

  /**
   * @param medium what they wait for, in words
   * @param facts what is logged besides
   * @param backlog of all queues that share the bounds
   */
  constructor(
    medium: string,
    logger: Logger,
    facts: Readonly<Record<string, string>> = {},
    bounds = BOUNDS,
    backlog = new Backlog(),
  ) {
    this.#medium = medium
    this.#logger = logger
    this.#facts = facts
    this.#bounds = bounds
    this.#backlog = backlog
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
    const backlog = this.#backlog
    const { changes: waiting } = backlog
    const size = backlog.size + sizeOf(change)
    if (waiting >= this.#bounds.changes || size > this.#bounds.size) {
      const message = `too many changes wait for the ${this.#medium}`
      if (!backlog.isOverloaded) this.#logger.warn({ ...this.#facts, waiting }, `${message}: more are refused`)
      backlog.isOverloaded = true
      throw new StoreOverloaded(message)
    }
    this.#waiting.push(change)
    backlog.changes++
    backlog.size = size
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
        this.#taken([change])
        return change
      }
      if (mayGo && !mayGo(change)) skipped.push(change)
      else together.push(change)
    }
    if (together.length === 0) return undefined
    this.#waiting.splice(0, together.length + skipped.length, ...skipped)
    this.#taken(together)
    return together
  }

  /** Takes all. */
  clear(): (S | A)[] {
    const all = this.#waiting.splice(0)
    this.#taken(all)
    return all
  }

  #taken(changes: readonly (S | A)[]): void {
    this.#backlog.changes -= changes.length
    for (const change of changes) this.#backlog.size -= sizeOf(change)
    if (this.#backlog.changes === 0) this.#backlog.isOverloaded = false
  }
}

function sizeOf(change: Shared | Alone): number {
  return isAlone(change) ? 0 : change.size
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
