import { randomBytes } from 'node:crypto'

const BYTES = 9

/** How many are drawn at once: to draw is dear, not what is drawn. */
const DRAWN = 512

/** Ids for new statuses: 72 random bits, 12 characters of base64url. */
export class StatusIds {
  #bytes = Buffer.alloc(0)
  #used = 0

  next(): string {
    if (this.#used === this.#bytes.length) {
      this.#bytes = randomBytes(BYTES * DRAWN)
      this.#used = 0
    }
    const end = this.#used + BYTES
    const id = this.#bytes.toString('base64url', this.#used, end)
    // What was given out is nowhere else in memory than where it is wanted.
    this.#bytes.fill(0, this.#used, end)
    this.#used = end
    return id
  }
}
