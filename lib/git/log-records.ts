/** More than 100 letters of any script have. git itself cuts by columns, and an accent has none. */
const MAX_FIELD_BYTES = 600

const [FIELD_END, RECORD_END] = [0x0a, 0x00]

/** Takes apart what git prints as it comes: fields with a line feed between them, records with a NUL behind each. */
export class LogRecords {
  readonly records: (readonly string[])[] = []
  #fields: string[] = []
  #kept: Buffer[] = []
  #length = 0
  readonly #maxFields: number

  /** @param maxFields of a record: in place of those behind them there is a sign */
  constructor(maxFields: number) {
    this.#maxFields = maxFields
  }

  take(chunk: Buffer): void {
    let begin = 0
    for (const [at, byte] of chunk.entries()) {
      if (byte !== FIELD_END && byte !== RECORD_END) continue
      this.#add(chunk.subarray(begin, at))
      this.#endField()
      if (byte === RECORD_END) this.#endRecord()
      begin = at + 1
    }
    this.#add(chunk.subarray(begin))
  }

  #add(bytes: Buffer): void {
    // A piece of a chunk would keep all of it in memory.
    if (this.#length < MAX_FIELD_BYTES) this.#kept.push(Buffer.from(bytes.subarray(0, MAX_FIELD_BYTES - this.#length)))
    this.#length += bytes.length
  }

  #endField(): void {
    if (this.#fields.length < this.#maxFields) this.#fields.push(this.#text())
    else if (this.#fields.length === this.#maxFields) this.#fields.push('…')
    this.#kept = []
    this.#length = 0
  }

  #text(): string {
    const isCut = this.#length > MAX_FIELD_BYTES
    // A stream leaves out the beginning of a character whose end has not come.
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(this.#kept), { stream: isCut })
    return isCut ? `${text}…` : text.trimEnd()
  }

  #endRecord(): void {
    this.records.push(this.#fields)
    this.#fields = []
  }
}
