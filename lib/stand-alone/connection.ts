import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that may wait for the ones before them; nothing more is read while there are as many. */
const MAX_WAITING = 16

/** How long a client may take to close its side once we have closed ours. */
const LINGER_MILLISECONDS = 2_000

/**
 * How much of a request is read after it has been answered: a client may send everything before it looks for the
 * answer. Of what frames the body (chunks of a byte, say) less, since it is dear to take apart.
 */
const MAX_DRAINED_BYTES = 16 * 1024 * 1024
const MAX_FRAMING_BYTES = 64 * 1024

/** What a connection wants to hear of an answer. */
interface Listener {
  /** All of it has been handed over. */
  readonly finished: () => void
  /** It is over, handed over or not. */
  readonly closed: () => void
}

/**
 * Notifies its connection of what becomes of it without a listener for each event: to add and remove them is dear
 * where there are many answers.
 */
export class ListenedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  listener: Listener | undefined

  override emit(name: string | symbol, ...details: unknown[]): boolean {
    if (name === 'finish') this.listener?.finished()
    const isHeard = super.emit(name, ...details)
    if (name === 'close') this.listener?.closed()
    return isHeard
  }
}

interface Arrival {
  readonly request: IncomingMessage
  readonly response: ListenedResponse
}

/**
 * One connection of a server. Its requests are begun one after the other, as they are answered: if they were begun all
 * at once, the answers of thousands would wait in memory for a client that takes none.
 * It is closed as TCP wants it: what the client is still sending is read, since to close on it would be a reset, and a
 * client that is reset loses the answer it has not read yet.
 *
 * A reverse proxy does the same; this is for services without one, and for the proxy's own faults:
 *
 * | who sends                                     | is met by                    | shown in spec/stand-alone/     |
 * |-----------------------------------------------|------------------------------|--------------------------------|
 * | thousands of requests, and reads no answer    | `take`, `#hold`, MAX_WAITING | pipelining                     |
 * | nothing more, and takes nothing of its answer | `watch`, `timedOut`          | limits, connection             |
 * | on and on after the answer                    | `#drain`, MAX_DRAINED_BYTES  | limits                         |
 * | a body of chunks of a byte                    | `#drain`, MAX_FRAMING_BYTES  | limits                         |
 * | what is no request, behind others that are    | `refuse`                     | pipelining                     |
 * | no end of its own when the service has closed | `end`, LINGER_MILLISECONDS   | limits                         |
 */
export class Connection {
  readonly #socket: Socket
  readonly #begin: (request: IncomingMessage, response: ServerResponse) => void
  readonly #waiting: Arrival[] = []
  /** The one that has been begun. */
  #current: Arrival | undefined
  /** What is sent when all have been answered, before the connection is closed. */
  #last: string | undefined
  /** The latest request. */
  #latest: Arrival | undefined
  /** What had been read when the last answer was given: any byte more is of the next request. */
  #bytesBefore = 0
  /** Whether the time-out runs in which the client must take something. */
  #isWatched = false
  #held = false
  #closing = false

