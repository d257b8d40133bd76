import type { OutboxEntry } from '../../contracts/hooks.js'

interface WaitingEntry extends Pick<OutboxEntry, 'repository' | 'subject' | 'delivery' | 'since'> {
  /** Whether it was noted here, and nobody has taken it since. */
  isUntried?: boolean
}

/** What waits for one hook, by key and the oldest first; and the lanes of what was taken of it. */
export class WaitingQueue {
  waiting = new Map<string, WaitingEntry>()
  readonly taken = new Set<string>()
  /** Whether it is to be sorted before it is read. */
  isMixed = false
  /** The latest since when something waits. */
  #latest = ''

  /** Adds what was noted just now. */
  add(key: string, entry: OutboxEntry): void {
    this.waiting.set(key, { ...entry, isUntried: true })
    if (entry.since < this.#latest) this.isMixed = true
    else this.#latest = entry.since
  }

  sort(): void {
    if (!this.isMixed) return
    this.isMixed = false
    this.waiting = new Map([...this.waiting].sort(([, one], [, other]) => one.since.localeCompare(other.since)))
    this.#latest = [...this.waiting.values()].at(-1)?.since ?? ''
  }
}
