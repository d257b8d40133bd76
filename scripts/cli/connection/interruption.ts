import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Lets work of this process end in order when a signal says so; a second signal ends the process at once. */
export class Interruption {
  readonly #controller = new AbortController()
  #name: NodeJS.Signals | undefined

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#interrupt)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /**
   * To be called once everything is in order. After a signal, the process ends as by that signal, for a shell to see.
   */
  end(): void {
    for (const name of SIGNALS) process.off(name, this.#interrupt)
    if (this.#name !== undefined) process.kill(process.pid, this.#name)
  }

  readonly #interrupt = (name: NodeJS.Signals): void => {
    if (this.#name !== undefined) process.exit(128 + constants.signals[name])
    this.#name = name
    this.#controller.abort(new Error(`interrupted by ${name}`))
  }
}
