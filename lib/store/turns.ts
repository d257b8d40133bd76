import { setImmediate } from 'node:timers/promises'

/**
 * Pieces of long work, one in a turn of the event loop: however many there are, what comes meanwhile is answered after
 * one of them, not after all.
 */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves in a turn that is nobody else's, in the order of the calls; the piece is what is done at once then. */
  async next(): Promise<void> {
    const turn = this.#last.then(async () => {
      await setImmediate()
    })
    this.#last = turn
    await turn
  }
}
