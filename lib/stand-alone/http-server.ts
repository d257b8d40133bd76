import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { ServiceError, type ErrorCode } from '../errors.js'
import { errorAnswer, Exchange } from '../http/exchange.js'
import type { Handler } from '../http/dispatcher.js'
import { headerValues } from '../http/header-values.js'
import { logErrors, stop } from '../http/listening.js'
import type { Logger } from '../contracts/logger.js'
import { noopMeter, type Meter } from '../contracts/meter.js'
import { Connection, ListenedResponse } from './connection.js'
import type { HandedSocket } from './handed-socket.js'

/** What clients may take of a server; the settings of the same names say what each means. */
export interface ServerLimits {
  readonly connections: number
  readonly headersSeconds: number
  readonly requestSeconds: number
  readonly responseSeconds: number
  readonly keepAliveSeconds: number
  readonly headerBytes: number
  readonly unsentBytes: number
  readonly closeSeconds: number
}

/** What a server listens on: an address, the path of a Unix socket, or a socket that was handed over. */
export type Place = { readonly port: number; readonly host: string } | { readonly path: string } | HandedSocket

/** For a socket that was handed over: as long as the system lets the queue of connections be. */
const LONGEST_BACKLOG = 0x7fff_ffff

/** How often it is looked whether time-outs are over and who takes no answers. */
const CHECK_MILLISECONDS = 1_000

/** How long connections that wait are taken at a stop. */
const TAKING_MILLISECONDS = 1_000

/** How often it is looked how many bytes wait for slow clients. */
const UNSENT_MILLISECONDS = 20

/** A server for a public socket: a handler, and the limits that keep its clients from each other. */
export class HttpServer {
  readonly #server: Server<typeof IncomingMessage, typeof ListenedResponse>
  readonly #connections = new Map<Socket, Connection>()
  readonly #limits: ServerLimits
  readonly #logger: Logger
  #checks: NodeJS.Timeout | undefined
  #isHanded = false
  /** Connections that were too many since the last check. */
  #dropped = 0
  /** Connections that were taken, those that were too many among them. */
  #taken = 0
  /** Whether more response bytes are buffered than may be, and until when that was looked at. */
  #isFull = false
  #unsentUntil = 0

