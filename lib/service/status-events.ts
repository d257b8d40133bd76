import type { CommitStatus, Reporter } from '../domain/commit-status.js'
import type { Logger } from '../contracts/logger.js'

/** A report that has been saved. */
export interface StatusEvent {
  /** `owner/repo` */
  readonly repository: string
  readonly status: CommitStatus
  /** The status it replaced. */
  readonly previous: CommitStatus | undefined
  /** Who reported it: `host` with no token for the program itself. */
  readonly reporter: Reporter
  /** Since when `status` has been pending, or had been until it settled; absent where it was not, or nobody knows. */
  readonly pending_since?: string
}

export type StatusListener = (event: StatusEvent) => unknown

/**
 * Tells listeners of saved reports. What a listener throws, or its promise rejects with, goes to the log and no
 * further.
 */
export class StatusEvents {
  readonly #listeners = new Set<{ readonly listener: StatusListener }>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** @returns takes the listener off again */
  on(listener: StatusListener): () => void {
    const entry = { listener }
    this.#listeners.add(entry)
    return () => {
      this.#listeners.delete(entry)
    }
  }

  /** @param make makes the event; called only where there is a listener: most services have none */
  emit(make: () => StatusEvent): void {
    if (this.#listeners.size === 0) return
    const event = make()
    // What one listener does to it must not reach another one, nor whoever reported.
    for (const shared of [event, event.status, event.previous, event.reporter]) Object.freeze(shared)
    for (const { listener } of [...this.#listeners]) void this.#notify(listener, event)
  }

  async #notify(listener: StatusListener, event: StatusEvent): Promise<void> {
    try {
      await listener(event)
    } catch (error) {
      this.#logger.error({ err: error, repository: event.repository }, 'a status listener failed')
    }
  }
}
