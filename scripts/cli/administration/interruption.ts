import type { Io } from '../terminal/io.js'
import { onStopSignal } from './stop-signals.js'

/** Lets work of this process end in order when a signal says so; a second signal ends the process at once. */
export class Interruption {
  readonly #io: Io
  readonly #controller = new AbortController()
  readonly #forget: () => void
  #name: NodeJS.Signals | undefined

  constructor(io: Io) {
    this.#io = io
    this.#forget = onStopSignal(io, ['SIGINT', 'SIGTERM', 'SIGHUP'], (name) => {
      this.#name = name
      this.#controller.abort(new Error(`interrupted by ${name}`))
    })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /**
   * To be called once everything is in order. After a signal, the process ends as by that signal, for a shell to see.
   */
  end(): void {
    this.#forget()
    if (this.#name !== undefined) this.#io.kill(this.#io.pid, this.#name)
  }
}