  constructor(handler: Handler, limits: ServerLimits, logger: Logger, meter: Meter = noopMeter) {
    this.#limits = limits
    this.#logger = logger
    const server = createServer({
      ServerResponse: ListenedResponse,
      // Headers are part of the request, and node:http wants it so.
      headersTimeout: Math.min(limits.headersSeconds, limits.requestSeconds) * 1000,
      requestTimeout: limits.requestSeconds * 1000,
      keepAliveTimeout: limits.keepAliveSeconds * 1000,
      connectionsCheckingInterval: CHECK_MILLISECONDS,
      maxHeaderSize: limits.headerBytes,
      // Refused below, with the error body.
      requireHostHeader: false,
    })
    this.#server = server
    // node:http would drop the lines past the thousandth in silence, credentials and X-Forwarded-For among them.
    server.maxHeadersCount = 0
    server.maxConnections = limits.connections
    // Time that the service itself needs does not count against a client: see `timedOut` in connection.ts.
    server.timeout = 0
    server.on('timeout', (socket: Socket) => this.#connections.get(socket)?.timedOut())
    // A client that closes its sending side still wants its answer.
    Object.assign(server, { httpAllowHalfOpen: true })
    // Called when the server is closed; its own would destroy connections together with requests nobody has read yet.
    server.closeIdleConnections = () => undefined

    const listener = (request: IncomingMessage, response: ListenedResponse) =>
      this.#connections.get(request.socket)?.take(request, response)
    const begin = (request: IncomingMessage, response: ServerResponse) => {
      const refusal = hasOneHost(request) ? this.#overload() : new ServiceError('malformed_request')
      if (!refusal) handler(request, response)
      else void new Exchange(request, response, 'other', { logger, meter }).answer(() => errorAnswer(refusal))
    }
    server.on('connection', (socket) => {
      this.#taken++
      const connection = new Connection(socket, begin)
      this.#connections.set(socket, connection)
      // With the header Upgrade, node:http says nothing of a body that is cut.
      socket.on('end', () => {
        if (connection.awaitsUpgrade) server.emit('clientError', new Error('the request was cut'), socket)
      })
      socket.on('close', () => this.#connections.delete(socket))
    })
    server.on('drop', () => {
      this.#taken++
      this.#dropped++
    })
    server.on('request', listener)
    // node:http would invite the body itself, before anything is checked.
    server.on('checkContinue', listener)
    // An expectation that nobody knows is passed over (RFC 9110, 10.1.1); node:http would refuse it without the error
    // body.
    server.on('checkExpectation', listener)
    // node:http parses nothing more of a connection after CONNECT, and without this listener just closes it.
    server.on('connect', (_request, socket: Socket) => {
      meter.requestAnswered('other', 405, 0)
      this.#connections
        .get(socket)
        ?.refuse(bytesOf(new ServiceError('method_not_allowed'), { Allow: 'GET, HEAD, POST' }))
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ECONNRESET') socket.destroy()
      else {
        const refused = new ServiceError(unparsed.get(error.code) ?? 'malformed_request')
        meter.requestAnswered('other', refused.status, 0)
        this.#connections.get(socket)?.refuse(bytesOf(refused))
      }
    })
  }

  /**
   * Resolves once it listens; rejects when it cannot.
   * @returns where, but for a Unix socket
   */
  async listen(place: Place): Promise<AddressInfo | undefined> {
    this.#isHanded = 'fd' in place
    if (this.#isHanded) this.#server.listen(place, LONGEST_BACKLOG)
    else this.#server.listen(place)
    await once(this.#server, 'listening')
    logErrors(this.#server, this.#logger)
    this.#checks = setInterval(() => {
      this.#check()
    }, CHECK_MILLISECONDS).unref()
    const address = this.#server.address()
    return typeof address === 'string' ? undefined : (address ?? undefined)
  }

  /**
   * Stops accepting connections, answers the requests that have arrived, the last on each connection with
   * `Connection: close`, and ends the connections. What has not come to its end after `closeSeconds` is cut off.
   * What waits at a socket that was handed over is left to the next process; so that nobody notices the change, a
   * request on a connection that is open is answered for a quarter of that time, too.
   */
  async close(): Promise<void> {
    if (!this.#isHanded) await this.#takeWaiting()
    const closed = stop(this.#server, this.#limits.closeSeconds)
    // What clients have sent by now is read before the connections without a request are closed.
    await someTurns()
    if (this.#isHanded) {
      for (const connection of this.#connections.values()) connection.closeAfterNext()
      await Promise.race([closed, setTimeout(this.#limits.closeSeconds * 250, undefined, { ref: false })])
    }
    for (const connection of this.#connections.values()) connection.close()
    await closed
    clearInterval(this.#checks)
  }

  /** Takes the connections that the system has made by now: it resets those that wait at a listener that goes. */
  async #takeWaiting(): Promise<void> {
    // One is taken in a turn of the event loop. Not for ever: clients may come all the time.
    const until = performance.now() + TAKING_MILLISECONDS
    let before
    do {
      before = this.#taken
      await someTurns()
    } while (this.#taken > before && performance.now() < until)
  }

  /**
   * Why no request is begun: answers that clients have not taken fill the memory. It is looked at some times a second,
   * since there may be thousands of connections.
   */
  #overload(): ServiceError | undefined {
    if (performance.now() > this.#unsentUntil) {
      this.#unsentUntil = performance.now() + UNSENT_MILLISECONDS
      const unsent = [...this.#connections.values()].reduce((sum, { unsentBytes }) => sum + unsentBytes, 0)
      const isTooMuch = unsent > this.#limits.unsentBytes
      if (isTooMuch && !this.#isFull) {
        const facts = { limit: this.#limits.unsentBytes, bytes: unsent }
        this.#logger.warn(facts, 'too many response bytes are buffered for slow clients: new requests are refused')
      }
      this.#isFull = isTooMuch
    }
    return this.#isFull ? new ServiceError('overloaded') : undefined
  }

  #check(): void {
    if (this.#dropped > 0)
      this.#logger.warn(
        { limit: this.#limits.connections, closed: this.#dropped },
        'too many connections: those above the limit are closed at once',
      )
    this.#dropped = 0
    for (const connection of this.#connections.values()) connection.watch(this.#limits.responseSeconds)
  }
}

/** Two turns of the event loop: data that has arrived is read, and a waiting connection or two are accepted. */
async function someTurns(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

/** What HTTP/1.1 asks for (RFC 9112, 3.2). */
function hasOneHost(request: IncomingMessage): boolean {
  return request.httpVersion !== '1.1' || headerValues(request, 'host').length === 1
}

const unparsed = new Map<string | undefined, ErrorCode>([
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
])

/** What node:http could not parse, or hands over, has no request to answer to, yet every answer has the error body. */
function bytesOf({ status, message }: ServiceError, more: Readonly<Record<string, string>> = {}): string {
  const body = `${JSON.stringify({ error: message })}\n`
  const headers = [
    `HTTP/1.1 ${status} ${String(STATUS_CODES[status])}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${randomUUID()}`,
    ...Object.entries(more).map(([name, value]) => `${name}: ${value}`),
  ]
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}
