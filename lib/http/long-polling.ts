import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseObjectId } from '../domain/object-id.js'
import type { MaybePromise } from '../concurrency/maybe-promise.js'
import { repositoryName } from '../domain/repository-name.js'
import type { InFlight } from '../service/in-flight.js'
import type { Watchers } from '../service/watchers.js'
import { isKnown, type PolledAnswer } from './exchange.js'
import { preferredWait } from './preference.js'
import type { Request } from './surface.js'

type Attempt = () => MaybePromise<PolledAnswer>

/**
 * Long polling (`Prefer: wait=30`, RFC 7240). Before a wait is answered everything is looked at again, credentials
 * and rights too: what was revoked meanwhile is refused.
 * @param limits.maxSeconds the longest wait; 0: nobody waits
 */
export class LongPolling {
  readonly #watchers: Watchers
  readonly #inFlight: InFlight
  readonly #maxSeconds: number

  constructor({ watchers, inFlight, maxSeconds }: { watchers: Watchers; inFlight: InFlight; maxSeconds: number }) {
    this.#watchers = watchers
    this.#inFlight = inFlight
    this.#maxSeconds = maxSeconds
  }

  /** How many seconds a client waits for another answer. */
  secondsOf(request: IncomingMessage): number {
    return Math.min(preferredWait(request), this.#maxSeconds)
  }

  /**
   * Answers when there is another answer, or after so many seconds.
   * @param request whose path names a commit
   * @param first looks for the first time, as a request among others
   * @param look the same without being counted: those who wait take turns
   */
  async answer(
    request: Request,
    response: ServerResponse,
    seconds: number,
    first: Attempt,
    look: Attempt,
  ): Promise<PolledAnswer> {
    const { owner = '', repo = '', sha = '' } = request.params
    const [name, commit] = [repositoryName(owner, repo), parseObjectId(sha)]
    const watcher = name && commit ? this.#watchers.begin(name, commit) : undefined
    if (!watcher) return await first()
    // Nobody is there to be answered any more, or so it seems: who goes away closes the sending side first.
    const { socket } = request
    const over = (): void => {
      watcher.end()
    }
    response.on('close', over)
    socket.on('end', over)
    if (socket.readableEnded) over()
    const begun = performance.now()
    const left = (): number => seconds * 1000 - (performance.now() - begun)
    try {
      let waited = 0
      let polled = await this.#pending(request, await first())
      // Of a list, only who knows one can wait for another.
      const knowsNone = request.headers['if-none-match'] === undefined
      if (typeof polled !== 'number' && polled.isPending === undefined && knowsNone) return polled
      while (typeof polled === 'number') {
        const since = performance.now()
        await watcher.next(Math.min(left(), polled))
        waited += performance.now() - since
        const isLast = watcher.isOver || left() <= 0
        const answer = await this.#watchers.inTurn(async () => await this.#inFlight.run(async () => await look()))
        polled = isLast ? answer : await this.#pending(request, answer)
      }
      return { ...polled, waited, headers: { 'Preference-Applied': `wait=${seconds}` } }
    } finally {
      response.off('close', over)
      socket.off('end', over)
      watcher.close()
    }
  }

  /** Milliseconds after which it may change by itself; or the answer, when there is nothing to wait for. */
  async #pending(request: IncomingMessage, answer: PolledAnswer): Promise<number | PolledAnswer> {
    if (!(answer.isPending ?? isKnown(request, answer.digest))) return answer
    await answer.stream?.close()
    return answer.expiresIn ?? Infinity
  }
}