  /** @param begin answers a request */
  constructor(socket: Socket, begin: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#socket = socket
    this.#begin = begin
    // What node:http calls after the last answer; its own destroys the socket with all that is unread.
    socket.destroySoon = () => {
      this.end()
    }
    // Whoever reads a body, or has answered, resumes the socket.
    socket.on('resume', () => {
      if (this.#held) socket.pause()
    })
  }

  // Made once: there are many requests.
  readonly #listener: Listener = {
    finished: () => {
      if (this.#current?.request.complete === false) this.#drain(this.#current.request)
    },
    closed: () => {
      if (this.#current?.request.complete && this.#latest === this.#current) this.#latest = undefined
      this.#current = undefined
      // node:http has set the time-out of idle connections.
      this.#isWatched = false
      this.#bytesBefore = this.#socket.bytesRead
      this.#next()
      if (this.#closing) this.#endIfIdle()
    },
  }

  /** Bytes of answers that the client has yet to take. */
  get unsentBytes(): number {
    return this.#socket.writableLength
  }

  /** Whether a request with the header Upgrade has yet to arrive whole. */
  get awaitsUpgrade(): boolean {
    const request = this.#latest?.request
    return request?.complete === false && request.headers.upgrade !== undefined && this.#last === undefined
  }

  /**
   * To be called now and then: a client that takes nothing of what is sent to it for so long is cut off. A part taken
   * counts (node:net looks at that), so nobody is cut off who takes anything.
   */
  watch(seconds: number): void {
    if (this.unsentBytes === 0 || this.#isWatched) return
    this.#isWatched = true
    this.#socket.setTimeout(seconds * 1000)
  }

  /** Nothing has moved for as long as was allowed. */
  timedOut(): void {
    if (!this.#current) this.end()
    else if (this.#isWatched && this.unsentBytes > 0) this.cut()
    // The service itself has taken its time.
    else this.#unwatch()
  }

  /**
   * Takes a request that has arrived; it is begun when those before it have been answered, unless the connection is
   * closed first.
   */
  take(request: IncomingMessage, response: ListenedResponse): void {
    this.#latest = { request, response }
    this.#waiting.push(this.#latest)
    this.#next()
    if (this.#waiting.length > MAX_WAITING) this.#hold()
  }

  /** Answers bytes that are no request, or too late for one, behind the answers that are under way; then closes. */
  refuse(answer: string): void {
    if (!this.#socket.writable) return
    const { request, response } = this.#latest ?? {}
    if (request?.complete === false) {
      // It is this request that goes wrong, and it may have been answered before it had arrived whole.
      if (response === this.#current?.response || response?.headersSent) {
        this.end(response?.headersSent ? '' : answer)
        return
      }
      this.#waiting.pop()
    }
    this.#last = answer
    this.#next()
  }

  /** Closes once the requests that have arrived, in part at least, are answered. The last answer says so. */
  close(): void {
    this.closeAfterNext()
    this.#endIfIdle()
  }

  /** The same, once there has been a request. */
  closeAfterNext(): void {
    this.#closing = true
    if (this.#current && this.#waiting.length === 0) this.#current.response.shouldKeepAlive = false
  }

  /** Sends what is left to send and says that no more will come; the rest is up to the client, for a while. */
  end(last = ''): void {
    if (this.#socket.writableEnded) return
    this.#socket.end(last)
    const timer = setTimeout(() => this.#socket.destroy(), LINGER_MILLISECONDS).unref()
    this.#socket.once('close', () => {
      clearTimeout(timer)
    })
  }

  /** Closes at once, whatever is under way. */
  cut(): void {
    this.#socket.destroy()
  }

  #unwatch(): void {
    this.#isWatched = false
    this.#socket.setTimeout(0)
  }

  #next(): void {
    // On a connection that has been closed nobody is there to be answered.
    if (this.#current || !this.#socket.writable) return
    this.#current = this.#waiting.shift()
    if (this.#current) this.#start(this.#current)
    else if (this.#last !== undefined) this.end(this.#last)
    if (this.#held && this.#waiting.length <= MAX_WAITING) {
      this.#held = false
      this.#socket.resume()
    }
  }

  #start({ request, response }: Arrival): void {
    // Notified of the end before node:http, which would read the rest as fast as it comes.
    response.listener = this.#listener
    if (this.#closing && this.#waiting.length === 0) response.shouldKeepAlive = false
    this.#begin(request, response)
  }

  #endIfIdle(): void {
    if (!this.#current && this.#socket.bytesRead === this.#bytesBefore) this.end()
  }

  /** Throws away what is still to come of a request that has been answered, in turn with what others send. */
  #drain(request: IncomingMessage): void {
    const before = this.#socket.bytesRead
    let body = 0
    const read = (): void => {
      // One call gives all that is there, and from Node 26 on a part of it.
      for (let part: unknown = request.read(); part instanceof Buffer; part = request.read()) body += part.length
      const drained = this.#socket.bytesRead - before
      if (drained > MAX_DRAINED_BYTES || drained - body > MAX_FRAMING_BYTES) this.cut()
    }
    request.on('readable', () => {
      setImmediate(read)
    })
    // Now it has a reader; node:http itself would read, and at full speed, what has none.
    read()
  }

  #hold(): void {
    this.#held = true
    // The parser, which has called us, resumes the socket at the end of every message.
    queueMicrotask(() => {
      if (this.#held) this.#socket.pause()
    })
  }
}
