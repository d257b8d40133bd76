/** Reads the numbers and texts of LevelDB's files one after the other (util/coding.h). */
export class Bytes {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  /** A number, the low seven bits first. Throws where the bytes end. */
  varint(): number {
    let [value, factor, byte] = [0, 1, 0]
    do {
      byte = this.#bytes.readUInt8(this.#at++)
      value += (byte & 127) * factor
      factor *= 128
    } while (byte >= 128)
    return value
  }

  take(length: number): Buffer {
    if (length > this.left) throw new RangeError('the bytes end early')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  /** A text with its length before it. */
  prefixed(): Buffer {
    return this.take(this.varint())
  }
}
