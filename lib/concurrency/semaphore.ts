import { StoreOverloaded } from '../errors.js'

/** Lets so many through at a time; others wait in line, and those that the line has no place for are refused. */
export class Semaphore {
  readonly #max: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(max: number, maxWaiting: number) {
    this.#max = max
    this.#maxWaiting = maxWaiting
  }

  /**
   * Resolves once there is a place; to be given back with `leave`.
   * @throws StoreOverloaded
   */
  async enter(): Promise<void> {
    if (this.#inside < this.#max) {
      this.#inside++
      return
    }
    if (this.#waiting.length >= this.#maxWaiting) throw new StoreOverloaded('too many large lists are being read')
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  leave(): void {
    const next = this.#waiting.shift()
    // The place is handed on.
    if (next) next()
    else this.#inside--
  }
}
