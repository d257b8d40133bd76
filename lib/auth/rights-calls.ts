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
export const MAX_QUESTIONS = 4096

/**
 * Questions for one right that wait for their turn: no more would have it in time. Behind that many, those who ask one
 * question still find a place.
 */
const MAX_WAITING = 32 * MAX_QUESTIONS

/** What the program has said, by the line that it was asked. */
type Said = ReadonlyMap<string, string>

/** Lines that somebody has asked together. */
interface Questions {
  readonly lines: readonly string[]
  readonly said: Deferred<Said>
}

/**
 * Asks the program of the git server. All that wait for the same right share one call, which begins as soon as there is
 * a place for it; those who ask the same one question share the answer.
 */
export class RightsCalls {
  readonly #words: readonly string[]
  readonly #logger: Logger
  readonly #milliseconds: number
  /** Those who wait for their turn, in the order of the turns of their rights. */
  readonly #waiting = new Map<Right, Set<Questions>>()
  /** Those who wait, or are being asked. */
  readonly #open = new Set<Questions>()
  /** Of one line each, by that. */
  readonly #single: Readonly<Record<Right, Map<string, Questions>>> = { R: new Map(), W: new Map() }
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
    const single = this.#single[right]
    const asked = single.get(line)
    if (asked) return String((await asked.said.promise).get(line))
    const questions = { lines: [line], said: deferred<Said>() }
    single.set(line, questions)
    try {
      return String((await this.#answered(right, questions)).get(line))
    } finally {
      single.delete(line)
    }
  }

  /**
   * The same for many, in one call.
   * @param lines at most `MAX_QUESTIONS`
   */
  async askTogether(right: Right, lines: readonly string[]): Promise<Said> {
    return await this.#answered(right, { lines, said: deferred<Said>() })
  }

  /** Ends every call; whoever waits for one is refused. */
  close(): void {
    for (const { said } of this.#open) said.reject(new RightsUnavailable('the service is closed'))
    for (const call of this.#running) call.end('the service is closed')
  }

  async #answered(right: Right, questions: Questions): Promise<Said> {
    const waiting = this.#waiting.get(right) ?? new Set()
    // By its promise, which others may wait for already.
    const mayWait = questions.lines.length > 1 ? MAX_WAITING : MAX_WAITING + MAX_QUESTIONS
    if (countOf(waiting) + questions.lines.length > mayWait) {
      questions.said.reject(new RightsUnavailable('too many questions about rights wait'))
      return await questions.said.promise
    }
    this.#waiting.set(right, waiting.add(questions))
    this.#open.add(questions)
    const timer = setTimeout(() => {
      questions.said.reject(new RightsUnavailable(`rights are not known after ${this.#milliseconds} ms`))
    }, this.#milliseconds)
    this.#schedule()
    try {
      return await questions.said.promise
    } finally {
      clearTimeout(timer)
      this.#open.delete(questions)
      this.#waiting.get(right)?.delete(questions)
    }
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
      const taken = new Set<Questions>()
      const lines = new Set<string>()
      // Lists wait behind those who ask for one right: a few who look at large lists must not keep everybody out.
      const inTurn = [...waiting].sort((one, other) => Number(one.lines.length > 1) - Number(other.lines.length > 1))
      for (const questions of inTurn) {
        if (lines.size + questions.lines.length > MAX_QUESTIONS) break
        for (const line of questions.lines) lines.add(line)
        taken.add(questions)
        waiting.delete(questions)
      }
      // Behind the other right, whose turn is next.
      this.#waiting.delete(right)
      if (waiting.size > 0) this.#waiting.set(right, waiting)
      if (taken.size > 0) void this.#call(right, [...lines], taken)
    }
  }

  async #call(right: Right, lines: readonly string[], asked: ReadonlySet<Questions>): Promise<void> {
    const words = this.#words.map((word) => (word === PLACE ? right : word))
    const call = callCommand(words, lines, this.#milliseconds)
    this.#running.add(call)
    try {
      const answers = await call.answers
      for (const { said } of asked) said.resolve(answers)
    } catch (error) {
      this.#logger.error({ command: words, err: error, questions: lines.length }, 'rights cannot be determined')
      for (const { said } of asked) said.reject(new RightsUnavailable(errorMessage(error)))
    }
    await call.gone
    this.#running.delete(call)
    this.#next()
  }
}

function countOf(waiting: ReadonlySet<Questions>): number {
  let count = 0
  for (const { lines } of waiting) count += lines.length
  return count
}
