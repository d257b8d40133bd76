import { setImmediate } from 'node:timers/promises'

/** How many commits a part has room for, in bits, and how many of them each commit sets: 1 of 150 seems to be there. */
const BITS_OF_COMMIT = 12
const PLACES = 4

/** Bits of the first part; each of the others has four times as many as the one before. */
const FIRST_BITS = 2 ** 20
const GROWTH = 4

/** How many hexadecimal digits of an id make a place: 32 bits. */
const DIGITS = 8

/**
 * The commits that have statuses, as a Bloom filter: of those that it lacks it is certain, without a read, that they
 * have none, in any repository. It learns what there was from the database once somebody asks, and of every change.
 * What is removed stays in it.
 */
export class CommitFilter {
  readonly #keys: () => AsyncIterable<readonly string[]>
  #newest = new Part(FIRST_BITS)
  readonly #full: Part[] = []
  #isWhole: boolean
  #filling: Promise<void> | undefined

  /**
   * @param keys reads those of all statuses that were there before the first change, or some of them again
   * @param isNew whether there are none
   */
  constructor(keys: () => AsyncIterable<readonly string[]>, isNew: boolean) {
    this.#keys = keys
    this.#isWhole = isNew
  }

  /** Notes a key before it is put. */
  note(key: string): void {
    if (!key.startsWith('!')) this.#add(placesOf(key))
  }

  /** Whether it is certain that no key begins like this one, up to the id of a commit. */
  lacks(key: string): boolean {
    // What cannot be read is met by whoever reads it.
    if (!this.#isWhole) this.#filling ??= this.#fill().catch(() => undefined)
    return this.#isWhole && !this.#has(placesOf(key))
  }

  async #fill(): Promise<void> {
    let commit = '!'
    for await (const keys of this.#keys()) {
      for (const key of keys) {
        if (key.startsWith(commit)) continue
        commit = key.slice(0, idAt(key) + PLACES * DIGITS)
        this.#add(placesOf(key))
      }
      // Whoever asks for something meanwhile comes first.
      await setImmediate()
    }
    this.#isWhole = true
  }

  #has(places: readonly number[]): boolean {
    return this.#newest.has(places) || this.#full.some((part) => part.has(places))
  }

  #add(places: readonly number[]): void {
    if (this.#has(places)) return
    this.#newest.add(places)
    if (!this.#newest.isFull) return
    this.#full.unshift(this.#newest)
    this.#newest = new Part(this.#newest.bits * GROWTH)
  }
}

/** Some bits, a power of two. */
class Part {
  readonly bits: number
  readonly #bytes: Buffer
  #commits = 0

  constructor(bits: number) {
    this.bits = bits
    this.#bytes = Buffer.alloc(bits / 8)
  }

  get isFull(): boolean {
    return this.#commits * BITS_OF_COMMIT >= this.bits
  }

  has(places: readonly number[]): boolean {
    return places.every((place) => (this.#bytes.readUInt8(this.#byteOf(place)) & bitOf(place)) !== 0)
  }

  add(places: readonly number[]): void {
    this.#commits++
    for (const place of places) {
      const at = this.#byteOf(place)
      this.#bytes.writeUInt8(this.#bytes.readUInt8(at) | bitOf(place), at)
    }
  }

  #byteOf(place: number): number {
    return (place % this.bits) >>> 3
  }
}

function bitOf(place: number): number {
  return 1 << (place & 7)
}

/** Where the bits of a commit are, by the first digits of its id. */
function placesOf(key: string): number[] {
  const start = idAt(key)
  return Array.from({ length: PLACES }, (_, place) => {
    const at = start + place * DIGITS
    return parseInt(key.slice(at, at + DIGITS), 16)
  })
}

/** Where the id of the commit begins in `owner/repo/sha/context`. */
function idAt(key: string): number {
  return key.indexOf('/', key.indexOf('/') + 1) + 1
}
