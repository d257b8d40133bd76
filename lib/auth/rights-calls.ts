import { deferred, type Deferred } from '../concurrency/deferred.js'
import type { Logger } from '../contracts/logger.js'
import { errorMessage, RightsUnavailable } from '../errors.js'
import { callCommand, type CommandCall } from './rights-command.js'

/** What is asked for, as git servers call it: to read, or to write. */
export type Right = 'R' | 'W'

/** The word that stands for the right. */
export const PLACE = '{access}'

/** How long a question may take, with the wait for its turn. */
const DEADLINE_MILLISECONDS = 5_000

/** Programs that run at once. */
const MAX_RUNNING = 4

/** Questions of one call: gitolite answers so many in half a second. */
const MAX_QUESTIONS = 4096

/** Questions for one right that wait for their turn. */
const MAX_WAITING = 4 * MAX_QUESTIONS

/**
 * Asks the program of the git server. All that wait for the same right share one call, which begins as soon as there is
 * a place for it; those who ask the same share the answer.
 */
export class RightsCalls {
  readonly #words: readonly string[]
  readonly #logger: Logger
  readonly #milliseconds: number
  /** By their lines, those that wait and those that are being asked. */
  readonly #asked: Readonly<Record<Right, Map<string, Deferred<string>>>> = { R: new Map(), W: new Map() }
  /** Lines that wait, in the order of the turns of their rights. */
  readonly #waiting = new Map<Right, Set<string>>()
  readonly #running = new Set<CommandCall>()
  #isScheduled = false

  /** @param words the program and its arguments */
  constructor(words: readonly string[], logger: Logger, milliseconds = DEADLINE_MILLISECONDS) {
    this.#words = words
    this.#logger = logger
    this.#milliseconds = milliseconds
  }

  /**
   * @param line `repository<TAB>user`
   * @returns what the program says of it
   * @throws RightsUnavailable
   */
  async ask(right: Right, line: string): Promise<string> {
    const asked = this.#asked[right].get(line)
    if (asked) return await asked.promise
    const waiting = this.#waiting.get(right) ?? new Set()
    if (waiting.size >= MAX_WAITING) throw new RightsUnavailable('too many questions about rights wait')
    this.#waiting.set(right, waiting.add(line))
    const question = deferred<string>()
    this.#asked[right].set(line, question)
    const timer = setTimeout(() => {
      question.reject(new RightsUnavailable(`rights are not known after ${this.#milliseconds} ms`))
    }, this.#milliseconds)
    this.#schedule()
    try {
      return await question.promise
    } finally {
      clearTimeout(timer)
      this.#asked[right].delete(line)
      this.#waiting.get(right)?.delete(line)
    }
  }

  /** Ends every call; whoever waits for one is refused. */
  close(): void {
    for (const questions of Object.values(this.#asked))
      for (const { reject } of questions.values()) reject(new RightsUnavailable('the service is closed'))
    for (const call of this.#running) call.end('the service is closed')
  }

  /** Whoever asks in the same turn shares the call. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#next()
    })
  }

  #next(): void {
    for (const [right, waiting] of this.#waiting) {
      if (this.#running.size >= MAX_RUNNING) return
      const lines = [...waiting].slice(0, MAX_QUESTIONS)
      for (const line of lines) waiting.delete(line)
      // Behind the other right, whose turn is next.
      this.#waiting.delete(right)
      if (waiting.size > 0) this.#waiting.set(right, waiting)
      if (lines.length > 0) void this.#call(right, lines)
    }
  }

  async #call(right: Right, lines: readonly string[]): Promise<void> {
    const asked = this.#asked[right]
    const words = this.#words.map((word) => (word === PLACE ? right : word))
    const call = callCommand(words, lines, this.#milliseconds)
    this.#running.add(call)
    try {
      for (const [line, said] of await call.answers) asked.get(line)?.resolve(said)
    } catch (error) {
      this.#logger.error({ command: words, err: error, questions: lines.length }, 'rights cannot be determined')
      for (const line of lines) asked.get(line)?.reject(new RightsUnavailable(errorMessage(error)))
    }
    await call.gone
    this.#running.delete(call)
    this.#next()
  }
}
