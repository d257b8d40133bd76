import { onStopSignal } from './stop-signals.js'

/** Lets work of this process end in order when a signal says so; a second signal ends the process at once. */
export class Interruption {
  readonly #controller = new AbortController()
  readonly #forget: () => void
  #name: NodeJS.Signals | undefined

  constructor() {
    this.#forget = onStopSignal(['SIGINT', 'SIGTERM', 'SIGHUP'], (name) => {
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
    if (this.#name !== undefined) process.kill(process.pid, this.#name)
  }
}
