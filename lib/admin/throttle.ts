import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'

/** How much longer than a piece of long work took the rest after it is, when others are busy all the time. */
const RESTS = 4

/** The longest rest, in milliseconds: a piece of work may have waited for a disk, or for who sends what is imported. */
const LONGEST = 1000

/** Keeps long work from taking from the requests of the same process what they need. */
export class Throttle {
  /** How busy the others were in the latest rest, 0 to 1. */
  #others = 0

  /**
   * To be awaited between pieces of the work. Rests the longer the busier others are, a millisecond at the least.
   * @param took how long the piece before took, in milliseconds
   */
  async wait(took: number): Promise<void> {
    const before = performance.eventLoopUtilization()
    await setTimeout(Math.min(LONGEST, Math.max(1, took * RESTS * this.#others)))
    this.#others = performance.eventLoopUtilization(before).utilization
  }
}
