import type { StoredStatus } from '../../domain/commit-status.js'
import { toText, type SerialisedList, type StatusText } from '../../domain/status-list.js'
import { EditableList } from './editable-list.js'

/** Memory of a list besides its bytes, about. */
const LIST_BYTES = 500

/** Memory of who reported each status, about. */
const REPORTER_BYTES = 40

/** Memory of each status once a list has been edited, about. */
const STATUS_BYTES = 100

/**
 * A list in memory. What is saved is noted until somebody asks for the list: many reports come between two lists, and
 * to make it anew costs more than the report.
 */
export class CachedList {
  #list: SerialisedList
  #editable: EditableList | undefined
  readonly #saved = new Map<string, StatusText>()
  #savedBytes = 0
  #statuses = 0

  constructor(list: SerialisedList) {
    this.#list = list
  }

  /** Notes a status that has been saved; the list is the same object. */
  note(saved: StoredStatus): this {
    const text = toText(saved)
    this.#savedBytes += bytesOf(text) - bytesOf(this.#saved.get(saved.context))
    this.#saved.set(saved.context, text)
    return this
  }

  get list(): SerialisedList {
    if (this.#saved.size === 0) return this.#list
    this.#editable ??= new EditableList(this.#list)
    this.#editable.put(this.#saved)
    this.#list = this.#editable.list
    this.#statuses = this.#editable.size
    this.#saved.clear()
    this.#savedBytes = 0
    return this.#list
  }

  /** Bytes, about; once they are in the list, those that were saved take no more. */
  get size(): number {
    const { bytes, summary } = this.#list
    const beside = summary.statuses * REPORTER_BYTES + this.#statuses * STATUS_BYTES
    return bytes.length + LIST_BYTES + beside + this.#savedBytes
  }
}

function bytesOf(text: StatusText | undefined): number {
  return text ? Buffer.byteLength(text.json) + LIST_BYTES : 0
}
