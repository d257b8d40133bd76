import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MaybePromise } from '../concurrency/maybe-promise.js'
import type { RepositoryName } from '../domain/repository-name.js'
import type { FeedEvent, Follower } from '../service/feed.js'
import type { InFlight } from '../service/in-flight.js'
import type { StatusFeeds } from '../service/status-feeds.js'
import type { Watchers } from '../service/watchers.js'
import type { Answer } from './exchange.js'

const PACE = {
  /** How long nothing is sent: shorter than the time-outs of reverse proxies. */
  heartbeatMilliseconds: 15_000,
  /** What is sent was allowed so long ago at the most. */
  allowedMilliseconds: 5_000,
  /** How long a client may take nothing of what is sent to it. */
  takingMilliseconds: 30_000,
}

/** Clients come back after as long, each after another time: at a restart they are many. */
const RETRY_MILLISECONDS = { least: 1_000, more: 4_000 }

export interface EventStreamsDependencies {
  readonly feeds: StatusFeeds
  readonly watchers: Watchers
  readonly inFlight: InFlight
}

/** Server-sent events (HTML, 9.2): a stream is bounded as a wait, and ends when its right does. */
export class EventStreams {
  readonly #dependencies: EventStreamsDependencies
  readonly #pace: typeof PACE

  constructor(dependencies: EventStreamsDependencies, pace: Partial<typeof PACE> = {}) {
    this.#dependencies = dependencies
    this.#pace = { ...PACE, ...pace }
  }

  /**
   * Answers with what is reported of a repository from now on, or since `Last-Event-ID`.
   * @param find looks again at credentials and rights; what it throws ends the stream
   * @throws ServiceError as `StatusFeeds`
   */
  async answer(
    request: IncomingMessage,
    repository: RepositoryName,
    find: () => MaybePromise<unknown>,
  ): Promise<Answer> {
    const { feeds, watchers, inFlight } = this.#dependencies
    const { 'last-event-id': last = '' } = request.headers
    const follower = await feeds.follow(repository, last === '' ? undefined : String(last))
    const isAllowed = async () =>
      await watchers
        .inTurn(async () => await inFlight.run(async () => await find()))
        .then(
          () => true,
          () => false,
        )
    return {
      status: 200,
      body: {},
      events: new EventStream(request, follower, isAllowed, this.#pace),
      // nginx would hold back what is smaller than its buffers.
      headers: {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      },
    }
  }
}

/** The events of one follower, as they are sent. */
export class EventStream {
  readonly #request: IncomingMessage
  readonly #follower: Follower
  readonly #isAllowed: () => Promise<boolean>
  readonly #pace: typeof PACE

  constructor(request: IncomingMessage, follower: Follower, isAllowed: () => Promise<boolean>, pace: typeof PACE) {
    this.#request = request
    this.#follower = follower
    this.#isAllowed = isAllowed
    this.#pace = pace
  }

  /** Sends until one of both sides ends it; the client is cut off when it takes nothing. */
  async send(response: ServerResponse): Promise<void> {
    const { socket } = this.#request
    const gone = new AbortController()
    const over = (): void => {
      gone.abort()
      this.#follower.end()
    }
    response.on('close', over)
    // As with a wait: who goes away closes the sending side first.
    socket.on('end', over)
    if (socket.readableEnded) over()
    try {
      for await (const text of this.#texts()) {
        if (response.write(text)) continue
        const late = setTimeout(() => response.destroy(), this.#pace.takingMilliseconds)
        await once(response, 'drain', { signal: gone.signal }).catch(() => undefined)
        clearTimeout(late)
      }
    } finally {
      response.off('close', over)
      socket.off('end', over)
    }
  }

  /** To be called when all is over; harmless again. */
  close(): void {
    this.#follower.close()
  }

  async *#texts(): AsyncGenerator<string> {
    const { least, more } = RETRY_MILLISECONDS
    yield `retry: ${Math.round(least + Math.random() * more)}\nid: ${this.#follower.id}\n\n`
    let [sentAt, allowedAt] = [performance.now(), performance.now()]
    for (;;) {
      const event = this.#follower.read()
      const left = this.#pace.heartbeatMilliseconds - (performance.now() - sentAt)
      if (!event && left > 0) {
        await this.#follower.next(left)
        if (this.#follower.isOver) return
        continue
      }
      if (performance.now() - allowedAt >= this.#pace.allowedMilliseconds) {
        if (!(await this.#isAllowed())) return
        allowedAt = performance.now()
      }
      if (this.#follower.isOver) return
      sentAt = performance.now()
      yield event ? textOf(event) : `:\nid: ${this.#follower.id}\n\n`
    }
  }
}

function textOf({ name, id, data }: FeedEvent): string {
  return `event: ${name}\nid: ${id}\ndata: ${data}\n\n`
}
