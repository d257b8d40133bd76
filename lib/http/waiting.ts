import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseObjectId } from '../domain/object-id.js'
import type { Eventual } from '../concurrency/maybe-promise.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { InFlight } from '../service/in-flight.js'
import type { Waits } from '../service/waits.js'
import { isKnown, type Answer } from './exchange.js'
import { preferredWait } from './preference.js'

/** An answer for which a client may wait. */
export interface WaitedAnswer extends Answer {
  /** Whether it is still to come; absent: while the client knows the list by its entity tag. */
  readonly isPending?: boolean
  /** Milliseconds after which it may be another one although nothing changes. */
  readonly changesIn?: number
}

/** Who may wait, and for what. */
export interface WaitingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** `undefined` for a name that breaks the name rules. */
  readonly name: RepositoryName | undefined
  readonly sha: string
}

type Look = () => Eventual<WaitedAnswer>

/**
 * Lets clients wait (`Prefer: wait=30`). Before a wait is answered everything is looked at again, credentials and
 * rights too: what was revoked meanwhile is refused.
 * @param parts.maxSeconds the longest wait; 0: nobody waits
 */
export class Waiting {
  readonly #waits: Waits
  readonly #inFlight: InFlight
  readonly #maxSeconds: number

  constructor({ waits, inFlight, maxSeconds }: { waits: Waits; inFlight: InFlight; maxSeconds: number }) {
    this.#waits = waits
    this.#inFlight = inFlight
    this.#maxSeconds = maxSeconds
  }

  /**
   * @param first looks for the first time, as a request among others
   * @param look the same without being counted: those who wait take turns
   */
  answer(waiting: WaitingRequest, first: Look, look: Look): Eventual<WaitedAnswer> {
    const seconds = Math.min(preferredWait(waiting.request), this.#maxSeconds)
    return seconds > 0 ? this.#waited(waiting, seconds, first, look) : first()
  }

  async #waited(
    { request, response, name, sha }: WaitingRequest,
    seconds: number,
    first: Look,
    look: Look,
  ): Promise<WaitedAnswer> {
    const commit = parseObjectId(sha)
    const wait = name && commit ? this.#waits.begin(name, commit) : undefined
    if (!wait) return await first()
    // Nobody is there to be answered any more, or so it seems: who goes away closes the sending side first.
    const { socket } = request
    const over = (): void => {
      wait.end()
    }
    response.on('close', over)
    socket.on('end', over)
    if (socket.readableEnded) over()
    const begun = performance.now()
    const left = (): number => seconds * 1000 - (performance.now() - begun)
    try {
      let waited = 0
      let changesIn = await this.#pending(request, await first())
      // Of a list, only who knows one can wait for another.
      const knowsNone = request.headers['if-none-match'] === undefined
      if (typeof changesIn !== 'number' && changesIn.isPending === undefined && knowsNone) return changesIn
      while (typeof changesIn === 'number') {
        const since = performance.now()
        await wait.next(Math.min(left(), changesIn))
        waited += performance.now() - since
        const isLast = wait.isOver || left() <= 0
        const answer = await this.#waits.inTurn(async () => await this.#inFlight.run(async () => await look()))
        changesIn = isLast ? answer : await this.#pending(request, answer)
      }
      return { ...changesIn, waited, headers: { 'Preference-Applied': `wait=${seconds}` } }
    } finally {
      response.off('close', over)
      socket.off('end', over)
      wait.close()
    }
  }

  /** Milliseconds after which it may change by itself; or the answer, when there is nothing to wait for. */
  async #pending(request: IncomingMessage, answer: WaitedAnswer): Promise<number | WaitedAnswer> {
    if (!(answer.isPending ?? isKnown(request, answer.digest))) return answer
    await answer.stream?.close()
    return answer.changesIn ?? Infinity
  }
}
