import type { CommitStatus } from './commit-status.js'
import type { Logger } from './logger.js'

/** A report that has been saved. */
export interface StatusEvent {
  /** `owner/repo` */
  readonly repository: string
  readonly status: CommitStatus
  /** The status it replaced. */
  readonly previous: CommitStatus | undefined
}

export type StatusListener = (event: StatusEvent) => unknown

/** Tells listeners of saved reports. What a listener throws, or its promise rejects with, goes to the log and no further. */
export class StatusEvents {
  readonly #listeners: StatusListener[] = []
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  on(listener: StatusListener): void {
    this.#listeners.push(listener)
  }

  emit(event: StatusEvent): void {
    for (const listener of this.#listeners) void this.#tell(listener, event)
  }

  async #tell(listener: StatusListener, event: StatusEvent): Promise<void> {
    try {
      await listener(event)
    } catch (error) {
      this.#logger.error({ err: error, repository: event.repository }, 'a status listener failed')
    }
  }
}
